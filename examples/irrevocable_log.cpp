// Effects that cannot be undone: after become_irrevocable, the block cannot restart.
#include <cstdio>
#include <thread>
#include <tutti/tutti.hpp>
#include <vector>

int main() {
    tutti::var<int> stock{20}, sold{0};
    std::FILE* const log = std::tmpfile();
    if (log == nullptr) return 1;

    const auto sell = [&] {
        return tutti::try_atomically({.name = "sell"}, [&](tutti::tx& t) {
            if (stock.get(t) == 0) tutti::cancel(t);
            stock.set(t, stock.get(t) - 1);
            sold.set(t, sold.get(t) + 1);

            // Until here the block may have run several times. Each sale writes one line, in the order of the sales,
            // and the line shows the values that will be committed.
            t.become_irrevocable("writes the log");
            std::fprintf(log, "%d left\n", stock.get(t));
        });
    };
    {
        std::vector<std::jthread> sellers;
        sellers.reserve(4);
        for (int i = 0; i < 4; ++i) {
            sellers.emplace_back([&] {
                while (sell()) {}
            });
        }
    }

    if (std::fseek(log, 0, SEEK_SET) != 0) return 1;
    int lines = 0, left = 0;
    bool in_order = true;
    while (std::fscanf(log, "%d left\n", &left) == 1) in_order &= left == 19 - lines++;
    std::fclose(log);
    std::printf("%d sold, %d lines in the log, %s\n", sold.load(), lines, in_order ? "in order" : "out of order");
    return sold.load() == 20 && lines == 20 && in_order ? 0 : 1;
}
