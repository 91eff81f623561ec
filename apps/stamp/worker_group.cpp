#include "stamp/worker_group.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace stamp {
namespace {

[[noreturn]] void give_up(const char* what, const std::exception& why) {
    std::fprintf(stderr, "tutti-stamp: %s: %s\n", what, why.what());
    std::_Exit(EXIT_FAILURE);
}

}  // namespace

double run_worker_group(unsigned threads, const std::function<void(group_worker&)>& work) {
    using clock = std::chrono::steady_clock;
    std::barrier start{static_cast<std::ptrdiff_t>(threads) + 1};
    std::barrier where{static_cast<std::ptrdiff_t>(threads)};
    clock::time_point begin;
    {
        std::vector<std::jthread> members;
        try {
            for (unsigned i = 0; i < threads; ++i) {
                members.emplace_back([&, i] {
                    group_worker me{where, i, threads};
                    start.arrive_and_wait();
                    try {
                        work(me);
                    } catch (const std::exception& e) {
                        give_up("a thread failed; a smaller --size may help", e);
                    }
                });
            }
        } catch (const std::exception& e) {
            give_up("the threads cannot be made; give fewer --threads", e);
        }
        begin = clock::now();
        start.arrive_and_wait();
    }
    return std::chrono::duration<double>{clock::now() - begin}.count();
}

}  // namespace stamp
