/* Threads that exit in the middle of a block. Each ends deep in its stack, so that the end of the thread finds the
 * block's frames below its own. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct large {
    char bytes[100];
};

static long in_vain = 0;
static long kept = 0;
static struct large block_of_bytes, ones;
int yes = 1; /* hidden from the compiler */
static int failures = 0;

static void expect(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "not so: %s\n", what);
    ++failures;
}

__attribute__((transaction_pure, noinline)) void exit_purely(void) { pthread_exit(NULL); }
__attribute__((noinline)) void exit_unsafely(void) { pthread_exit(NULL); }

__attribute__((noinline)) static void roll_back_by_exit(void) {
    __transaction_atomic {
        in_vain = 1;
        exit_purely();
    }
}

__attribute__((noinline)) static void commit_by_exit(void) {
    __transaction_relaxed {
        kept = 1;
        if (yes) exit_unsafely();
        kept = 2;
    }
}

__attribute__((noinline)) static void cancel(void) {
    __transaction_atomic {
        block_of_bytes = ones;
        if (yes) __transaction_cancel;
    }
}

__attribute__((noinline)) static void call_deep(int levels, void (*last)(void)) {
    char filler[1024];
    memset(filler, levels, sizeof filler);
    __asm__ volatile("" : : "r"(filler) : "memory");
    if (levels == 0) last();
    else call_deep(levels - 1, last);
    __asm__ volatile("" : : "r"(filler) : "memory");
}

static void* run(void* last) {
    call_deep(32, (void (*)(void))last);
    return NULL;
}

static void in_thread(void (*what)(void)) {
    pthread_t t;
    if (pthread_create(&t, NULL, run, (void*)what) != 0) expect(0, "a thread starts");
    else pthread_join(t, NULL);
}

int main(void) {
    /* After this block, the other threads are not the only ones that run transactions. */
    __transaction_atomic { ++kept; }
    memset(&ones, 1, sizeof ones);
    in_thread(roll_back_by_exit);
    expect(in_vain == 0, "what a thread wrote that exits is gone");
    in_thread(commit_by_exit);
    expect(kept == 1, "what ran alone is kept");
    /* The next thread gets the descriptor of the previous one. */
    in_thread(cancel);
    expect(block_of_bytes.bytes[50] == 0, "a cancel undoes everything, whoever had the descriptor before");
    __transaction_atomic {
        ++in_vain;
        ++kept;
    }
    expect(in_vain == 1 && kept == 2, "others go on");
    return failures == 0 ? 0 : 1;
}
