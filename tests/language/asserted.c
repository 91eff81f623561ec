/* assert in blocks. With the argument "fails", the last one fails and ends the process with glibc's message. */
#include <assert.h>
#include <string.h>

static int count = 0;

int main(int argc, char** argv) {
    const int expected = argc > 1 && strcmp(argv[1], "fails") == 0 ? 0 : 1;
    __transaction_atomic {
        ++count;
        assert(count == 1);
    }
    __transaction_atomic { assert(count == expected); }
    return 0;
}
