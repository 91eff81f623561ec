// One transaction of one thread that does more and more: reads, writes, handlers, nested blocks.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include <tutti/checkpoint.hpp>
#include <tutti/open_nesting.hpp>
#include <tutti/retry.hpp>
#include <tutti/tutti.hpp>

#include "growth/curves.hpp"
#include "growth/thread_group.hpp"
#include "growth/timing.hpp"

namespace bench::growth {
namespace {

using tutti::tx;
using variables = std::vector<tutti::var<std::uint64_t>>;

/// The memory of a variable, without its transactional part.
struct alignas(16) sequential_variable {
    std::uint64_t value = 0;
};

std::uint64_t sum_of(tx& t, const variables& all) {
    std::uint64_t sum = 0;
    for (const auto& v : all) sum += v.get(t);
    return sum;
}

void write_all(tx& t, variables& all) {
    for (auto& v : all) v.set(t, 1);
}

/// Returns the time of `tutti::atomically(body)`. `body(t, variables)` gets as many variables as the point's size, and
/// changes either all of them or none.
template <class Body>
double block_on_variables(const point& p, const Body& body, const tutti::options& how = {}) {
    variables all(p.size);
    const double time = time_of(p, [&] { tutti::atomically(how, [&](tx& t) { body(t, all); }); });
    for (const auto& v : all) require(v.load() == all.front().load(), "a write was lost");
    return time;
}

double reads(const point& p) {
    return block_on_variables(p, [](tx& t, variables& all) { benchmark::DoNotOptimize(sum_of(t, all)); });
}
double reads_without(const point& p) {
    const std::vector<sequential_variable> all(p.size);
    return time_of(p, [&] {
        std::uint64_t sum = 0;
        for (const auto& v : all) {
            benchmark::DoNotOptimize(v);
            sum += v.value;
        }
        benchmark::DoNotOptimize(sum);
    });
}
double visible_reads(const point& p) {
    return block_on_variables(p, [](tx& t, variables& all) { benchmark::DoNotOptimize(sum_of(t, all)); },
                              {.mode = tutti::mode::visible});
}
double writes(const point& p) { return block_on_variables(p, write_all); }
double writes_without(const point& p) {
    std::vector<sequential_variable> all(p.size);
    return time_of(p, [&] {
        for (auto& v : all) {
            v.value = 1;
            benchmark::DoNotOptimize(v);
        }
        benchmark::ClobberMemory();
    });
}
double reads_of_own_writes(const point& p) {
    return block_on_variables(p, [](tx& t, variables& all) {
        write_all(t, all);
        require(sum_of(t, all) == all.size(), "a block did not see what it wrote");
    });
}
double plain_reads(const point& p) {
    const std::vector<std::uint64_t> words(p.size);
    return time_of(p, [&] {
        benchmark::DoNotOptimize(tutti::atomically([&](tx& t) {
            std::uint64_t sum = 0;
            for (const auto& w : words) sum += tutti::load(t, &w);
            return sum;
        }));
    });
}
double plain_writes(const point& p) {
    std::vector<std::uint64_t> words(p.size);
    return time_of(p, [&] {
        tutti::atomically([&](tx& t) {
            for (auto& w : words) tutti::store(t, &w, 1);
        });
    });
}
double cancelled_writes(const point& p) {
    variables all(p.size);
    const double time = time_of(p, [&] {
        benchmark::DoNotOptimize(tutti::try_atomically([&](tx& t) {
            write_all(t, all);
            tutti::cancel(t);
        }));
    });
    for (const auto& v : all) require(v.load() == 0, "what was rolled back is there");
    return time;
}
/// The sleep itself uses no processor time.
double reads_before_a_wait(const point& p) {
    return block_on_variables(p, [](tx& t, variables& all) {
        benchmark::DoNotOptimize(sum_of(t, all));
        tutti::retry_for(t, std::chrono::microseconds{1});
    });
}

double objects(const point& p) {
    std::vector<std::uint64_t*> all(p.size);
    return time_of(p, [&] {
        tutti::atomically([&](tx& t) {
            for (auto& o : all) o = tutti::create<std::uint64_t>(t, 1U);
        });
        tutti::atomically([&](tx& t) {
            for (auto* o : all) tutti::destroy(t, o);
        });
    });
}
double objects_without(const point& p) {
    std::vector<std::uint64_t*> all(p.size);
    return time_of(p, [&] {
        for (auto& o : all) o = new std::uint64_t{1};
        benchmark::ClobberMemory();
        for (auto* o : all) delete o;
    });
}

/// Measures a block that registers handlers by `add(t, handler)` and then ends by `end(t)`.
template <class Add, class End>
double handlers(const point& p, const Add& add_one, const End& end) {
    std::size_t ran = 0, due_to_run = 0;
    const double time = time_of(p, [&] {
        benchmark::DoNotOptimize(tutti::try_atomically([&](tx& t) {
            for (std::size_t i = 0; i != p.size; ++i) add_one(t, [&ran] { ++ran; });
            end(t);
        }));
        due_to_run += p.size;
    });
    require(ran == due_to_run, "a handler did not run, or ran twice");
    return time;
}
constexpr auto commit = [](tx&) {};
constexpr auto cancel = [](tx& t) { tutti::cancel(t); };
double handlers_before_commit(const point& p) {
    return handlers(p, [](tx& t, auto f) { t.before_commit(f); }, commit);
}
double handlers_at_commit(const point& p) {
    return handlers(p, [](tx& t, auto f) { t.at_commit(f); }, commit);
}
double handlers_on_commit(const point& p) {
    return handlers(p, [](tx& t, auto f) { t.on_commit(f); }, commit);
}
double handlers_on_abort(const point& p) {
    return handlers(p, [](tx& t, auto f) { t.on_abort(f); }, cancel);
}

struct yes final : tutti::participant {
    tutti::vote prepare() override { return tutti::vote::commit; }
    void commit() noexcept override {}
    void abort() noexcept override {}
};
double participants(const point& p) {
    std::vector<yes> all(p.size);
    return time_of(p, [&] {
        tutti::atomically([&](tx& t) {
            for (yes& y : all) t.join(y);
        });
    });
}

/// Runs `work` on a thread whose stack has room for that many nested blocks.
double on_a_long_stack(const point& p, const std::function<double()>& work) {
    constexpr std::size_t max_level_elements = 2048;
    double nanoseconds = 0;
    const stack_size enough{(1U << 20) + p.size * max_level_elements};
    std::jthread{[&] { nanoseconds = work(); }}.join();
    return nanoseconds;
}
void nest(tx& t, variables& all, std::size_t level) {
    if (level == all.size()) return;
    all[level].set(t, all[level].get(t) + 1);
    tutti::atomically([&, level](tx& inner) { nest(inner, all, level + 1); });
}
double depth(const point& p) {
    return on_a_long_stack(p, [&] { return block_on_variables(p, [](tx& t, variables& all) { nest(t, all, 0); }); });
}
void set_checkpoints(tx& t, variables& all, std::size_t level) {
    if (level == all.size()) return;
    benchmark::DoNotOptimize(all[level].get(t));
    tutti::checkpoint(t, [&, level](tx& rest) { set_checkpoints(rest, all, level + 1); });
}
double depth_of_checkpoints(const point& p) {
    return on_a_long_stack(
        p, [&] { return block_on_variables(p, [](tx& t, variables& all) { set_checkpoints(t, all, 0); }); });
}
double inner_blocks(const point& p) {
    return block_on_variables(p, [](tx&, variables& all) {
        for (auto& v : all) tutti::atomically([&v](tx& t) { v.set(t, v.get(t) + 1); });
    });
}
double open_blocks(const point& p) {
    return block_on_variables(p, [](tx& t, variables& all) {
        for (auto& v : all) tutti::open_nested(t, [&v](tx& own) { v.set(own, 1); }, [](tx&) {});
    });
}
double locks(const point& p) {
    return time_of(p, [&] {
        tutti::atomically([&](tx& t) {
            for (std::size_t i = 0; i != p.size; ++i) tutti::acquire(t, {&p, i});
        });
    });
}

/// Measures `inner(t)` in a block that has run `before(t, variables)` on as many variables as the point's size.
template <class Before, class Inner>
double inside(const point& p, const Before& before, const Inner& inner) {
    variables all(p.size);
    double nanoseconds = 0;
    tutti::atomically([&](tx& t) {
        before(t, all);
        nanoseconds = time_of(p, [&] { inner(t); });
    });
    return nanoseconds;
}
tutti::var<std::uint64_t> inner_word{0};
double cancelled_inner_block(const point& p) {
    return inside(p, write_all, [](tx&) {
        benchmark::DoNotOptimize(tutti::try_atomically([](tx& t) {
            inner_word.set(t, 1);
            tutti::cancel(t);
        }));
    });
}
double alternative_that_retries(const point& p) {
    return inside(p, write_all, [](tx& outer) {
        tutti::or_else(
            outer,
            [](tx& t) {
                inner_word.set(t, 1);
                tutti::retry(t);
            },
            [](tx&) {});
    });
}
constexpr auto read_all = [](tx& t, variables& all) { benchmark::DoNotOptimize(sum_of(t, all)); };
double cancelled_inner_block_after_reads(const point& p) {
    return inside(p, read_all, [](tx&) {
        benchmark::DoNotOptimize(tutti::try_atomically([](tx& t) {
            inner_word.set(t, 1);
            tutti::cancel(t);
        }));
    });
}
double checkpoint_after_reads(const point& p) {
    return inside(p, read_all, [](tx& t) {
        tutti::checkpoint(t, [](tx& rest) { benchmark::DoNotOptimize(inner_word.get(rest)); });
    });
}

constexpr auto constant = due::constant;

[[maybe_unused]] const bool added = add({
    {.family = "accesses", .name = "reads", .of = "a read", .over = "reads", .run = reads, .without = reads_without},
    {.family = "accesses", .name = "visible-reads", .of = "a visible read", .over = "reads", .run = visible_reads},
    {.family = "accesses",
     .name = "writes",
     .of = "a write",
     .over = "writes",
     .run = writes,
     .without = writes_without},
    {.family = "accesses",
     .name = "own-writes",
     .of = "a write and its read",
     .over = "writes",
     .run = reads_of_own_writes},
    {.family = "accesses", .name = "plain-reads", .of = "a load", .over = "words", .run = plain_reads},
    {.family = "accesses", .name = "plain-writes", .of = "a store", .over = "words", .run = plain_writes},
    {.family = "accesses",
     .name = "cancelled-writes",
     .of = "a write rolled back",
     .over = "writes",
     .run = cancelled_writes},
    {.family = "accesses",
     .name = "reads-and-wait",
     .of = "a read waited for",
     .over = "reads",
     .run = reads_before_a_wait},
    {.family = "accesses",
     .name = "objects",
     .of = "an object made and destroyed",
     .over = "objects",
     .run = objects,
     .without = objects_without},
    {.family = "handlers",
     .name = "before-commit",
     .of = "a handler",
     .over = "handlers",
     .run = handlers_before_commit},
    {.family = "handlers", .name = "at-commit", .of = "a handler", .over = "handlers", .run = handlers_at_commit},
    {.family = "handlers", .name = "on-commit", .of = "a handler", .over = "handlers", .run = handlers_on_commit},
    {.family = "handlers", .name = "on-abort", .of = "a handler", .over = "handlers", .run = handlers_on_abort},
    {.family = "handlers", .name = "participants", .of = "a participant", .over = "participants", .run = participants},
    {.family = "nesting", .name = "depth", .of = "a level", .over = "levels", .run = depth},
    {.family = "nesting",
     .name = "checkpoints",
     .of = "a checkpoint in the last",
     .over = "checkpoints",
     .run = depth_of_checkpoints},
    {.family = "nesting",
     .name = "inner-blocks",
     .of = "a block after the last",
     .over = "inner blocks",
     .run = inner_blocks},
    {.family = "nesting", .name = "open-blocks", .of = "an open block", .over = "open blocks", .run = open_blocks},
    {.family = "nesting", .name = "locks", .of = "an abstract lock", .over = "locks", .run = locks},
    {.family = "roll-back",
     .name = "inner-after-writes",
     .of = "an inner block rolled back",
     .over = "writes before it",
     .expected = constant,
     .run = cancelled_inner_block},
    {.family = "roll-back",
     .name = "or-else-after-writes",
     .of = "an alternative that retries",
     .over = "writes before it",
     .expected = constant,
     .run = alternative_that_retries},
    {.family = "roll-back",
     .name = "inner-after-reads",
     .of = "an inner block rolled back",
     .over = "reads before it",
     .expected = constant,
     .run = cancelled_inner_block_after_reads},
    {.family = "roll-back",
     .name = "checkpoint-after-reads",
     .of = "a checkpoint",
     .over = "reads before it",
     .expected = constant,
     .run = checkpoint_after_reads},
});

}  // namespace
}  // namespace bench::growth
