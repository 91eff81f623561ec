// The slab mover's use of slabs_lock, where buckets keep their locks. It drops slabs_lock in the middle, to unlink an
// item whose bucket it holds: a block cannot be interrupted, so what it did then is done after the block, and what the
// function found out so far is declared before it.

// One path of many drops the lock, and that one is meant: exists.
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

// Now it is taken once.
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
