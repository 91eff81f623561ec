// The statistics of every atomic block: commits, roll-backs by cause, reasons for irrevocability, durations.
#include <cstdio>
#include <iostream>
#include <thread>
#include <tutti/tutti.hpp>
#include <vector>

int main() {
    tutti::enable_statistics(true);  // or TUTTI_STATISTICS=on; TUTTI_STATISTICS=report prints the table at exit

    tutti::var<long> hits{0}, log_lines{0};
    {
        std::vector<std::jthread> threads;
        threads.reserve(4);
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (int k = 0; k < 1000; ++k) {
                    tutti::atomically({.name = "count a hit"}, [&](tutti::tx& t) { hits.set(t, hits.get(t) + 1); });
                }
                tutti::atomically({.name = "write a line"}, [&](tutti::tx& t) {
                    log_lines.set(t, log_lines.get(t) + 1);
                    t.become_irrevocable("writes a file");
                });
                (void)tutti::try_atomically({.name = "change of mind"}, [&](tutti::tx& t) {
                    hits.set(t, 0);
                    tutti::cancel(t);
                });
            });
        }
    }

    tutti::print_statistics(std::cout);

    // The same statistics as data: here, the program checks the counts.
    bool as_expected = true;
    for (const auto& site : tutti::statistics()) {
        if (site.name == "count a hit") as_expected &= site.commits == 4000;
        if (site.name == "write a line") as_expected &= site.irrevocable_reason == "writes a file";
        if (site.name == "change of mind") {
            const auto cancels = site.aborts_by_cause[static_cast<std::size_t>(tutti::abort_cause::explicit_cancel)];
            as_expected &= site.commits == 0 && cancels == 4;
        }
    }
    return as_expected && hits.load() == 4000 ? 0 : 1;
}
