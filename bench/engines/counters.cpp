// A number that all threads increment: the sharded counter, one variable, and one atomic of the processor.
#include <atomic>

#include <tutti/counter.hpp>

#include "engines/tutti.hpp"
#include "workloads/counting.hpp"

namespace bench {
namespace {

template <class Value>
class transactional_number {
public:
    template <class Work>
    void add(thread_result& done, Work rest) {
        tutti::atomically([&](tutti::tx& t) {
            ++done.bodies;
            value_.add(t, 1);
            rest();
        });
    }
    [[nodiscard]] std::int64_t load() const { return value_.load(); }

private:
    Value value_;
};

struct addable_var : tutti::var<long> {
    addable_var() : tutti::var<long>{0} {}
    void add(tutti::tx& t, long by) { set(t, get(t) + by); }
};

struct sharded_counter : tutti_default {
    static constexpr const char* name = "tutti-counter";
    using number = transactional_number<tutti::counter>;
};

struct one_variable : tutti_default {
    static constexpr const char* name = "tutti-var";
    using number = transactional_number<addable_var>;
};

struct one_atomic : tutti_default {
    static constexpr const char* name = "atomic";
    class number {
    public:
        template <class Work>
        void add(thread_result&, Work rest) {
            value_.fetch_add(1, std::memory_order_relaxed);
            rest();
        }
        [[nodiscard]] std::int64_t load() const { return value_.load(std::memory_order_relaxed); }

    private:
        std::atomic<std::int64_t> value_{0};
    };
};

[[maybe_unused]] const bool added =
    (add_counting<sharded_counter>(), add_counting<one_variable>(), add_counting<one_atomic>(), true);

}  // namespace
}  // namespace bench
