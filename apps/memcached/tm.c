/* The part of tm.h that is not inlined. */
#include "tm.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memcached.h>

#undef fprintf
#undef perror
#undef realloc

/* The part of the ABI that a program may call; GCC installs no header for it. */
TM_PURE int _ITM_inTransaction(void);
TM_PURE void _ITM_addUserCommitAction(void (*action)(void*), uint64_t transaction, void* argument);
TM_PURE void _ITM_addUserUndoAction(void (*action)(void*), void* argument);
enum { any_transaction = 1 };

/* ---- deferred work --------------------------------------------------------------------------------------------*/

struct work {
    struct work* next;
    void (*run)(void*);
    void (*drop)(void*);
    void* argument;
};

static _Thread_local struct work* committed;
static _Thread_local struct work** last;

/* At commit, while ownership is still held: it only queues, because what is run later may begin blocks. */
static void queue(void* argument) {
    struct work* work = argument;
    if (committed == NULL) last = &committed;
    *last = work;
    last = &work->next;
}

static void drop(void* argument) {
    struct work* work = argument;
    work->drop(work->argument);
    free(work);
}

static bool in_block(void) { return _ITM_inTransaction() != 0; }

void tm_defer(void (*run)(void*), void (*dropped)(void*), void* argument) {
    if (!in_block()) {
        run(argument);
        return;
    }
    struct work* work = malloc(sizeof *work);
    if (work == NULL) {
        dropped(argument);
        return;
    }
    *work = (struct work){.next = NULL, .run = run, .drop = dropped, .argument = argument};
    _ITM_addUserUndoAction(drop, work);
    _ITM_addUserCommitAction(queue, any_transaction, work);
}

void tm_leave(const int* scope) {
    (void)scope;
    if (__builtin_expect(committed == NULL, 1) || in_block()) return;
    do {
        struct work* work = committed;
        committed = work->next;
        work->run(work->argument);
        free(work);
    } while (committed != NULL);
}

static void print(void* text) {
    fputs(text, stderr);
    free(text);
}

int tm_fprintf(FILE* to, const char* format, ...) {
    va_list values;
    va_start(values, format);
    int written = 0;
    if (to != stderr || !in_block()) {
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

/* A log entry is laid out at once, because what it tells of may be gone later, and goes to the logger's buffer after
 * the block. */
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

/* ---- waiting --------------------------------------------------------------------------------------------------
 * A thread that waits for a word to change sleeps in the kernel. A block that changes the word wakes the sleepers when
 * it commits, as finding 7 asks: so it wakes no thread early, and none if it is rolled back.
 *
 * No wake-up is lost. The sleeper counts itself (A), then the kernel compares the word (B) and sleeps. The action of a
 * commit runs when the word has been changed (C), and then looks at the count (D). The fences order A before B and C
 * before D, so either D sees the count or B sees the change. The word may be that of a block that is still running, and
 * is then rolled back: who is woken for that looks again. */
static void sleep_while(unsigned* word, unsigned* count, unsigned from, const struct timespec* at_most) {
    __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, from, at_most, NULL, 0);
    __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
}

static void wake_if_asleep(unsigned* word, const unsigned* count) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(count, __ATOMIC_RELAXED) != 0)
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void wake_token(void* argument) {
    tm_token* token = argument;
    wake_if_asleep(&token->held, &token->asleep);
}

static void wake_condition(void* argument) {
    tm_condition* condition = argument;
    wake_if_asleep(&condition->signals, &condition->asleep);
}

/* ---- tokens ---------------------------------------------------------------------------------------------------*/

TM_SAFE bool tm_token_try(tm_token* token) {
    bool taken = false;
    __transaction_atomic {
        if (token->held == 0) {
            token->held = 1;
            taken = true;
        }
    }
    return taken;
}

void tm_token_wait(tm_token* token) { sleep_while(&token->held, &token->asleep, 1, NULL); }

void tm_token_take(tm_token* token) {
    while (!tm_token_try(token)) tm_token_wait(token);
}

TM_SAFE void tm_token_give(tm_token* token) {
    __transaction_atomic {
        token->held = 0;
        _ITM_addUserCommitAction(wake_token, any_transaction, token);
    }
}

static unsigned signals_of(tm_condition* condition) {
    unsigned signals;
    __transaction_atomic { signals = condition->signals; }
    return signals;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

void tm_condition_wait(tm_condition* condition, tm_token* token) {
    const unsigned seen = signals_of(condition);
    tm_token_give(token);
    while (signals_of(condition) == seen) sleep_while(&condition->signals, &condition->asleep, seen, NULL);
    tm_token_take(token);
}

void tm_condition_wait_until(tm_condition* condition, tm_token* token, const struct timespec* when) {
    const uint64_t until = (uint64_t)when->tv_sec * 1000000000U + (uint64_t)when->tv_nsec;
    const unsigned seen = signals_of(condition);
    tm_token_give(token);
    for (uint64_t time = now(); time < until && signals_of(condition) == seen; time = now()) {
        const uint64_t left = until - time;
        const struct timespec at_most = {(time_t)(left / 1000000000U), (long)(left % 1000000000U)};
        sleep_while(&condition->signals, &condition->asleep, seen, &at_most);
    }
    tm_token_take(token);
}

TM_SAFE void tm_condition_signal(tm_condition* condition) {
    __transaction_atomic {
        condition->signals++;
        _ITM_addUserCommitAction(wake_condition, any_transaction, condition);
    }
}

/* The action gets a single pointer, which is the counter itself where it adds one. */
static void add_one(void* counter) { tm_count(counter, 1); }

void tm_count_at_commit(uint64_t* counter, int64_t by) {
    if (!in_block()) tm_count(counter, by);
    else
        for (; by > 0; by--) _ITM_addUserCommitAction(add_one, any_transaction, counter);
}

/* All threads add to these. */
static void add(uint64_t* total, int64_t by) { __atomic_fetch_add(total, (uint64_t)by, __ATOMIC_RELAXED); }

static void count_item(void* argument) {
    const int64_t bytes = (intptr_t)argument;
    add(&stats_state.curr_bytes, bytes);
    add(&stats_state.curr_items, bytes > 0 ? 1 : -1);
    if (bytes > 0) add(&stats.total_items, 1);
}

void tm_count_item(int64_t bytes) {
    if (in_block()) _ITM_addUserCommitAction(count_item, any_transaction, (void*)(intptr_t)bytes);
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

/* As memcached's safe_strtoull, over memory that other blocks may change. */
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
