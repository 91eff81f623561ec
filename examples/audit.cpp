// Long readers among short writers: read-only blocks, snapshots, and visible blocks that writers give way to.
#include <atomic>
#include <cstdio>
#include <thread>
#include <tutti/tutti.hpp>
#include <vector>

int main() {
    std::vector<tutti::var<long>> accounts(100);
    for (auto& a : accounts) a.store(10);
    std::atomic<bool> closing_time{false};

    std::vector<std::jthread> clerks;
    clerks.reserve(3);
    for (std::size_t clerk = 0; clerk < 3; ++clerk) {
        clerks.emplace_back([&, clerk] {
            for (std::size_t i = clerk; !closing_time; ++i) {
                auto &from = accounts[i % 100], &to = accounts[i * 7 % 100];
                tutti::atomically([&](tutti::tx& t) {
                    from.set(t, from.get(t) - 1);
                    to.set(t, to.get(t) + 1);
                });
            }
        });
    }

    const auto sum = [&](tutti::tx& t) {
        long total = 0;
        for (const auto& a : accounts) total += a.get(t);
        return total;
    };

    // A block that promises not to write has cheap reads. The block may run several times until no transfer conflicts
    // with the sum.
    const long cheap = tutti::atomically({.name = "audit", .read_only = true}, sum);

    // A snapshot shows the values of the time at which the block began. Writers never restart the block.
    unsigned attempts = 0;
    const long sure = tutti::atomically({.name = "audit", .mode = tutti::mode::snapshot}, [&](tutti::tx& t) {
        attempts = t.attempt();
        return sum(t);
    });

    // A block that may write can read visibly, so that writers give way. It can decide so inside: here, after the first
    // attempt was rolled back.
    const long adaptive = tutti::atomically([&](tutti::tx& t) {
        if (t.attempt() > 1) t.become_visible();
        return sum(t);
    });
    closing_time = true;
    clerks.clear();
    std::printf("sums %ld, %ld and %ld; the snapshot took %u attempt(s)\n", cheap, sure, adaptive, attempts);
    return cheap == 1000 && sure == 1000 && adaptive == 1000 ? 0 : 1;
}
