/* The macros that Coccinelle, which expands none by default, has to know: blocks. */
#define TM_SCHED() YACFE_ITERATOR
#define TM_SOURCE() YACFE_ITERATOR
#define TM_SINK() YACFE_ITERATOR
#define TM_WAIT(condition) YACFE_ITERATOR
