// A set of a value of the same size as the one under its key is written over it. The original unlinks the old item from
// its bucket's chain and its LRU list and links the new one: cold lines of up to five further items, and two words that
// all sets of a slab class write. The item that was read from the client is the next one's. This changes the program
// rather than its locks, so the build `copies` has it with locks, too.
// item_overwrite and slabs_keep are in item_overwrite.h and slabs_keep.h.

@@
identifier it, comm, c;
expression R;
@@
complete_nread_ascii(...) {
  <...
- R = store_item(it, comm, c);
+ if (comm == NREAD_SET && !c->mset_res && item_overwrite(c, it)) {
+   R = STORED;
+   item_drop(it);
+   c->item = NULL;
+ } else {
+   R = store_item(it, comm, c);
+ }
  ...>
}

@@
identifier c;
@@
complete_nread_ascii(...) {
  <...
- item_remove(c->item);
+ if (c->item != NULL) item_remove(c->item);
  ...>
}

@@
identifier size, id, flags;
@@
slabs_alloc(size_t size, unsigned int id, unsigned int flags) {
  void *ret;
+ if ((ret = slabs_kept(id)) != NULL) return ret;
  ...
}

@@
@@
drive_machine(...) {
  ...
  while (...) { ... }
+ slabs_give_back();
  return;
}
