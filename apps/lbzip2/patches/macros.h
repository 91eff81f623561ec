/* The macros for blocks. Coccinelle has to know them, because it expands no macros by default. */
#define TM_SCHED() YACFE_ITERATOR
#define TM_SOURCE() YACFE_ITERATOR
#define TM_SINK() YACFE_ITERATOR
#define TM_WAIT(condition) YACFE_ITERATOR
