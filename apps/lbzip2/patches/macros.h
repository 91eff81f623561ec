/* What Coccinelle shall take macros for, since it expands none of its own accord: blocks. */
#define TM_SCHED() YACFE_ITERATOR
#define TM_SOURCE() YACFE_ITERATOR
#define TM_SINK() YACFE_ITERATOR
#define TM_WAIT(condition) YACFE_ITERATOR
