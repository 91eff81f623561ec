// Transactions of contexts that are switched away in the middle: several fibers on one thread, as a server's worker
// runs them, with the wait hook set.
#include <gtest/gtest.h>

#include "core/conflict/kill.hpp"
#include "core/lifecycle/registry.hpp"
#include "core/state/critical.hpp"
#include "interleaving/fiber.hpp"
#include "tutti/tutti.hpp"

namespace tutti::core {
namespace {

using interleaving::fiber;

/// The fiber of the long transaction, and the thread's own fiber.
struct worker {
    fiber main;
    fiber background{256 * 1024};
    descriptor* suspended = nullptr;
    int donations = 0;
};
worker* running = nullptr;

/// The background body calls this to yield the processor in the middle of its transaction.
void yield_to_main() {
    running->suspended = &descriptor::of(*detail::current_transaction);
    suspend(*running->suspended);
    fiber::change(running->background, running->main);
}
void resume_background() {
    if (running->suspended != nullptr) {
        resume(*running->suspended);
        running->suspended = nullptr;
    }
    fiber::change(running->main, running->background);
}

/// Acts as a preemption layer when the foreground waits for a suspended context: runs that context.
void donate(descriptor&, descriptor&, word) noexcept {
    ++running->donations;
    resume_background();
}
constexpr preemption hooks{[](descriptor&) noexcept {}, donate};

class suspension_test : public ::testing::Test {
protected:
    suspension_test() {
        detach();
        running = &worker_;
        make_preemptable(attach(), hooks);
    }
    ~suspension_test() override { detach(); }

    /// Runs `body` in the background until it yields.
    template <class Body>
    void start(Body& body) {
        worker_.background.prepare(
            [](void* b) {
                make_preemptable(attach_background(), hooks);
                (*static_cast<Body*>(b))();
                release_descriptor(descriptor::of(*detail::current_transaction));
                detail::current_transaction = nullptr;
                fiber::leave_for(running->background, running->main);
            },
            &body);
        fiber::change(worker_.main, worker_.background);
    }
    static descriptor& attach_background() {
        descriptor& d = acquire_descriptor();
        detail::current_transaction = &d;
        return d;
    }
    worker worker_;
};

// The tests below need transactions that own orecs while their bodies run. Only these two algorithms have such
// transactions.
bool owns_records() { return algorithm() == "wb-etl" || algorithm() == "wt-etl"; }

TEST_F(suspension_test, runs_a_suspended_owner_that_is_awaited) {
    if (!owns_records()) return;
    var<int> x{0};
    auto body = [&] {
        atomically([&](tx& t) {
            x.set(t, x.get(t) + 1);
            yield_to_main();
        });
    };
    start(body);
    atomically([&](tx& t) { x.set(t, x.get(t) + 10); });
    EXPECT_GE(worker_.donations, 1);
    EXPECT_EQ(x.load(), 11);
}

TEST_F(suspension_test, lets_the_irrevocable_transaction_evict) {
    if (!owns_records()) return;
    var<int> x{0};
    int attempts = 0, seen = -1;
    auto body = [&] {
        atomically([&](tx& t) {
            ++attempts;
            seen = x.get(t);
            x.set(t, seen + 1);
            if (attempts == 1) yield_to_main();
        });
    };
    start(body);
    atomically({.mode = mode::irrevocable}, [&](tx& t) { x.set(t, x.get(t) + 10); });
    EXPECT_EQ(x.load(), 10) << "the transaction did not wait, and the suspended write was undone";
    EXPECT_EQ(worker_.donations, 0);
    resume_background();
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(seen, 10);
    EXPECT_EQ(x.load(), 11);
}

// If a suspended block of the language were evicted, its code would continue with memory that has been rolled back.
TEST_F(suspension_test, protects_a_suspended_language_block) {
    if (!owns_records()) return;
    var<int> x{0};
    int attempts = 0;
    auto body = [&] {
        atomically([&](tx& t) {
            ++attempts;
            descriptor::of(t).slow_commit |= slow_commit_language;
            x.set(t, x.get(t) + 1);
            if (attempts == 1) yield_to_main();
        });
    };
    start(body);
    atomically({.mode = mode::irrevocable}, [&](tx& t) { x.set(t, x.get(t) + 10); });
    EXPECT_GE(worker_.donations, 1);
    EXPECT_EQ(attempts, 2) << "the transaction was asked to abort, and noticed that when it ran again";
    EXPECT_EQ(x.load(), 11);
}

// Between the kill request and its check, the victim may have begun another attempt and been suspended again. The
// request does not concern that attempt.
TEST_F(suspension_test, protects_a_transaction_without_kill_request) {
    if (!owns_records()) return;
    var<int> x{0};
    int attempts = 0;
    auto body = [&] {
        atomically([&](tx& t) {
            ++attempts;
            x.set(t, 1);
            if (attempts == 1) yield_to_main();
        });
    };
    start(body);
    EXPECT_TRUE(evict(*worker_.suspended));
    resume_background();
    EXPECT_EQ(attempts, 1);
    EXPECT_EQ(x.load(), 1);
}

// Catches a roll-back that stores to orecs that it no longer owns.
TEST_F(suspension_test, keeps_evicted_orecs_with_the_new_owner) {
    if (!owns_records()) return;
    var<int> x{0}, y{0};
    int attempts = 0;
    auto body = [&] {
        try {
            atomically([&](tx& t) {
                ++attempts;
                x.set(t, 1);
                y.set(t, 1);
                if (attempts == 1) yield_to_main();
                if (attempts == 2) throw 7;
            });
        } catch (int) {
            // the second attempt gives up
        }
    };
    start(body);
    atomically({.mode = mode::irrevocable}, [&](tx& t) { x.set(t, 5); });
    atomically([&](tx& t) { y.set(t, 6); });
    resume_background();
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(x.load(), 5);
    EXPECT_EQ(y.load(), 6);
}

TEST_F(suspension_test, delays_only_reclamation_for_a_suspended_reader) {
    static int destroyed;
    destroyed = 0;
    struct node {
        ~node() { ++destroyed; }
        int value = 42;
    };
    var<node*> head{new node};
    int seen = 0;
    auto body = [&] {
        atomically([&](tx& t) {
            node* const n = head.get(t);
            yield_to_main();
            if (n != nullptr) seen = n->value;
        });
    };
    start(body);
    if (algorithm() == "serial" || algorithm() == "global-lock") {
        resume_background();  // no transaction can run beside the suspended one
    }
    atomically([&](tx& t) {
        destroy(t, head.get(t));
        head.set(t, nullptr);
    });
    for (int i = 0; i < 2000; ++i) atomically([&](tx& t) { destroy(t, create<int>(t, i)); });
    if (worker_.suspended != nullptr) {
        EXPECT_EQ(destroyed, 0);
        resume_background();
    }
    EXPECT_EQ(seen, 42);
    for (int i = 0; i < 2000; ++i) atomically([&](tx& t) { destroy(t, create<int>(t, i)); });
    EXPECT_EQ(destroyed, 1);
}

}  // namespace
}  // namespace tutti::core
