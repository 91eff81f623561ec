// A set stores its item, replies, and releases its reference: two critical sections on one bucket. With blocks they
// become one (finding 11), because the code in between does not use the item. The replies of meta commands do use it.

@@
identifier it, comm, c;
expression R;
@@
complete_nread_ascii(...) {
  <...
- R = store_item(it, comm, c);
+ if (c->mset_res) {
+   R = store_item(it, comm, c);
+ } else {
+   R = store_item_and_release(it, comm, c);
+   c->item = NULL;
+ }
  ...>
}

@@
iterator name TM_ITEM;
typedef item, conn, uint32_t;
@@
store_item(...) { ... }
+ enum store_item_type store_item_and_release(item *it, int comm, conn *c) {
+     enum store_item_type ret;
+     const uint32_t hv = hash(ITEM_key(it), it->nkey);
+     TM_ITEM(hv) {
+         TM_ITEM_ENTER(hv);
+         ret = do_store_item(it, comm, c, hv);
+         do_item_remove(it);
+     }
+     return ret;
+ }
