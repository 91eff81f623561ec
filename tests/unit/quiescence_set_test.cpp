// Membership in the set of contexts that commits scan when plain memory is used. Catches a set that only grows: each
// commit would scan every thread that ever used plain memory.

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "core/lifecycle/registry.hpp"
#include "core/ports/algorithm.hpp"
#include "core/privatization/quiescence.hpp"
#include "support/watchdog.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

std::size_t members() {
    std::size_t count = 0;
    for (const memory::status_record* a = quiescence_set.load(std::memory_order_seq_cst); a != nullptr;
         a = a->next_in_quiescence_set.load(std::memory_order_acquire)) {
        ++count;
    }
    return count;
}

void use_plain_memory_once() {
    static std::uint64_t word = 0;
    atomically([](tx& t) { store(t, &word, load(t, &word) + 1); });
}

/// Each commit scans the whole set; two sweeps remove the contexts that were idle between them.
void commit_often() {
    std::uint64_t mine = 0;
    for (int i = 0; i < 3 * 4096; ++i) atomically([&](tx& t) { store(t, &mine, mine); });
}

bool is_member() {
    return descriptor::of(*detail::current_transaction).is_in_quiescence_set.load(std::memory_order_relaxed) != 0;
}

TEST(quiescence_set, contains_users_of_plain_memory) {
    std::thread{[] {
        use_plain_memory_once();
        EXPECT_TRUE(is_member());
    }}.join();
}

TEST(quiescence_set, drops_ended_threads) {
    std::vector<std::thread> threads;
    std::atomic<unsigned> there{0};
    constexpr unsigned size = 200;
    for (unsigned i = 0; i < size; ++i) {
        threads.emplace_back([&there] {
            use_plain_memory_once();
            ++there;
            while (there.load() < size) std::this_thread::yield();  // so that no thread takes over another's descriptor
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_GE(members(), size);
    commit_often();
    EXPECT_EQ(members(), 1U) << "the caller";
}

TEST(quiescence_set, drops_idle_threads_until_they_return) {
    std::atomic<int> stage{0};
    std::thread other{[&stage] {
        use_plain_memory_once();
        stage = 1;
        stage.notify_all();
        stage.wait(1);
        EXPECT_FALSE(is_member());
        use_plain_memory_once();
        EXPECT_TRUE(is_member());
    }};
    stage.wait(0);
    commit_often();
    stage = 2;
    stage.notify_all();
    other.join();
}

TEST(quiescence_set, keeps_threads_inside_a_transaction) {
    std::atomic<int> stage{0};
    std::thread other{[&stage] {
        std::uint64_t word = 0;
        atomically({.mode = mode::irrevocable, .privatization = privatization::waived}, [&](tx& t) {
            store(t, &word, word + 1);
            stage = 1;
            stage.notify_all();
            stage.wait(1);
            EXPECT_TRUE(is_member());
        });
    }};
    stage.wait(0);
    // This block waives privatization, so its commit neither waits for the other thread nor sweeps. The loop below
    // calls sweep() instead.
    std::uint64_t mine = 0;
    atomically({.privatization = privatization::waived}, [&](tx& t) { store(t, &mine, mine); });
    auto& self = descriptor::of(*detail::current_transaction);
    for (int i = 0; i < 4; ++i) sweep(self);
    stage = 2;
    stage.notify_all();
    other.join();
}

/// Throws. The real runtime jumps to the start of the block instead; see itm/restart.cpp.
constexpr auto to_its_begin = [](tx&) { throw detail::unwind{}; };

// An undo may withdraw the block's registration as a user of plain memory, and a sweep then removes the context from
// the set. The next attempt adds the context again.
TEST(quiescence_set, contains_language_blocks_at_every_attempt) {
    static constexpr options ordinary{};
    descriptor& d = descriptor::of(detail::current_or_attach());
    if (!d.algorithm->privatizes_by_waiting) GTEST_SKIP() << "one transaction at a time";
    use_plain_memory();
    detail::frame f;
    f.receive = to_its_begin;
    d.algorithm->open_plainly(d, f, {}, ordinary);
    EXPECT_TRUE(is_member());
    static_cast<tx&>(d).on_abort([&d] {
        use_plain_memory_once();
        descriptor& other = acquire_descriptor();
        sweep(other);
        sweep(other);
        release_descriptor(other);
        EXPECT_FALSE(is_member());
        EXPECT_EQ(d.uses_plain_memory.load(std::memory_order_relaxed), 0U);
    });
    EXPECT_THROW(restart(d), detail::unwind);
    EXPECT_EQ(detail::reopen(d), detail::after_rollback::again);
    EXPECT_TRUE(is_member());
    EXPECT_EQ(d.uses_plain_memory.load(std::memory_order_relaxed), 1U);
    EXPECT_TRUE(d.operations_->commit(d));
    d.uses_plain_memory.store(
        0, std::memory_order_relaxed);  // otherwise the mark stays, and later tests would wait for it
}

// A straggler uses plain memory. A commit may have made that memory private, and waits for the straggler. A reader of
// the commit's writes waits for the commit. Under algorithms that read by value, the straggler can only harm by reading
// unmapped memory.
TEST(quiescence_set, contains_quiescing_commits) {
    if (!descriptor::of(detail::current_or_attach()).algorithm->privatizes_by_waiting)
        GTEST_SKIP() << "one transaction at a time";
    const support::watchdog dog{"readers of a commit that waits"};
    std::uint64_t word = 0;
    var<int> taken{0};
    std::latch inside{1}, told{1}, over{1};
    descriptor* reader = nullptr;
    std::atomic<bool> has_received{false};
    std::thread straggler{[&] {
        atomically([&](tx& t) {
            static_cast<void>(load(t, &word));
            inside.count_down();
            over.wait();
        });
    }};
    inside.wait();
    std::thread privatizer{[&] { atomically([&](tx& t) { taken.set(t, 1); }); }};
    std::thread receiver{[&] {
        reader = &descriptor::of(detail::current_or_attach());
        for (bool is_told = false; !is_told;) {
            atomically([&](tx& t) {
                if (taken.get(t) == 0 || std::exchange(is_told, true)) return;
                told.count_down();
            });
        }
        has_received = true;
    }};
    told.wait();
    while (reader->shows_wait_for.load(std::memory_order_relaxed) == nullptr && !has_received)
        std::this_thread::yield();
    EXPECT_FALSE(has_received);
    over.count_down();
    for (std::thread* t : {&straggler, &privatizer, &receiver}) t->join();
}

}  // namespace
}  // namespace tutti::core
