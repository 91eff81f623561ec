// Four threads take turns. Each reads a part of the input and writes it to the log in one block, which keeps the order
// of the parts.
@@
iterator name LOOP_IN_THREADS;
@@
main(...) {
...
- for (;;) {
+ LOOP_IN_THREADS() {
  ...
  }
...
}
