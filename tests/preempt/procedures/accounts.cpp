#include "preempt/procedures/accounts.hpp"

namespace procedures {

void transfer(void* of_transfers) noexcept {
    auto& t = *static_cast<transfers*>(of_transfers);
    std::uint64_t x = t.seed;
    const auto any = [&x] {
        x = x * 6364136223846793005U + 1442695040888963407U;
        return static_cast<int>((x >> 33) % bank::accounts);
    };
    do {
        tutti::atomically([&](tutti::tx& in) {
            for (int step = 0; step < t.steps; ++step) {
                auto& from = t.of->money[any()];
                auto& to = t.of->money[any()];
                from.set(in, from.get(in) - 1);
                for (int turn = 0; turn < t.work; ++turn) asm volatile("");
                to.set(in, to.get(in) + 1);
                t.reads.fetch_add(1, std::memory_order_relaxed);
            }
        });
        t.done.fetch_add(1);
    } while (t.stop != nullptr && !t.stop->load(std::memory_order_relaxed));
}

void check_total(void* of_audit) noexcept {
    auto& a = *static_cast<audit*>(of_audit);
    long total = 0;
    tutti::atomically([&](tutti::tx& in) {
        total = 0;
        for (const auto& m : a.of->money) total += m.get(in);
    });
    if (total != a.expected) a.wrong.fetch_add(1);
}

}  // namespace procedures
