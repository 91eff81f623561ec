// sched_mutex: a monitor that a task enters with its first line and leaves while it computes. So a block is the code
// outside of `unlock ... lock`. A task is chosen in one block and run in another, so its first block checks again
// whether the task is ready. TM_SCHED_REST() makes a block of the rest of a function; convert.sh expands it.

// ---- the scheduler itself

@@
@@
- static const struct task *next_task;

@@
@@
select_task(void) {
  ...
- for (task = process->tasks; task->ready != NULL; ++task) {
-   if (task->ready()) {
-     next_task = task;
-     return;
-   }
- }
- next_task = NULL;
+ for (task = process->tasks; task->ready != NULL; ++task) {
+   if (task->ready())
+     return task;
+ }
+ return NULL;
}

@@
iterator name TM_WAIT, TM_SCHED;
identifier id;
@@
worker_thread_proc(void) {
- unsigned id;
- (void)id;
- xlock(&sched_mutex);
- for (;;) {
-   while (next_task != NULL) {
-     next_task->run();
-     select_task();
-   }
-   if (process->finished())
-     break;
-   xwait(&sched_cond, &sched_mutex);
- }
- xbroadcast(&sched_cond);
- xunlock(&sched_mutex);
+ for (;;) {
+   const struct task *task = NULL;
+   TM_WAIT(sched_cond) {
+     task = select_task();
+     TM_HOLDS(sched_cond, task != NULL || process->finished());
+   }
+   if (task == NULL) break;
+   task->run();
+ }
+ TM_SCHED() {
+   tm_condition_signal(&sched_cond);
+ }
}

@@
@@
- select_task();
  if (
-     next_task
+     select_task()
      != NULL || process->finished()) xsignal(&sched_cond);
- xunlock(&sched_mutex);

@@
@@
primary_thread(void) {
  ...
- select_task();
  ...
}

@@
expression S;
@@
copy_terminate(void) {
  <...
- xraise(S);
+ tm_raise(S);
  ...>
}

@@
expression C;
@@
- xsignal(&C);
+ tm_condition_signal(&C);

// ---- tasks: bitstreams are attached in one block, read outside of it, and detached in the next

@@
@@
attach(...) {
  ...
- sched_unlock();
  ...
}

@@
@@
detach(...) {
  ...
- sched_lock();
  ...
}

@@
iterator name TM_SCHED;
expression E;
@@
do_parse(void) {
  int rv;
  struct head_blk head_blk;
  struct bitstream true_bitstream;
  unsigned garbage;
+ TM_SCHED() {
+   if (!can_parse()) return;
  ...
  true_bitstream = attach(parser_bs);
+   sched_tell();
+ }
  rv = parse(E, &head_blk.hdr, &true_bitstream, &garbage);
+ TM_SCHED_REST();
  ... when any
}

@@
iterator name TM_SCHED;
@@
do_retrieve(void) {
  struct retr_blk *rb;
  struct emit_blk *eb;
  struct bitstream true_bitstream;
  int rv;
+ TM_SCHED() {
+   if (!can_retrieve()) return;
  ...
  true_bitstream = attach(rb->curr_pos);
+   sched_tell();
+ }
  rv = retrieve(&rb->ds, &true_bitstream);
+ TM_SCHED() {
  rb->curr_pos = detach(true_bitstream);
  ...
- sched_unlock();
+   sched_tell();
+ }
  ... when any
}

@@
iterator name TM_SCHED;
expression R;
@@
do_emit(void) {
  struct emit_blk *eb;
  struct out_blk *oblk;
  int rv;
+ TM_SCHED() {
+   if (!can_emit()) return;
  ...
- sched_unlock();
+   sched_tell();
+ }
  ...
  oblk->base = eb->base;
+ TM_SCHED_REST();
  if (R) {
    ...
-   sched_lock();
    ...
  }
  else {
    ...
-   sched_lock();
    ...
  }
  ...
}

@@
iterator name TM_SCHED;
@@
do_scan(void) {
  struct detached_bitstream *bs;
  int scan_result;
  unsigned skip;
  struct bitstream true_bitstream;
+ TM_SCHED() {
+   if (!can_scan()) return;
  ...
  true_bitstream = attach(*bs);
+   sched_tell();
+ }
  scan_result = scan(&true_bitstream, skip);
+ TM_SCHED_REST();
  ... when any
}

@@
iterator name TM_SCHED;
@@
do_collect(void) {
  struct in_blk *iblk;
  struct work_blk *wblk;
+ TM_SCHED() {
+   if (!can_collect()) return;
  ...
  --work_units;
- sched_unlock();
+   sched_tell();
+ }
  ... when any
}

@@
iterator name TM_SCHED;
@@
do_collect_seq(void) {
  struct in_blk *iblk;
  struct work_blk *wblk;
  bool done = true;
+ TM_SCHED() {
+   if (!can_collect_seq()) return;
  ...
  collect_token = false;
- sched_unlock();
+   sched_tell();
+ }
  ... when any
}

@@
iterator name TM_SCHED;
@@
do_transmit(void) {
  struct work_blk *wblk;
+ TM_SCHED() {
+   if (!can_transmit()) return;
  ...
  --out_slots;
- sched_unlock();
+   sched_tell();
+ }
  ... when any
}

@@
@@
do_reorder(void) {
  struct work_blk *wblk;
+ TM_SCHED_REST();
+ if (!can_reorder()) return;
  ... when any
}

@@
@@
do_reorder(void) {
  struct out_blk *oblk;
  struct head_blk ord;
  uintmax_t offs_incr;
+ TM_SCHED_REST();
+ if (!can_reorder()) return;
  ... when any
}

// ---- other parts that use the scheduler

@@
@@
on_input_avail(...) {
  ...
  if (parsing_done) {
-   sched_unlock();
    ...
  }
  ...
}

@@
iterator name TM_SCHED;
@@
- sched_lock();
+ TM_SCHED() {
  ... when != sched_unlock();
- sched_unlock();
+   sched_tell();
+ }

@@
iterator name TM_SCHED;
@@
  if (!done) {
-   sched_lock();
+   TM_SCHED() {
    collect_token = true;
    unfinished_work = wblk;
+   }
    return;
  }

@@
@@
- sched_lock();
+ TM_SCHED_REST();

// ---- errors that are found in blocks

@@
expression E;
@@
can_reorder(void) {
- return (E);
+ return !tm_failed && (E);
}

@@
expression E;
@@
can_terminate(void) {
- return (E);
+ return !tm_failed && (E);
}

@@
expression F, E;
@@
- failf(F, "compressed data error: %s", err2str(E));
+ tm_fail(err2str(E));
+ return;

// ---- GCC copies a structure without barriers between shared memory and a call (docs/language.md)

@@
expression E;
@@
- true_bitstream = attach(E);
+ {
+   struct detached_bitstream from = E;
+   true_bitstream = attach(from);
+ }

@@
expression E;
@@
- advance(E);
+ {
+   struct detached_bitstream from = E;
+   advance(from);
+ }

@@
expression L;
@@
- L = detach(true_bitstream);
+ {
+   struct detached_bitstream to = detach(true_bitstream);
+   L = to;
+ }
