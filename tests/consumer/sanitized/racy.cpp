// A race of the program's own: two blocks count in plain memory that no transaction knows of. The annotations must not
// hide it.
//
// It is found however the threads are scheduled: the blocks share no variable, whose commits would order them, and take
// turns by a word that orders nothing, so that both threads are there when each of them counts.
#include <atomic>
#include <cstdio>
#include <thread>

#include <tutti/tutti.hpp>

int main() {
    tutti::var<int> known[2]{{0}, {0}};
    int unknown = 0;
    std::atomic<int> turn{0};
    const auto count = [&](int self) {
        for (int i = 0; i < 100; ++i) {
            while (turn.load(std::memory_order_relaxed) % 2 != self) std::this_thread::yield();
            tutti::atomically([&](tutti::tx& t) {
                known[self].set(t, known[self].get(t) + 1);
                ++unknown;
            });
            turn.fetch_add(1, std::memory_order_relaxed);
        }
    };
    {
        const std::jthread one{[&] { count(0); }}, two{[&] { count(1); }};
    }
    std::printf("%d %d %d\n", known[0].load(), known[1].load(), unknown);
}
