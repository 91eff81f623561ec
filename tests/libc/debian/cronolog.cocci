// Four threads take turns: each reads a part of the input and writes it to the log in one block, which keeps the parts
// in their order.
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
