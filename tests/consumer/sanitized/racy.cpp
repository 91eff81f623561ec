// A race of the program's own: two blocks count in plain memory that no transaction knows of. The annotations must not
// hide it. The blocks share no variable, whose commits would order them: whichever runs first, it is found.
#include <cstdio>
#include <latch>
#include <thread>

#include <tutti/tutti.hpp>

int main() {
    tutti::var<int> known[2]{{0}, {0}};
    int unknown = 0;
    std::latch together{2};
    const auto count = [&](tutti::var<int>& own) {
        together.arrive_and_wait();
        for (int i = 0; i < 20'000; ++i) {
            tutti::atomically([&](tutti::tx& t) {
                own.set(t, own.get(t) + 1);
                ++unknown;
            });
        }
    };
    {
        const std::jthread one{[&] { count(known[0]); }}, two{[&] { count(known[1]); }};
    }
    std::printf("%d %d %d\n", known[0].load(), known[1].load(), unknown);
}
