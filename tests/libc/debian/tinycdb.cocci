// A thread of its own reads each file of a command line.
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

// One block reads and adds a record, because all threads share the read buffer and the database.
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

// One block reads and prints a record.
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
