// A program with a server in it: ends with status 0 when the call of a procedure is answered rightly.
#include <tutti/server/service.hpp>
#include <tutti/tutti.hpp>

int main() {
    tutti::var<long> balance{100};
    tutti::server::service bank{{.workers = 1}};
    bank.procedures().add("withdraw", {.priority = 4}, [&balance](long amount) {
        return tutti::atomically([&](tutti::tx& t) {
            balance.set(t, balance.get(t) - amount);
            return balance.get(t);
        });
    });
    bank.start();
    return bank.call<long>("withdraw", {}, 30).get() == 70 ? 0 : 1;
}
