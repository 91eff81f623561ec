// Around a commit: handlers at fixed points, and a participant that votes on the commit.
#include <cstdio>
#include <string>
#include <tutti/tutti.hpp>

/// An external resource that takes part in the commit: here, a ledger that can be closed.
class ledger final : public tutti::participant {
public:
    bool closed = false;
    std::string entries;

    tutti::vote prepare() override { return closed ? tutti::vote::cancel : tutti::vote::commit; }
    void commit() noexcept override { entries += "paid;"; }
    void abort() noexcept override { std::printf("  ledger: the payment did not take place\n"); }
};

int main() {
    tutti::var<int> balance{100}, fees{0};
    ledger books;
    std::string order;

    const auto pay = [&](int amount) {
        return tutti::try_atomically([&, amount](tutti::tx& t) {
            balance.set(t, balance.get(t) - amount);
            t.join(books);
            t.before_commit([&](tutti::tx& last) { fees.set(last, fees.get(last) + 1); });  // may read and write
            t.at_commit([&] { order += "at;"; });                                           // ordered like the data
            t.on_commit([=] { std::printf("  a receipt over %d\n", amount); });             // after everything
            t.on_abort([](tutti::abort_cause why) {                                         // after the roll-back
                std::printf("  taken back: %s\n", std::string{tutti::name_of(why)}.c_str());
            });
        });
    };

    std::printf("with open books:\n");
    const bool first = pay(30);
    books.closed = true;
    std::printf("with closed books:\n");
    const bool second = pay(30);

    std::printf("balance %d, fees %d, ledger %s\n", balance.load(), fees.load(), books.entries.c_str());
    return first && !second && balance.load() == 70 && fees.load() == 1 && books.entries == "paid;" && order == "at;"
               ? 0
               : 1;
}
