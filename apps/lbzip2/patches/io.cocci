// source_mutex and sink_mutex, which the reading and writing threads use.

@@
expression M;
@@
- Trace(M);

@@
iterator name TM_WAIT;
@@
- xlock(&source_mutex);
- while (in_slots == 0 && !request_close) {
-   xwait(&source_cond, &source_mutex);
- }
+ bool closed = false;
+ TM_WAIT(source_cond) {
+   TM_HOLDS(source_cond, in_slots > 0 || request_close);
+   closed = request_close;
+   if (!closed) in_slots--;
+ }
  if (
-     request_close
+     closed
     ) {
-   xunlock(&source_mutex);
    break;
  }
- in_slots--;
- xunlock(&source_mutex);

@@
iterator name TM_WAIT;
@@
sink_thread_proc(...) {
  ...
  for (;;) {
-   xlock(&sink_mutex);
-   while (empty(output_q) && !finish) {
-     xwait(&sink_cond, &sink_mutex);
-   }
-   if (empty(output_q))
-     break;
-   block = shift(output_q);
-   xunlock(&sink_mutex);
+   bool last = false;
+   TM_WAIT(sink_cond) {
+     TM_HOLDS(sink_cond, !empty(output_q) || finish);
+     last = empty(output_q);
+     if (!last) block = shift(output_q);
+   }
+   if (last) break;
    ...
  }
- xunlock(&sink_mutex);
}

@@
iterator name TM_SOURCE;
@@
- xlock(&source_mutex);
+ TM_SOURCE() {
  ... when != xunlock(&source_mutex);
- xunlock(&source_mutex);
+ }

@@
iterator name TM_SINK;
@@
- xlock(&sink_mutex);
+ TM_SINK() {
  ... when != xunlock(&sink_mutex);
- xunlock(&sink_mutex);
+ }
