// The slab mover's use of slabs_lock, if buckets keep their locks. The mover drops slabs_lock in the middle, to unlink
// an item whose bucket it holds. A block cannot be interrupted, so that work is done after the block. The variables
// that it needs are declared before the block.

// Only one of many paths drops the lock, and this patch is for that path: exists.
@ exists @
@@
slab_rebalance_move(...) {
  ... when any
- pthread_mutex_lock(&slabs_lock);
  hv = 0;
  hold_lock = NULL;
  item *it = slab_rebal.slab_pos;
  item_chunk *ch = NULL;
  status = MOVE_PASS;
+ int save_item = 0;
+ item *new_it = NULL;
+ size_t ntotal = 0;
+ bool unlink_busy = false, release_busy = false;
+ pthread_mutex_lock(&slabs_lock);
  ... when any
- pthread_mutex_unlock(&slabs_lock);
- do_item_unlink(it, hv);
- pthread_mutex_lock(&slabs_lock);
+ unlink_busy = true;
  ... when any
- refcount_decr(it);
- item_trylock_unlock(hold_lock);
+ release_busy = true;
  ... when any
- int save_item = 0;
- item *new_it = NULL;
- size_t ntotal = 0;
  ... when any
}

@ moved exists @
statement SAVE, DROP;
@@
slab_rebalance_move(...) {
  ... when any
- pthread_mutex_unlock(&slabs_lock);
- if (save_item) SAVE else DROP
- item_trylock_unlock(hold_lock);
- pthread_mutex_lock(&slabs_lock);
  break;
  ... when any
}

// Now the lock is taken once.
@ exists @
iterator name TM_SLABS_RELAXED;
statement moved.SAVE, moved.DROP;
@@
slab_rebalance_move(...) {
  ... when any
- pthread_mutex_lock(&slabs_lock);
+ TM_SLABS_RELAXED() {
  ... when != pthread_mutex_unlock(&slabs_lock);
- pthread_mutex_unlock(&slabs_lock);
+ }
+ if (unlink_busy) do_item_unlink(it, hv);
+ if (release_busy) {
+   refcount_decr(it);
+   item_trylock_unlock(hold_lock);
+ }
+ if (status == MOVE_FROM_LRU) {
+   if (save_item) SAVE else DROP
+   item_trylock_unlock(hold_lock);
+ }
  ... when any
}
