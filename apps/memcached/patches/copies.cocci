// A get of a small value copies the value into its reply. The original takes a reference, and releases it after the
// reply has been sent: two critical sections that write. With the copy there is one critical section, which usually
// only reads. This changes the program, not its locks, so the build `copies` has this change with locks. item_answer is
// in item_answer.h and uses locks. The other patches convert it like all other code.

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
