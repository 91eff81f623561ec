// Prints the frequency of the processor's time stamp counter in kHz. Guests get this value, because a guest measures
// the frequency wrongly while this machine has other work.
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct both {
    uint64_t stamp;
    int64_t ns;
};

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

// Reads both clocks within 5 us. Repeats both reads if something comes in between.
static struct both read_both(void) {
    for (;;) {
        const int64_t before = now();
        const struct both b = {__rdtsc(), now()};
        if (b.ns - before < 5000) return b;
    }
}

int main(void) {
    const struct timespec a_tenth = {.tv_nsec = 100000000};
    const struct both begin = read_both();
    nanosleep(&a_tenth, NULL);
    const struct both end = read_both();
    printf("%.0f\n", (double)(end.stamp - begin.stamp) * 1e6 / (double)(end.ns - begin.ns));
}
