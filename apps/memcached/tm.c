/* The part of tm.h that is not inlined. */
#include "tm.h"

#include <memcached.h>

#undef fprintf
#undef perror
#undef realloc

static void print(void* text) {
    fputs(text, stderr);
    free(text);
}

int tm_fprintf(FILE* to, const char* format, ...) {
    va_list values;
    va_start(values, format);
    int written = 0;
    if (to != stderr || !tm_in_block()) {
        written = vfprintf(to, format, values);
    } else {
        char* text;
        written = vasprintf(&text, format, values);
        if (written >= 0) tm_defer(print, free, text);
    }
    va_end(values);
    return written;
}

void tm_perror(const char* what) { tm_fprintf(stderr, "%s: %s\n", what, strerror(errno)); }

/* A log entry is formatted immediately, because its data may be gone later. The formatted entry goes to the logger's
 * buffer after the block. */
struct entry {
    logger* to;
    logentry* filled;
};

static void free_entry(void* argument) {
    struct entry* entry = argument;
    free(entry->filled);
    free(entry);
}

static void append_entry(void* argument) {
    struct entry* entry = argument;
    logger* to = entry->to;
    pthread_mutex_lock(&to->mutex);
    const size_t size = sizeof(logentry) + (size_t)entry->filled->size;
    void* place = bipbuf_request(to->buf, (int)size);
    if (place == NULL) {
        to->dropped++;
    } else {
        entry->filled->gid = logger_get_gid();
        memcpy(place, entry->filled, size);
        bipbuf_push(to->buf, (int)size);
        to->written++;
    }
    pthread_mutex_unlock(&to->mutex);
    free_entry(entry);
}

bool tm_log_wanted(const logger* to, unsigned flag) { return to != NULL && (to->eflags & flag) != 0; }
logger* tm_own_logger(void) { return pthread_getspecific(logger_key); }

void tm_log(logger* to, enum log_entry_type event, const void* about, ...) {
    const entry_details* details = &to->entry_map[event];
    struct entry* entry = malloc(sizeof *entry);
    logentry* filled = calloc(1, sizeof(logentry) + (size_t)details->reqlen);
    if (entry == NULL || filled == NULL) {
        free(entry);
        free(filled);
        return;
    }
    *entry = (struct entry){.to = to, .filled = filled};
    filled->event = event;
    filled->eflags = details->eflags;
    gettimeofday(&filled->tv, NULL);
    va_list values;
    va_start(values, about);
    details->log_cb(filled, details, about, values);
    va_end(values);
    tm_defer(append_entry, free_entry, entry);
}

/* The action gets one pointer. To add one, the pointer is the counter itself. */
static void add_one(void* counter) { tm_count(counter, 1); }

void tm_count_at_commit(uint64_t* counter, int64_t by) {
    if (!tm_in_block()) tm_count(counter, by);
    else
        for (; by > 0; by--) tm_at_commit(add_one, counter);
}

void tm_add(uint64_t* total, int64_t by) { __atomic_fetch_add(total, (uint64_t)by, __ATOMIC_RELAXED); }

static void count_item(void* argument) {
    const int64_t bytes = (intptr_t)argument;
    tm_add(&stats_state.curr_bytes, bytes);
    tm_add(&stats_state.curr_items, bytes > 0 ? 1 : -1);
    if (bytes > 0) tm_add(&stats.total_items, 1);
}

void tm_count_item(int64_t bytes) {
    if (tm_in_block()) tm_at_commit(count_item, (void*)(intptr_t)bytes);
    else count_item((void*)(intptr_t)bytes);
}

uint64_t tm_next(uint64_t* number) { return __atomic_add_fetch(number, 1, __ATOMIC_ACQ_REL); }
void tm_set(uint64_t* number, uint64_t to) { __atomic_store_n(number, to, __ATOMIC_RELEASE); }

/* ---- the C library inside blocks ------------------------------------------------------------------------------*/

bool tm_same_key(const void* a, const void* b, size_t size) { return memcmp(a, b, size) == 0; }

TM_SAFE size_t tm_strlen(const char* text) {
    size_t length = 0;
    while (text[length] != '\0') length++;
    return length;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Like memcached's safe_strtoull, for memory that other blocks may change. */
TM_SAFE bool tm_parse_number(const char* text, uint64_t* number) {
    *number = 0;
    while (is_space(*text)) text++;
    const bool negative = *text == '-';
    if (*text == '-' || *text == '+') text++;
    uint64_t value = 0;
    const char* first = text;
    for (; *text >= '0' && *text <= '9'; text++) {
        const unsigned digit = (unsigned)(*text - '0');
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    if (text == first || !(is_space(*text) || *text == '\0')) return false;
    if (negative) {
        value = -value;
        if ((int64_t)value < 0) return false;
    }
    *number = value;
    return true;
}

static TM_PURE size_t capacity(void* memory) { return malloc_usable_size(memory); }

TM_SAFE void* tm_realloc(void* old, size_t size) {
    void* grown = malloc(size);
    if (grown == NULL || old == NULL) return grown;
    const size_t had = capacity(old);
    memcpy(grown, old, had < size ? had : size);
    free(old);
    return grown;
}
