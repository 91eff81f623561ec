// A set overwrites a value of the same size under its key. The original unlinks the old item from its bucket's chain
// and its LRU list and links the new one. That touches cold lines of up to five further items, and two words that all
// sets of a slab class write. The item that was read from the client is reused for the next one. This changes the
// program, not its locks, so the build `copies` has this change with locks. item_overwrite and slabs_keep are in
// item_overwrite.h and slabs_keep.h.

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
