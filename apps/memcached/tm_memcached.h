/* The part of tm.h that needs memcached's own types: memcached.h includes it after its declarations. */
#pragma once

/* Log entries inside blocks. */
TM_PURE bool tm_log_wanted(const logger* to, unsigned flag);
TM_PURE logger* tm_own_logger(void);
TM_PURE void tm_log(logger* to, enum log_entry_type event, const void* about, ...);

/* The same objects as memcached's, for blocks: the compiler reads constants without barriers. */
extern const struct settings tm_settings __asm__("settings");
extern const rel_time_t tm_current_time __asm__("current_time");

/* Guesses where an item with this key is, without barriers. So the function may return any item, or null although the
 * item exists. The result is correct if a barrier shows that the returned item is linked, and if its key then compares
 * equal, because no two linked items have the same key. So a thread that finds an item reads neither its bucket nor the
 * items before it, and does not conflict with blocks that change them. */
struct _stritem* tm_guess(const char* key, size_t nkey, uint32_t hv) TM_PURE;
TM_PURE bool tm_has_key(const struct _stritem* it, const char* key, size_t nkey);

/* Functions with two versions (finding 6): outside of blocks, a version that is a block; inside blocks, the content
 * of that block. The second declaration names the compiler's version with barriers of the function that does the
 * work. */
#define TM_INSIDE(of) __attribute__((transaction_wrap(of), transaction_pure))
#ifdef TM_NO_LOCKS
void* slabs_alloc(size_t size, unsigned int id, unsigned int flags);
void* slabs_alloc_inside(size_t size, unsigned int id, unsigned int flags) __asm__("_ZGTt14do_slabs_alloc")
    TM_INSIDE(slabs_alloc);
void slabs_free(void* chunk, size_t size, unsigned int id);
void slabs_free_inside(void* chunk, size_t size, unsigned int id) __asm__("_ZGTt13do_slabs_free") TM_INSIDE(slabs_free);
struct _stritem;
void item_link_q(struct _stritem* it);
void item_link_q_inside(struct _stritem* it) __asm__("_ZGTt14do_item_link_q") TM_INSIDE(item_link_q);
void item_unlink_q(struct _stritem* it);
void item_unlink_q_inside(struct _stritem* it) __asm__("_ZGTt16do_item_unlink_q") TM_INSIDE(item_unlink_q);
#endif
