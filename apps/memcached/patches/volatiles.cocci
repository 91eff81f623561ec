// Data that transactions read is not volatile: a block orders its accesses, and a volatile access cannot be rolled back
// (finding 3). The clock's tick becomes a block, so that no thread reads half of it.
@@
@@
- volatile rel_time_t current_time;
+ rel_time_t current_time;

@@
@@
- extern volatile rel_time_t current_time;
+ extern rel_time_t current_time;

@@
@@
- volatile int slab_rebalance_signal;
+ int slab_rebalance_signal;

@@
@@
- extern volatile int slab_rebalance_signal;
+ extern int slab_rebalance_signal;
