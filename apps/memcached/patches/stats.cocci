// stats_lock, the locks of the threads' statistics, and stats_sizes_lock.

// A function that leaves before its end has the unlock of that path dropped: leaving the block commits it.
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

// These format text while they hold the lock, partly by functions that the caller hands over, or ask for the time.
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

@@
iterator name TM_STATS;
@@
- STATS_LOCK();
+ TM_STATS() {
  ... when != STATS_UNLOCK();
- STATS_UNLOCK();
+ }

@@
iterator name TM_THREAD_STATS;
expression T;
@@
- pthread_mutex_lock(&T.stats.mutex);
+ TM_THREAD_STATS() {
  ... when != pthread_mutex_unlock(&T.stats.mutex);
- pthread_mutex_unlock(&T.stats.mutex);
+ }

@@
iterator name TM_THREAD_STATS;
expression T;
@@
- pthread_mutex_lock(&T->stats.mutex);
+ TM_THREAD_STATS() {
  ... when != pthread_mutex_unlock(&T->stats.mutex);
- pthread_mutex_unlock(&T->stats.mutex);
+ }

@@
iterator name TM_THREAD_STATS;
expression C;
@@
- THR_STATS_LOCK(C);
+ TM_THREAD_STATS() {
  ... when != THR_STATS_UNLOCK(C);
- THR_STATS_UNLOCK(C);
+ }
