// Ordinary words in transactions, and memory that a transaction makes private for use outside of transactions.
#include <cstdint>
#include <cstdio>
#include <thread>
#include <tutti/tutti.hpp>
#include <vector>

struct job {
    std::uint32_t id;
    std::uint32_t result;
    job* next;
};

int main() {
    job* waiting = nullptr;  // a shared list of plain structs
    std::uint64_t pushed = 0;
    constexpr std::uint32_t producers = 3, each = 200, jobs = producers * each;

    std::vector<std::jthread> threads;
    threads.reserve(producers);
    for (std::uint32_t p = 0; p < producers; ++p) {
        threads.emplace_back([&, p] {
            for (std::uint32_t i = 0; i < each; ++i) {
                job* const fresh = new job{p * each + i, 0, nullptr};
                // This block makes no memory private, so its commit need not wait for other transactions.
                tutti::atomically({.privatization = tutti::privatization::waived}, [&](tutti::tx& t) {
                    fresh->next = tutti::load(t, &waiting);  // no other thread can see the node yet
                    tutti::store(t, &waiting, fresh);
                    tutti::store(t, &pushed, tutti::load(t, &pushed) + 1);
                });
            }
        });
    }

    // Detaches the whole list at once. After that it is private, and ordinary loops can process it.
    std::uint64_t done = 0, sum = 0;
    while (done < jobs) {
        job* mine = tutti::atomically([&](tutti::tx& t) {
            job* const all = tutti::load(t, &waiting);
            tutti::store(t, &waiting, nullptr);
            return all;
        });
        for (; mine != nullptr; ++done) {
            mine->result = mine->id * 2;
            sum += mine->result;
            delete std::exchange(mine, mine->next);
        }
    }
    threads.clear();
    std::printf("%llu jobs done, sum of results %llu\n", static_cast<unsigned long long>(done),
                static_cast<unsigned long long>(sum));
    return pushed == done && sum == std::uint64_t{jobs} * (jobs - 1) ? 0 : 1;
}
