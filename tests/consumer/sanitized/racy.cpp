// A race of the program's own: two blocks count in plain memory that no transaction knows of. The annotations must not
// hide it.
#include <cstdio>
#include <latch>
#include <thread>

#include <tutti/tutti.hpp>

int main() {
    tutti::var<int> known{0};
    int unknown = 0;
    std::latch together{2};
    const auto count = [&] {
        together.arrive_and_wait();
        for (int i = 0; i < 20'000; ++i) {
            tutti::atomically([&](tutti::tx& t) {
                known.set(t, known.get(t) + 1);
                ++unknown;
            });
        }
    };
    { const std::jthread one{count}, two{count}; }
    std::printf("%d %d\n", known.load(), unknown);
}
