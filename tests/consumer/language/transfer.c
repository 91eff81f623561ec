/* Moves money between two accounts in one block; status 0 means that the sum is right and the runtime is Tutti's. */
#include <string.h>

const char* _ITM_libraryVersion(void);

static long from = 100, to;

int main(void) {
    __transaction_atomic {
        from -= 30;
        to += 30;
    }
    if (from != 70 || to != 30) return 1;
    return strncmp(_ITM_libraryVersion(), "Tutti", 5) == 0 ? 0 : 2;
}
