// The slab mover's use of slabs_lock, if buckets are blocks, too: the lock is inside the block that cache.cocci has
// made.
@@
@@
slab_rebalance_move(...) {
  <...
(
- pthread_mutex_lock(&slabs_lock);
|
- pthread_mutex_unlock(&slabs_lock);
)
  ...>
}
