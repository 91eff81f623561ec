// An intentional error for `./dev memcached test`: an increment does not take its lock. The checkers have to find this.
@@
@@
add_delta(...) {
  <...
- item_lock(hv);
  ...
- item_unlock(hv);
  ...>
}
