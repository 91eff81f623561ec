// More and more threads that all run at the same time.
#include <cstdint>
#include <memory>

#include <tutti/retry.hpp>
#include <tutti/tutti.hpp>

#include "growth/curves.hpp"
#include "growth/thread_group.hpp"
#include "growth/timing.hpp"

namespace bench::growth {
namespace {

using tutti::tx;

/// Measures transactions that increment one shared word ten times. The time includes the restarts that other threads
/// cause.
template <tutti::mode Mode>
double bump_in(const point& p) {
    return median_of(p, [&p] {
        tutti::var<std::uint64_t> word{0};
        const double seconds = seconds_together(p.size, [&word](std::size_t) {
            tutti::atomically({.mode = Mode}, [&word](tx& t) {
                for (int i = 0; i != 10; ++i) word.set(t, word.get(t) + 1);
            });
        });
        require(word.load() == 10 * p.size, "updates were lost");
        return seconds;
    });
}
double bump_plain(const point& p) {
    return median_of(p, [&p] {
        std::uint64_t word = 0;
        const double seconds = seconds_together(p.size, [&word](std::size_t) {
            tutti::atomically([&word](tx& t) {
                for (int i = 0; i != 10; ++i) tutti::store(t, &word, tutti::load(t, &word) + 1);
            });
        });
        require(word == 10 * p.size, "updates were lost");
        return seconds;
    });
}
/// No data is shared, so this measures what the engine itself shares between threads.
double bump_own(const point& p) {
    struct alignas(128) own_word {
        tutti::var<std::uint64_t> value{0};
    };
    const auto words = std::make_unique<own_word[]>(p.size);
    return median_of(p, [&] {
        return seconds_together(p.size, [&words](std::size_t index) {
            auto& mine = words[index].value;
            for (int i = 0; i != 100; ++i) tutti::atomically([&mine](tx& t) { mine.set(t, mine.get(t) + 1); });
        });
    });
}

constexpr std::uint64_t turns_each = 20;

/// Each thread waits until the word gives it the turn, and passes the turn on.
double turns(const point& p) {
    const double whole = median_of(p, [&p] {
        tutti::var<std::uint64_t> word{0};
        const double seconds = seconds_together(p.size, [&](std::size_t index) {
            for (std::uint64_t i = 0; i != turns_each; ++i) {
                tutti::atomically([&](tx& t) {
                    const std::uint64_t turn = word.get(t);
                    if (turn % p.size != index) tutti::retry(t);
                    word.set(t, turn + 1);
                });
            }
        });
        require(word.load() == turns_each * p.size, "a turn was lost or taken twice");
        return seconds;
    });
    return whole / turns_each;
}

using tutti::mode;

[[maybe_unused]] const bool added = add({
    {.family = "running-threads",
     .name = "own-words",
     .of = "100 updates of its own",
     .over = "threads",
     .largest = 1000,
     .run = bump_own,
     .threads = true},
    {.family = "running-threads",
     .name = "optimistic",
     .of = "ten updates of one word",
     .over = "threads",
     .largest = 1000,
     .run = bump_in<mode::optimistic>,
     .threads = true},
    {.family = "running-threads",
     .name = "visible",
     .of = "ten updates of one word, visible",
     .over = "threads",
     .largest = 1000,
     .run = bump_in<mode::visible>,
     .threads = true,
     .beside = "optimistic"},
    {.family = "running-threads",
     .name = "irrevocable",
     .of = "ten updates of one word, irrevocable",
     .over = "threads",
     .largest = 1000,
     .run = bump_in<mode::irrevocable>,
     .threads = true,
     .beside = "optimistic"},
    {.family = "running-threads",
     .name = "plain",
     .of = "ten updates of one plain word",
     .over = "threads",
     .largest = 1000,
     .run = bump_plain,
     .threads = true,
     .beside = "optimistic"},
    {.family = "running-threads",
     .name = "turns",
     .of = "a turn of a thread that waits in retry",
     .over = "threads",
     .largest = 400,
     .run = turns,
     .threads = true},
});

}  // namespace
}  // namespace bench::growth
