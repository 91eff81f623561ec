// Each file of a command line is read by a thread of its own.
@@
expression list rest;
expression f;
@@
cmode(...) {
<...
- dofile(&cdb, f, rest);
- fclose(f);
+ begin_file(&cdb, f, rest);
...>
}

@@
@@
cmode(...) {
<...
+ end_files();
  if (cdb_make_finish(&cdb) != 0) { ... }
...>
}

// A record is read and added in one block: the buffer that it is read into is all threads', and so is the database.
@@
expression c, f;
iterator name ATOMICALLY;
@@
dofile_cdb(...) {
...
- while ((c = getc(f)) == '+') {
+ while ((c = getc(f)) == '+') ATOMICALLY() {
  ...
  }
...
}

@@
expression f;
iterator name ATOMICALLY;
@@
dofile_ln(...) {
...
- while (ufgets(buf, blen, f) != NULL) {
+ for (;;) ATOMICALLY() {
+   if (ufgets(buf, blen, f) == NULL) break;
  ...
  }
...
}

// A record is read and printed in one block.
@@
iterator name ATOMICALLY;
@@
dmode(...) {
...
- while (pos < eod) {
+ while (pos < eod) ATOMICALLY() {
  ...
  }
...
}
