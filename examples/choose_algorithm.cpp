// A process chooses its concurrency control once: by the program, or by TUTTI_ALGORITHM.
#include <cstdio>
#include <string>
#include <thread>
#include <tutti/tutti.hpp>

int main(int argc, char** argv) {
    std::puts("there are:");
    for (const auto& a : tutti::available_algorithms()) {
        std::printf("  %-12s %s\n", std::string{a.name}.c_str(), std::string{a.summary}.c_str());
    }

    // This has to come before the first transaction of the process.
    tutti::use_algorithm(argc > 1 ? argv[1] : "norec");

    tutti::var<int> counter{0};
    const auto count = [&] {
        for (int i = 0; i < 1000; ++i) {
            tutti::atomically([&](tutti::tx& t) { counter.set(t, counter.get(t) + 1); });
        }
    };
    { const std::jthread one{count}, two{count}; }

    // Later, it is an error of use, with a message that says what to do instead.
    bool diagnosed = false;
    try {
        tutti::use_algorithm("wb-etl");
    } catch (const tutti::usage_error& error) {
        diagnosed = true;
        std::printf("too late: %s\n", error.what());
    }
    std::printf("%d counted under %s\n", counter.load(), std::string{tutti::algorithm()}.c_str());
    return counter.load() == 2000 && diagnosed ? 0 : 1;
}
