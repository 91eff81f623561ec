// One thread's operation beside more and more other threads, which sleep or have ended.
#include <atomic>
#include <latch>
#include <memory>
#include <thread>

#include <tutti/counter.hpp>
#include <tutti/open_nesting.hpp>
#include <tutti/retry.hpp>
#include <tutti/tutti.hpp>

#include "growth/curves.hpp"
#include "growth/thread_group.hpp"
#include "growth/timing.hpp"

namespace bench::growth {
namespace {

using tutti::tx;

constexpr std::size_t max_threads = 10'000;

tutti::var<std::uint64_t> shared_word{0};
std::uint64_t plain_word = 0;

void read_variable() {
    tutti::atomically([](tx& t) { (void)shared_word.get(t); });
}
void read_plain() {
    tutti::atomically([](tx& t) { (void)tutti::load(t, &plain_word); });
}
void update() {
    tutti::atomically([](tx& t) { shared_word.set(t, shared_word.get(t) + 1); });
}
void retire() {
    tutti::atomically([](tx& t) { tutti::destroy(t, tutti::create<std::uint64_t>(t, 1U)); });
}

/// Measures `operation` beside threads that have run `Theirs` and sleep. This thread has run `Ours`.
template <auto Theirs, auto Operation, auto Ours = read_variable>
double beside_idle(const point& p) {
    const idle_threads others{p.size, Theirs};
    Ours();
    return time_of(p, Operation);
}
/// Measures the same after threads that existed at the same time and have ended.
template <auto Theirs, auto Operation, auto Ours = read_variable>
double after_ended(const point& p) {
    { const idle_threads others{p.size, Theirs}; }
    Ours();
    return time_of(p, Operation);
}

/// Measures a thread that started after all others.
template <class Operation>
double of_a_late_thread(const point& p, const Operation& operation) {
    const idle_threads others{p.size, read_variable};
    double nanoseconds = 0;
    std::jthread{[&] { nanoseconds = operation(); }}.join();
    return nanoseconds;
}
double counting(const point& p) {
    tutti::counter counter;
    std::int64_t added = 0;
    const auto add_one = [&] {
        tutti::atomically([&](tx& t) { counter.add(t, 1); });
        ++added;
    };
    const double time = of_a_late_thread(p, [&] { return time_of(p, add_one); });
    require(counter.load() == added, "additions were lost");
    return time;
}
/// A thread gets its descriptor in its first transaction. Here the time counts from the start of the thread.
double first_transaction(const point& p) {
    const idle_threads others{p.size, read_variable};
    return median_of(p, [] {
        double taken = 0;
        std::jthread{[&taken] {
            const double before = thread_seconds();
            read_variable();
            taken = thread_seconds() - before;
        }}.join();
        return taken;
    });
}

/// Measures an update beside threads that wait in `retry`, each for a word of its own.
double beside_waiters(const point& p) {
    struct alignas(64) waiter_word {
        tutti::var<std::uint64_t> over{0};
    };
    const auto words = std::make_unique<waiter_word[]>(p.size);
    std::atomic<std::size_t> begun{0};
    double nanoseconds = 0;
    {
        const stack_size small{128 * 1024};
        std::vector<std::jthread> waiters;
        waiters.reserve(p.size);
        for (std::size_t i = 0; i != p.size; ++i) {
            waiters.emplace_back([&, i] {
                tutti::atomically([&](tx& t) {
                    if (words[i].over.get(t) != 0) return;
                    if (t.attempt() == 1) begun.fetch_add(1);
                    tutti::retry(t);
                });
            });
        }
        while (begun.load() != p.size) std::this_thread::yield();
        nanoseconds = time_of(p, update);
        for (std::size_t i = 0; i != p.size; ++i) tutti::atomically([&](tx& t) { words[i].over.set(t, 1); });
    }
    return nanoseconds;
}

/// Measures acquiring a lock beside a transaction that holds many other locks.
double beside_held_locks(const point& p) {
    std::latch held{1}, over{1};
    std::jthread holder{[&] {
        tutti::atomically([&](tx& t) {
            for (std::size_t i = 0; i != p.size; ++i) tutti::acquire(t, {&p, i});
            held.count_down();
            over.wait();
        });
    }};
    held.wait();
    const double nanoseconds = time_of(p, [&] { tutti::atomically([&](tx& t) { tutti::acquire(t, {&p, p.size}); }); });
    over.count_down();
    return nanoseconds;
}

constexpr auto constant = due::constant;

[[maybe_unused]] const bool added = add({
    {.family = "threads",
     .name = "update-ended",
     .of = "an update",
     .over = "ended threads",
     .expected = constant,
     .largest = max_threads,
     .run = after_ended<read_variable, update>,
     .threads = true},
    {.family = "threads",
     .name = "update-ended-plain",
     .of = "an update after a plain access",
     .over = "ended threads that used plain memory",
     .expected = constant,
     .largest = max_threads,
     .run = after_ended<read_plain, update, read_plain>,
     .threads = true,
     .beside = "update-ended"},
    {.family = "threads",
     .name = "update-idle",
     .of = "an update",
     .over = "idle threads",
     .expected = constant,
     .largest = max_threads,
     .run = beside_idle<read_variable, update>,
     .threads = true},
    {.family = "threads",
     .name = "update-idle-one-plain",
     .of = "an update after a plain access",
     .over = "idle threads without plain memory",
     .expected = constant,
     .largest = max_threads,
     .run = beside_idle<read_variable, update, read_plain>,
     .threads = true,
     .beside = "update-idle"},
    {.family = "threads",
     .name = "update-idle-plain",
     .of = "an update after a plain access",
     .over = "idle threads that used plain memory",
     .expected = constant,
     .largest = max_threads,
     .run = beside_idle<read_plain, update, read_plain>,
     .threads = true,
     .beside = "update-idle"},
    {.family = "threads",
     .name = "read-idle-plain",
     .of = "a plain read",
     .over = "idle threads that used plain memory",
     .expected = constant,
     .largest = max_threads,
     .run = beside_idle<read_plain, read_plain>,
     .threads = true,
     .beside = "update-idle"},
    {.family = "threads",
     .name = "update-waiters",
     .of = "an update",
     .over = "threads in retry on other words",
     .expected = constant,
     .largest = max_threads,
     .run = beside_waiters,
     .threads = true,
     .beside = "update-idle"},
    {.family = "threads",
     .name = "first-transaction",
     .of = "a thread's first transaction",
     .over = "idle threads",
     .expected = constant,
     .largest = max_threads,
     .run = first_transaction,
     .threads = true},
    {.family = "threads",
     .name = "retire-ended",
     .of = "an object retired",
     .over = "ended threads",
     .expected = constant,
     .largest = max_threads,
     .run = after_ended<read_variable, retire>,
     .threads = true},
    {.family = "threads",
     .name = "retire-idle",
     .of = "an object retired",
     .over = "idle threads",
     .expected = constant,
     .largest = max_threads,
     .run = beside_idle<read_variable, retire>,
     .threads = true},
    {.family = "threads",
     .name = "counter",
     .of = "counter::add",
     .over = "other contexts",
     .expected = constant,
     .largest = max_threads,
     .run = counting,
     .threads = true},
    {.family = "threads",
     .name = "lock-beside-held",
     .of = "an abstract lock",
     .over = "locks another holds",
     .expected = constant,
     .run = beside_held_locks,
     .concurrent = true,
     .threads = true},
});

}  // namespace
}  // namespace bench::growth
