/* Calls the C library in blocks. Exits with status 0 if the cancelled block has had no effect. */
#include <stdio.h>
#include <string.h>

static char line[32];

int main(void) {
    __transaction_atomic { snprintf(line, sizeof line, "%s %d", "entry", 1); }
    __transaction_atomic {
        snprintf(line, sizeof line, "%s %d", "entry", 2);
        if (strlen(line) > 0) __transaction_cancel;
    }
    return strcmp(line, "entry 1") == 0 ? 0 : 1;
}
