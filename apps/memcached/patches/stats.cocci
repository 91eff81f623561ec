// stats_lock, the locks of the threads' statistics, and stats_sizes_lock.

// If a function returns early, the unlock on that path is removed: leaving the block commits it.
@@
@@
stats_prefix_dump(...) {
  <...
  if (...) {
    ...
-   STATS_UNLOCK();
    return ...;
  }
  ...>
}

// These functions format text while they hold the lock, partly by functions of the caller, or read the clock.
@@
iterator name TM_STATS_RELAXED;
identifier f =~ "^(server_stats|get_stats|stats_reset|stats_prefix_.*|do_accept_new_conns)$";
@@
f(...) {
  <...
- STATS_LOCK();
+ TM_STATS_RELAXED() {
  ... when != STATS_UNLOCK();
- STATS_UNLOCK();
+ }
  ...>
}

@@
iterator name TM_STATS_RELAXED;
@@
- mutex_lock(&stats_sizes_lock);
+ TM_STATS_RELAXED() {
  ... when != mutex_unlock(&stats_sizes_lock);
- mutex_unlock(&stats_sizes_lock);
+ }

// Counts that every link and unlink changes. As part of their blocks, they would make any two blocks conflict.
@@
@@
do_item_link(...) {
  <...
- STATS_LOCK();
- stats_state.curr_bytes += ITEM_ntotal(it);
- stats_state.curr_items += 1;
- stats.total_items += 1;
- STATS_UNLOCK();
+ tm_count_item(ITEM_ntotal(it));
  ...>
}

@@
typedef int64_t;
identifier f =~ "^do_item_unlink(_nolock)?$";
@@
f(...) {
  <...
- STATS_LOCK();
- stats_state.curr_bytes -= ITEM_ntotal(it);
- stats_state.curr_items -= 1;
- STATS_UNLOCK();
+ tm_count_item(-(int64_t)ITEM_ntotal(it));
  ...>
}

@@
@@
item_overwrite(...) {
  <...
- STATS_LOCK();
- stats.total_items += 1;
- STATS_UNLOCK();
+ tm_add(&stats.total_items, 1);
  ...>
}

@@
iterator name TM_STATS;
@@
- STATS_LOCK();
+ TM_STATS() {
  ... when != STATS_UNLOCK();
- STATS_UNLOCK();
+ }

// A thread's own counts need no block: additions commute (finding 12). Other threads only add them up, or reset them.
@@
expression T;
@@
- pthread_mutex_lock(&T.stats.mutex);
  ...
- pthread_mutex_unlock(&T.stats.mutex);

@@
expression T;
@@
- pthread_mutex_lock(&T->stats.mutex);
  ...
- pthread_mutex_unlock(&T->stats.mutex);

@@
expression C;
@@
- THR_STATS_LOCK(C);
  ...
- THR_STATS_UNLOCK(C);

// Inside a block an addition waits for the commit.
@@
identifier f =~ "^(do_item_get|do_store_item|do_add_delta|process_delete_command|process_bin_delete)$";
expression T, I;
identifier F;
@@
f(...) {
  <...
(
- T->thread->stats.slab_stats[I].F++;
+ tm_count_at_commit(&T->thread->stats.slab_stats[I].F, 1);
|
- T->thread->stats.F++;
+ tm_count_at_commit(&T->thread->stats.F, 1);
)
  ...>
}

@@
expression T, I, N;
identifier F;
@@
(
- T->thread->stats.slab_stats[I].F++;
+ tm_count(&T->thread->stats.slab_stats[I].F, 1);
|
- T->thread->stats.lru_hits[I]++;
+ tm_count(&T->thread->stats.lru_hits[I], 1);
|
- T->thread->stats.F++;
+ tm_count(&T->thread->stats.F, 1);
|
- T->thread->stats.F--;
+ tm_count(&T->thread->stats.F, -1);
|
- T->thread->stats.F += N;
+ tm_count(&T->thread->stats.F, N);
)
