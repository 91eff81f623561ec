/* The declarations that the examples of the manual pages assume. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tutti/tutti.h>

#if defined(PAGE_tutti_become_irrevocable)
static tutti_var next;
#elif defined(PAGE_tutti_checkpoint)
uint64_t add_up(tutti_tx* tx, tutti_var* cart);
#elif defined(PAGE_tutti_deadline)
extern char scene;
extern int dropped;
#elif defined(PAGE_tutti_malloc)
struct node {
    int32_t value;
    struct node* next;
};
static struct node* head;
#elif defined(PAGE_tutti_on_commit)
static tutti_var account;
#elif defined(PAGE_tutti_retry)
static tutti_var near, far;
#elif defined(PAGE_tutti_statistics)
void work(void);
#elif defined(PAGE_tutti_use_policy)
extern int t;
void transfer(tutti_tx* tx, void* how_much);
#endif
