/* Moves money between two accounts in one transaction; exits with status 0 if the sum is right. */
#include <tutti/tutti.h>

struct accounts {
    tutti_var from;
    tutti_var to;
};

static void transfer(tutti_tx* tx, void* argument) {
    struct accounts* accounts = argument;
    tutti_set(tx, &accounts->from, tutti_get(tx, &accounts->from) - 30);
    tutti_set(tx, &accounts->to, tutti_get(tx, &accounts->to) + 30);
}

int main(void) {
    static struct accounts accounts = {TUTTI_VAR_INIT(100), TUTTI_VAR_INIT(0)};
    if (tutti_atomically(NULL, transfer, &accounts) != TUTTI_COMMITTED) return 1;
    return tutti_var_load(&accounts.from) == 70 && tutti_var_load(&accounts.to) == 30 ? 0 : 1;
}
