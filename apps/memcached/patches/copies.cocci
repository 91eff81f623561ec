// A get of a small value copies it into its answer. The original takes a reference, and gives it back when the answer
// has been sent: two critical sections that write. The copy makes one of them, which as a rule only reads. This changes
// the program rather than its locks, so the build `copies` has it with locks, too.
// item_answer is in item_answer.h, in terms of locks, and the other patches convert it like all else.

@@
identifier it, c, key, nkey, E, T;
statement S;
@@
process_get_command(...) {
  <...
+ uint8_t answered_from;
+ if (!T && !settings.detail_enabled && item_answer(c, key, nkey, return_cas, &answered_from)) {
+   pthread_mutex_lock(&c->thread->stats.mutex);
+   c->thread->stats.lru_hits[answered_from]++;
+   c->thread->stats.get_cmds++;
+   pthread_mutex_unlock(&c->thread->stats.mutex);
+ } else {
  it = limited_get(key, nkey, c, E, T, ...);
  ...
  if (it) { ... } else S
+ }
  ...>
}
