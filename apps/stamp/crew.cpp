#include "stamp/crew.hpp"

#include <barrier>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace stamp {
namespace {

using meeting = std::barrier<>;

class member final : public crew_member {
public:
    member(meeting& where, unsigned number, unsigned of) : where_{where} {
        index = number;
        crew = of;
    }
    void meet() override { where_.arrive_and_wait(); }

private:
    meeting& where_;
};

}  // namespace

double run_crew(unsigned threads, const std::function<void(crew_member&)>& work) {
    using clock = std::chrono::steady_clock;
    meeting start{static_cast<std::ptrdiff_t>(threads) + 1};
    meeting where{static_cast<std::ptrdiff_t>(threads)};
    std::mutex mutex;
    std::exception_ptr failure;
    clock::time_point begin;
    {
        std::vector<std::jthread> members;
        members.reserve(threads);
        for (unsigned i = 0; i < threads; ++i) {
            members.emplace_back([&, i] {
                member me{where, i, threads};
                start.arrive_and_wait();
                try {
                    work(me);
                } catch (...) {
                    const std::scoped_lock lock{mutex};
                    if (failure == nullptr) failure = std::current_exception();
                }
                where.arrive_and_drop();  // whoever has ended is not waited for
            });
        }
        begin = clock::now();
        start.arrive_and_wait();
    }
    const std::chrono::duration<double> took = clock::now() - begin;
    if (failure != nullptr) std::rethrow_exception(failure);
    return took.count();
}

}  // namespace stamp
