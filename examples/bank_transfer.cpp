// Moving money between accounts: the transfer happens completely or not at all.
#include <cstdio>
#include <thread>
#include <tutti/tutti.hpp>
#include <vector>

int main() {
    tutti::var<long> savings{1000}, checking{0};

    // Four clerks each move a euro a hundred times; every transfer is one atomic step.
    {
        std::vector<std::jthread> clerks;
        clerks.reserve(4);
        for (int clerk = 0; clerk < 4; ++clerk) {
            clerks.emplace_back([&] {
                for (int i = 0; i < 100; ++i) {
                    tutti::atomically([&](tutti::tx& t) {
                        savings.set(t, savings.get(t) - 1);
                        checking.set(t, checking.get(t) + 1);
                    });
                }
            });
        }
    }

    // A block can return a value: here a sum that no transfer can change in between.
    const long sum = tutti::atomically([&](tutti::tx& t) { return savings.get(t) + checking.get(t); });
    std::printf("savings %ld, checking %ld, together %ld\n", savings.load(), checking.load(), sum);
    return savings.load() == 600 && checking.load() == 400 && sum == 1000 ? 0 : 1;
}
