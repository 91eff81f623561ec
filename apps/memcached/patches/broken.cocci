// A mistake on purpose, for `./dev memcached test`: an increment takes no lock. The checkers have to find it.
@@
@@
add_delta(...) {
  <...
- item_lock(hv);
  ...
- item_unlock(hv);
  ...>
}
