// An interruption, or the cancellation of the thread, that does not reach a waiter. The waiter waits for a lock of
// another transaction, the irrevocable token, an orec, its turn, or a change of its reads. The other transaction may
// never release it.
//
// Catches a wait that checks only the awaited event, and a wait that leaves its queue entry or registration behind.
#include <pthread.h>

#include <cstdlib>
#include <optional>
#include <string_view>

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

const std::string_view algorithm_in_force = [] {
    const char* const chosen = std::getenv("TUTTI_ALGORITHM");
    return std::string_view{chosen != nullptr ? chosen : "wb-etl"};
}();
const bool one_at_a_time = algorithm_in_force == "serial" || algorithm_in_force == "global-lock";
const bool locks_at_once = algorithm_in_force == "wb-etl" || algorithm_in_force == "wt-etl";
// Under other algorithms, both transactions continue, and the first one to commit wins.
const bool waits_for_a_writer = locks_at_once || one_at_a_time;

class interruption_test : public testing::Test {
protected:
    support::watchdog guard_{"interruption"};
    var<long> x_{0}, y_{0};

    /// Another thread's transaction stays where `hold(tx&)` has brought it. A thread runs `wait()` and is interrupted
    /// until it has ended. Returns true if it ended by `interrupted`.
    template <class H, class W>
    bool ends(const options& how, H&& hold, W&& wait) {
        std::atomic<int> stage{0};
        std::jthread holder{[&] {
            atomically(how, [&](tx& t) {
                hold(t);
                int not_yet = 0;
                stage.compare_exchange_strong(not_yet, 1);  // the body may run again at the end
                stage.notify_all();
                stage.wait(1);
            });
        }};
        stage.wait(0);
        const bool ended = is_interrupted(wait);
        stage = 2;
        stage.notify_all();
        return ended;
    }

    template <class W>
    bool is_interrupted(W&& wait) {
        std::optional<interruption> handle;
        std::atomic<int> stage{0};
        bool ended = false;
        std::jthread waiter{[&] {
            handle.emplace();
            stage = 1;
            stage.notify_all();
            try {
                wait();
            } catch (const interrupted&) {
                ended = true;
            }
            stage = 2;
            while (stage.load() != 3) std::this_thread::yield();
            handle.reset();
        }};
        stage.wait(0);
        while (stage.load() != 2) {
            handle->raise();
            std::this_thread::yield();
        }
        stage = 3;
        return ended;
    }
};

TEST_F(interruption_test, ends_a_wait_for_an_abstract_lock) {
    const abstract_lock lock{&x_, 1};
    EXPECT_TRUE(ends({}, [&](tx& t) { acquire(t, lock); }, [&] { atomically([&](tx& t) { acquire(t, lock); }); }));
}

TEST_F(interruption_test, ends_a_nested_wait_for_an_abstract_lock) {
    const abstract_lock lock{&x_, 1};
    EXPECT_TRUE(ends(
        {}, [&](tx& t) { acquire(t, lock); },
        [&] { atomically([&](tx& t) { open_nested(t, [&](tx& inner) { acquire(inner, lock); }, [](tx&) {}); }); }));
}

TEST_F(interruption_test, ends_a_wait_for_the_token) {
    EXPECT_TRUE(ends(
        {.mode = mode::irrevocable}, [](tx&) {},
        [&] { atomically({.mode = mode::irrevocable}, [&](tx& t) { y_.set(t, 1); }); }));
    EXPECT_EQ(y_.load(), 0);
}

TEST_F(interruption_test, ends_a_token_wait_inside_a_block) {
    EXPECT_TRUE(ends(
        {.mode = mode::irrevocable}, [](tx&) {},
        [&] {
            atomically([&](tx& t) {
                y_.set(t, 1);
                t.become_irrevocable("a test wants it");
            });
        }));
    EXPECT_EQ(y_.load(), 0);
}

TEST_F(interruption_test, ends_a_wait_for_an_orec) {
    const bool ended =
        ends({}, [&](tx& t) { x_.set(t, 1); }, [&] { atomically([&](tx& t) { y_.set(t, x_.get(t)); }); });
    if (waits_for_a_writer) {
        EXPECT_TRUE(ended);
    }
    EXPECT_EQ(x_.load(), 1);
    EXPECT_EQ(y_.load(), 0);  // the reader ended, or it committed before the writer
}

TEST_F(interruption_test, ends_a_wait_of_an_owner) {
    const bool ended = ends(
        {}, [&](tx& t) { x_.set(t, 1); },
        [&] {
            atomically([&](tx& t) {
                y_.set(t, 1);
                x_.set(t, 2);
            });
        });
    if (waits_for_a_writer) {
        EXPECT_TRUE(ended);
    }
    EXPECT_EQ(y_.load(), ended ? 0 : 1);
}

TEST_F(interruption_test, ends_a_sleep_in_an_alternative) {
    EXPECT_TRUE(is_interrupted([&] {
        atomically([&](tx& t) {
            const auto awaits = [&](tx& i) {
                if (x_.get(i) == 0) retry(i);
            };
            or_else(t, awaits, awaits);
        });
    }));
}

class cancellation_test : public testing::Test {
protected:
    support::watchdog guard_{"cancellation"};
    var<long> awaited_{0}, written_{0};
    std::atomic<int> asleep_soon_{0}, unwound_{0}, compensated_{0};

    struct unwinding {
        std::atomic<int>& count;
        ~unwinding() { ++count; }
    };

    void await(tx& t) {
        written_.set(t, 1);
        t.on_abort([this] { ++compensated_; });
        asleep_soon_ = 1;
        if (awaited_.get(t) == 0) retry(t);
    }

    template <class F>
    void is_reached(F part) {
        const auto entry = [](void* p) -> void* {
            (*static_cast<F*>(p))();
            return nullptr;
        };
        pthread_t id = {};
        ASSERT_EQ(pthread_create(&id, nullptr, entry, &part), 0);
        while (asleep_soon_.load() == 0) std::this_thread::yield();
        pthread_cancel(id);
        void* result = nullptr;
        pthread_join(id, &result);
        EXPECT_EQ(result, PTHREAD_CANCELED);
        EXPECT_EQ(unwound_, 1) << "the frames around the block are left like any others";
        EXPECT_EQ(compensated_, 1);
        EXPECT_EQ(written_.load(), 0);
        // The ended thread no longer waits, and no other thread waits for the ended thread.
        std::jthread consumer{[&] {
            atomically([&](tx& t) {
                if (awaited_.get(t) == 0) retry(t);
                written_.set(t, 2);
            });
        }};
        awaited_.store(1);
        consumer.join();
        EXPECT_EQ(written_.load(), 2);
        atomically({.mode = mode::irrevocable}, [&](tx& t) { written_.set(t, 3); });
    }
};

TEST_F(cancellation_test, ends_a_sleep_in_retry) {
    is_reached([&] {
        const unwinding frame{unwound_};
        atomically([&](tx& t) { await(t); });
    });
}

TEST_F(cancellation_test, ends_a_sleep_of_a_jumping_block) {
    is_reached([&] {
        const unwinding frame{unwound_};
        atomically(no_unwind, [&](tx& t) { await(t); });
    });
}

TEST_F(cancellation_test, ends_a_sleep_of_a_visible_block) {
    is_reached([&] {
        const unwinding frame{unwound_};
        atomically({.mode = mode::visible}, [&](tx& t) { await(t); });
    });
}

TEST_F(cancellation_test, ends_a_sleep_with_a_limit) {
    is_reached([&] {
        const unwinding frame{unwound_};
        atomically([&](tx& t) {
            written_.set(t, 1);
            t.on_abort([this] { ++compensated_; });
            asleep_soon_ = 1;
            retry_for(t, std::chrono::hours{1});
        });
    });
}

}  // namespace
}  // namespace tutti::anomalies
