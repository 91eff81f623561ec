// A program with a server in it; exits with status 0 if a procedure's call gets the right answer. It uses every member
// of a service, so that a member which the library does not export fails to link.
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
    bank.set("accounts", "5");
    if (bank.unused_settings() != std::vector<std::string>{"accounts"}) return 1;
    try {
        bank.load("/nowhere.so");
        return 2;
    } catch (const tutti::server::registration_error&) {}
    tutti::server::service{{.workers = 1}}.check();
    bank.start();
    if (bank.port() != 0 || bank.metrics_port() != 0 || !bank.responds() || bank.info().empty()) return 3;
    if (bank.promote().empty() || bank.renew_certificates()) return 4;  // it follows no leader, and has no certificates
    if (bank.call<long>("withdraw", {}, 30).get() != 70) return 5;
    bank.drain();
    return 0;
}
