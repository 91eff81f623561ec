// Long readers among short writers: read-only blocks that log nothing, and visible ones that writers make way for.
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

    // A promise to write nothing makes reads cheap; the block may run several times until no transfer disturbs it.
    const long cheap = tutti::atomically({.name = "audit", .read_only = true}, sum);

    // Visible reads cost more, but a writer that comes across them makes way: a long block gets through a storm.
    unsigned attempts = 0;
    const long sure = tutti::atomically({.name = "audit", .mode = tutti::mode::visible}, [&](tutti::tx& t) {
        attempts = t.attempt();
        return sum(t);
    });

    // One can also decide on the way: here, when the first attempt came to nothing.
    const long adaptive = tutti::atomically([&](tutti::tx& t) {
        if (t.attempt() > 1) t.become_visible();
        return sum(t);
    });
    closing_time = true;
    clerks.clear();
    std::printf("sums %ld, %ld and %ld; the visible audit took %u attempt(s)\n", cheap, sure, adaptive, attempts);
    return cheap == 1000 && sure == 1000 && adaptive == 1000 ? 0 : 1;
}
