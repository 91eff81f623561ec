/* The macros that Coccinelle has to know, because it expands no macros by default. */
#define THREAD_STATS_FIELDS
#define SLAB_STATS_FIELDS
/* Blocks made by an earlier patch. */
#define TM_ITEM(hv) YACFE_ITERATOR
#define TM_LRU() YACFE_ITERATOR
#define TM_BUMP() YACFE_ITERATOR
#define TM_CRAWL() YACFE_ITERATOR
#define TM_MOVE() YACFE_ITERATOR
#define TM_SLABS() YACFE_ITERATOR
#define TM_STATS() YACFE_ITERATOR
#define TM_LRU_RELAXED() YACFE_ITERATOR
#define TM_CRAWL_RELAXED() YACFE_ITERATOR
#define TM_SLABS_RELAXED() YACFE_ITERATOR
#define TM_STATS_RELAXED() YACFE_ITERATOR
