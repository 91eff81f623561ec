/* The blocks of language_programs that are written in C. */

__attribute__((transaction_safe)) void add_in_cpp(long* to, long what);

static long count;

/* Adds 11 in total: the cancelled nested block of the other language has no effect. */
long raise_in_c(void) {
    long now;
    __transaction_atomic {
        ++count;
        add_in_cpp(&count, 10);
        add_in_cpp(&count, -3);
        now = count;
    }
    return now;
}

__attribute__((transaction_safe)) void add_in_c(long* to, long what) {
    __transaction_atomic {
        *to += what;
        if (what < 0) __transaction_cancel;
    }
}
