// Which contexts belong to the set that commits walk through where plain memory is used. Catches one that only grows:
// each commit would look at every thread that ever used plain memory.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/privatization/quiescence_set.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

std::size_t members() {
    std::size_t count = 0;
    for (const memory::activity* a = quiescence_set.load(std::memory_order_seq_cst); a != nullptr;
         a = a->next_enlisted.load(std::memory_order_acquire)) {
        ++count;
    }
    return count;
}

void use_plain_memory_once() {
    static std::uint64_t word = 0;
    atomically([](tx& t) { store(t, &word, load(t, &word) + 1); });
}

/// Each walks through the whole set; two sweeps take out those that were idle between them.
void commit_often() {
    std::uint64_t mine = 0;
    for (int i = 0; i < 3 * 4096; ++i) atomically([&](tx& t) { store(t, &mine, mine); });
}

bool is_member() { return descriptor::of(*detail::current_transaction).enlisted.load(std::memory_order_relaxed) != 0; }

TEST(quiescence_set, has_who_uses_plain_memory) {
    std::thread{[] {
        use_plain_memory_once();
        EXPECT_TRUE(is_member());
    }}.join();
}

TEST(quiescence_set, forgets_threads_that_have_ended) {
    std::vector<std::thread> crowd;
    std::atomic<unsigned> there{0};
    constexpr unsigned size = 200;
    for (unsigned i = 0; i < size; ++i) {
        crowd.emplace_back([&there] {
            use_plain_memory_once();
            ++there;
            while (there.load() < size) std::this_thread::yield();  // none of them takes over another's descriptor
        });
    }
    for (std::thread& t : crowd) t.join();
    EXPECT_GE(members(), size);
    commit_often();
    EXPECT_EQ(members(), 1U) << "the caller";
}

TEST(quiescence_set, forgets_idle_threads_and_takes_them_back) {
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

TEST(quiescence_set, keeps_who_is_in_the_middle_of_a_transaction) {
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
    // Its commits do not wait for the other, and walk by themselves.
    std::uint64_t mine = 0;
    atomically({.privatization = privatization::waived}, [&](tx& t) { store(t, &mine, mine); });
    auto& self = descriptor::of(*detail::current_transaction);
    for (int i = 0; i < 4; ++i) sweep(self);
    stage = 2;
    stage.notify_all();
    other.join();
}

}  // namespace
}  // namespace tutti::core
