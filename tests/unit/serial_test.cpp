// The context that runs alone from its start on. No other transaction runs beside this context, whichever way the other
// transaction starts.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/lifecycle/registry.hpp"
#include "core/modes/serial.hpp"
#include "core/ports/algorithm.hpp"
#include "support/effort.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

constexpr options irrevocable{.mode = mode::irrevocable};
constinit detail::site_slot here{.site{nullptr}, .file = "serial_test.cpp", .function = "", .line = 0};

/// Runs `body` alone, as a block of the language without instrumented code does.
template <class F>
void alone(F&& body) {
    descriptor& d = descriptor::of(detail::current_or_attach());
    detail::frame f;
    d.run.where = {&here, {}};
    d.run.how = &irrevocable;
    d.frame_ = &f;
    ASSERT_TRUE(begin_alone(d));
    EXPECT_TRUE(d.must_commit());
    body();
    EXPECT_TRUE(d.operations_->commit(d));
    EXPECT_FALSE(d.serial);
}

class serial_test : public ::testing::Test {
protected:
    void SetUp() override {
        if (descriptor::of(detail::current_or_attach()).algorithm->one_at_a_time)
            GTEST_SKIP() << "this algorithm runs every transaction alone";
    }
};

void add_one(long& count) {
    atomically([&](tx& t) { store(t, &count, load(t, &count) + 1); });
}

TEST_F(serial_test, leaves_nothing_to_wait_for) {
    long count = 0;
    alone([&] { ++count; });
    alone([&] { ++count; });
    EXPECT_EQ(serial_owner(), nullptr);
    std::thread{[&] { add_one(count); }}.join();
    add_one(count);
    EXPECT_EQ(count, 4);
}

TEST_F(serial_test, makes_begins_fence_only_while_frequent) {
    long count = 0;
    for (int i = 0; i != 4; ++i) alone([&] { ++count; });
    EXPECT_NE(serial_token.load(std::memory_order_relaxed) & world_is_stopped, 0U);
    add_one(count);
    EXPECT_EQ(serial_token.load(std::memory_order_relaxed) & world_is_stopped, 0U);
    for (int i = 0; i != 10'000; ++i) add_one(count);
    EXPECT_EQ(serial_token.load(std::memory_order_relaxed), 0U);
}

/// A thread whose transaction is over, but whose handler runs until release() or the end of the object.
class pending_handler {
public:
    explicit pending_handler(bool commits) {
        thread_ = std::thread{[this, commits] {
            static_cast<void>(try_atomically([&](tx& t) {
                if (commits) t.on_commit([this] { run(); });
                else t.on_abort([this] { run(); });
                if (!commits) cancel(t);
            }));
        }};
        while (!runs_) std::this_thread::yield();
    }
    ~pending_handler() { release(); }
    void release() {
        may_end_ = true;
        if (thread_.joinable()) thread_.join();
    }

private:
    void run() {
        runs_ = true;
        while (!may_end_) std::this_thread::yield();
    }
    std::atomic<bool> runs_{false}, may_end_{false};
    std::thread thread_;
};

bool can_begin_alone() {
    descriptor& d = descriptor::of(detail::current_or_attach());
    detail::frame f;
    d.run.where = {&here, {}};
    d.run.how = &irrevocable;
    d.frame_ = &f;
    if (begin_alone(d)) return d.operations_->commit(d);
    d.frame_ = nullptr;
    return false;
}

// Another block has deferred calls to its handlers. Catches a block without barriers whose calls come before, or
// between, these deferred calls.
TEST_F(serial_test, begins_no_block_alone_beside_handlers) {
    for (const bool commits : {true, false}) {
        pending_handler other{commits};
        EXPECT_FALSE(can_begin_alone());
        descriptor& d = descriptor::of(detail::current_or_attach());
        for (int i = 0; i != 3; ++i) EXPECT_FALSE(begin_as_biased_owner(d));
        try_stop_the_world(d);
        EXPECT_EQ(serial_token.load(std::memory_order_relaxed) & world_is_stopped, 0U);
        other.release();
        EXPECT_TRUE(can_begin_alone());
    }
}

// Catches an owner that stops the world beside handlers: the next block would run alone without a check.
TEST_F(serial_test, does_not_stop_the_world_beside_handlers) {
    long count = 0;
    for (int i = 0; i != 4; ++i) alone([&] { ++count; });  // frequent, so that the end of each stops the world
    pending_handler other{true};
    atomically(irrevocable, [&](tx& t) { become_serial(descriptor::of(t)); });
    EXPECT_EQ(serial_token.load(std::memory_order_relaxed) & world_is_stopped, 0U);
    EXPECT_FALSE(can_begin_alone());
    other.release();
    // An owner with handlers of its own does not stop the world either.
    alone([&] { descriptor::of(detail::current_or_attach()).on_commit([] {}); });
    EXPECT_EQ(serial_token.load(std::memory_order_relaxed) & world_is_stopped, 0U);
    alone([&] { ++count; });
    EXPECT_NE(serial_token.load(std::memory_order_relaxed) & world_is_stopped, 0U);
}

// Catches a biased owner that leaves the world stopped while its handlers run: a taker would not look for them.
TEST_F(serial_test, the_biased_owner_ends_a_stopped_world_before_its_handlers) {
    long count = 0;
    for (int i = 0; i != 4; ++i) alone([&] { ++count; });
    ASSERT_NE(serial_token.load(std::memory_order_relaxed) & world_is_stopped, 0U);
    descriptor& d = descriptor::of(detail::current_or_attach());
    detail::frame f;
    d.run.where = {&here, {}};
    d.run.how = &detail::no_options;
    d.frame_ = &f;
    ASSERT_TRUE(begin_as_biased_owner(d) || begin_as_biased_owner(d));  // the first call may only count the others
    word in_handler = world_is_stopped;
    d.on_commit([&] { in_handler = serial_token.load(std::memory_order_relaxed); });
    EXPECT_TRUE(d.operations_->commit(d));
    EXPECT_EQ(in_handler & world_is_stopped, 0U);
    std::thread{[&] { add_one(count); }}.join();  // ends the bias
    EXPECT_EQ(biased_owner.load(std::memory_order_relaxed), 0U);
}

// If the context ran beside a transaction, updates would be lost. ThreadSanitizer reports such an overlap sooner.
TEST_F(serial_test, runs_beside_no_other_transaction) {
    long count = 0;
    const int updates = static_cast<int>(support::rounds(30'000));
    constexpr int threads = 4;
    std::thread crew[threads];
    for (int me = 0; me != threads; ++me) {
        crew[me] = std::thread{[&, me] {
            for (int i = 0; i != updates; ++i) {
                // In the first half, threads run alone so often that an ending owner leaves all other contexts stopped.
                // Later, they run alone so rarely that transactions stop executing full fences at their start.
                const bool rarely = i > updates / 2;
                if (i % (rarely ? 6'000 : me + 1) == 0) alone([&] { ++count; });
                else if (i % 7 == 0) atomically(irrevocable, [&](tx& t) { store(t, &count, load(t, &count) + 1); });
                else add_one(count);
            }
        }};
    }
    for (std::thread& t : crew) t.join();
    EXPECT_EQ(count, threads * long{updates});
}

TEST_F(serial_test, yields_the_token_to_an_awaited_transaction) {
    long count = 0;
    std::atomic<bool> runs{false};
    std::thread other;
    atomically(irrevocable, [&](tx& t) {
        if (runs.exchange(true)) return;
        other = std::thread{[&] { alone([&] { ++count; }); }};
        while (serial_owner() == nullptr) std::this_thread::yield();  // the other thread waits for this one
        become_serial(descriptor::of(t));
        ++count;
    });
    other.join();
    EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace tutti::core
