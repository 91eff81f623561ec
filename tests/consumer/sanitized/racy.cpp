// A race of the program itself: two blocks count in plain memory without transactional accesses. The annotations must
// not hide the race.
//
// ThreadSanitizer finds the race in every schedule. The two threads write different transactional variables, because
// commits to a common variable would order the blocks. The threads take turns, so that both exist while each of them
// counts. The accesses to the word `turn` are relaxed, so they do not order the blocks.
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
