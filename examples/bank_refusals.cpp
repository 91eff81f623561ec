// Refused transfers: by an exception, by cancel, and inside a larger block that continues.
#include <array>
#include <cstdio>
#include <stdexcept>
#include <tutti/tutti.hpp>

using account = tutti::var<long>;

void transfer(tutti::tx& t, account& from, account& to, long amount) {
    to.set(t, to.get(t) + amount);
    from.set(t, from.get(t) - amount);
    if (from.get(t) < 0) throw std::runtime_error{"not covered"};
}

int main() {
    account checking{100}, shop{0};

    // The exception rolls back both steps when it leaves the block.
    bool refused = false;
    try {
        tutti::atomically([&](tutti::tx& t) { transfer(t, checking, shop, 500); });
    } catch (const std::runtime_error& why) {
        refused = true;
        std::printf("500: %s; the shop has %ld\n", why.what(), shop.load());
    }

    // For an ordinary refusal, use cancel: the block's value is then an empty optional.
    const auto left_after = [&](long amount) {
        return tutti::try_atomically([&](tutti::tx& t) {
            checking.set(t, checking.get(t) - amount);
            if (checking.get(t) < 0) tutti::cancel(t);
            return checking.get(t);
        });
    };
    const auto cash = left_after(20), too_much = left_after(200);

    // Pays the bills of a month in one transaction. A bill that is not covered is skipped; the others are paid.
    const std::array<long, 3> bills{30, 90, 40};
    const int paid = tutti::atomically([&](tutti::tx& t) {
        int count = 0;
        for (const long bill : bills) {
            try {
                tutti::atomically([&](tutti::tx& inner) { transfer(inner, checking, shop, bill); });
                ++count;
            } catch (const std::runtime_error&) {
                t.on_commit([bill] { std::printf("%ld: reminder\n", bill); });
            }
        }
        return count;
    });

    std::printf("%d bills paid, checking %ld, shop %ld\n", paid, checking.load(), shop.load());
    return refused && cash == 80 && !too_much && paid == 2 && checking.load() == 10 && shop.load() == 70 ? 0 : 1;
}
