// A long computation before a hot spot. Every order adds up a catalogue that hardly ever changes. Then it takes the
// next number of a series that every block needs. A block that loses a conflict there restarts from the checkpoint,
// without reading the catalogue again.
#include <array>
#include <atomic>
#include <cstdio>
#include <thread>
#include <tutti/tutti.hpp>
#include <vector>

namespace {

constexpr int clerks = 4, orders = 500;

std::array<tutti::var<long>, 500> catalogue{};
tutti::var<long> next_number{0}, turnover{0};

}  // namespace

int main() {
    for (auto& price : catalogue) price.store(2);

    std::atomic<long> summed{0}, numbered{0};  // runs of either half, including rolled-back ones
    {
        std::vector<std::jthread> threads;
        threads.reserve(clerks);
        for (int i = 0; i < clerks; ++i) {
            threads.emplace_back([&] {
                for (int k = 0; k < orders; ++k) {
                    tutti::atomically([&](tutti::tx& t) {
                        ++summed;
                        long sum = 0;
                        for (const auto& price : catalogue) sum += price.get(t);
                        tutti::checkpoint(t, [&](tutti::tx& rest) {
                            ++numbered;
                            const long number = next_number.get(rest);
                            std::this_thread::yield();  // so that conflicts happen now and then
                            next_number.set(rest, number + 1);
                            turnover.set(rest, turnover.get(rest) + sum);  // `sum` has its value from the checkpoint
                        });
                    });
                }
            });
        }
    }

    std::printf("%d orders: the catalogue was added up %ld times, a number was taken %ld times\n", clerks * orders,
                summed.load(), numbered.load());
    return next_number.load() == clerks * orders && turnover.load() == 1000L * clerks * orders ? 0 : 1;
}
