// slabs_lock.

@@
expression E, R;
@@
slab_rebalance_start(...) {
  <...
  if (E) {
-   pthread_mutex_unlock(&slabs_lock);
    return R;
  }
  ...>
}

// This function formats text by a function of its caller.
@@
iterator name TM_SLABS_RELAXED;
@@
slabs_stats(...) {
- pthread_mutex_lock(&slabs_lock);
+ TM_SLABS_RELAXED() {
  ...
- pthread_mutex_unlock(&slabs_lock);
+ }
}

@@
iterator name TM_SLABS;
@@
- slabs_mlock();
+ TM_SLABS() {
  ...
- slabs_munlock();
+ }

@ exists @
iterator name TM_SLABS;
identifier f !~ "^slab_rebalance_move$|^slabs_mlock$|^slabs_munlock$";
@@
f(...) {
  <...
- pthread_mutex_lock(&slabs_lock);
+ TM_SLABS() {
  ... when != pthread_mutex_unlock(&slabs_lock);
- pthread_mutex_unlock(&slabs_lock);
+ }
  ...>
}
