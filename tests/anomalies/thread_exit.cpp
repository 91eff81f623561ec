// A thread that ends inside a transaction, by pthread_exit or by cancellation, leaves orecs owned, or half of its
// writes behind.
//
// pthread_exit and cancellation end a thread by an unwinding that is not a C++ exception. Catches a runtime that
// swallows this unwinding, or does not notice it. Restarts by jumps must behave the same.
#include <pthread.h>

#include "anomalies/flavour.hpp"

namespace tutti::anomalies {
namespace {

class thread_exit_test : public suite_of_flavours {
protected:
    var<long> v_{1};
    var<std::string> text_{"before"};
    std::uint32_t plain_ = 1;
    std::atomic<int> compensated_{0}, stage_{0};

    void write_everything(tx& t) {
        v_.set(t, 2);
        store(t, &plain_, 2u);
        (void)create<long>(t, 7);
        t.on_abort([this] { ++compensated_; });
    }
    void expect_rolled_back() {
        EXPECT_EQ(v_.load(), 1);
        EXPECT_EQ(text_.load(), "before");
        EXPECT_EQ(plain_, 1u);
        EXPECT_EQ(compensated_, 1);
        // Nothing is still held: neither orecs, nor the token, nor a lock.
        run_threads(2, [&](unsigned) {
            atomically([&](tx& t) { v_.set(t, v_.get(t) + 1); });
            atomically({.mode = mode::irrevocable}, [&](tx& t) { v_.set(t, v_.get(t) + 1); });
        });
        EXPECT_EQ(v_.load(), 5);
    }
    template <class F>
    pthread_t start(F& part) {
        pthread_t id = {};
        const auto entry = [](void* p) -> void* {
            (*static_cast<F*>(p))();
            return nullptr;
        };
        EXPECT_EQ(pthread_create(&id, nullptr, entry, &part), 0);
        return id;
    }
};

TEST_P(thread_exit_test, rolls_back_after_pthread_exit) {
    auto part = [&] {
        run(GetParam(), [&](tx& t) {
            write_everything(t);
            pthread_exit(nullptr);
        });
    };
    pthread_join(start(part), nullptr);
    expect_rolled_back();
}

TEST_P(thread_exit_test, rolls_back_after_pthread_exit_in_nesting) {
    auto part = [&] {
        run(unwinding(), [&](tx& t) {
            write_everything(t);
            atomically([&](tx& c) {
                text_.set(c, "nested");
                v_.set(c, 3);
                pthread_exit(nullptr);
            });
        });
    };
    pthread_join(start(part), nullptr);
    expect_rolled_back();
}

// A handler after the commit cannot stop the thread's end either, and the remaining handlers are released.
TEST_P(thread_exit_test, keeps_a_commit_after_pthread_exit_in_handlers) {
    auto part = [&] {
        run(GetParam(), [&](tx& t) {
            v_.set(t, 2);
            store(t, &plain_, 2u);
            t.on_commit([] { pthread_exit(nullptr); });
            t.on_commit([this, owned = std::make_shared<int>(5)] { compensated_ += *owned; });
        });
        compensated_ += 100;
    };
    pthread_join(start(part), nullptr);
    EXPECT_EQ(v_.load(), 2);
    EXPECT_EQ(plain_, 2u);
    EXPECT_EQ(compensated_, 0);
}

TEST_P(thread_exit_test, rolls_back_after_cancellation) {
    auto part = [&] {
        run(GetParam(), [&](tx& t) {
            write_everything(t);
            stage_ = 1;
            for (;;) pthread_testcancel();
        });
    };
    const pthread_t id = start(part);
    while (stage_.load() != 1) std::this_thread::yield();
    pthread_cancel(id);
    void* result = nullptr;
    pthread_join(id, &result);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    expect_rolled_back();
}

TUTTI_IN_EVERY_FLAVOUR(thread_exit_test);

// A sleeper in `retry` and a thread that ends meanwhile do not affect each other.
TEST(thread_exit_of_others_test, does_not_disturb_a_sleeper) {
    support::watchdog guard{"thread_exit_of_others_test"};
    var<int> awaited{0}, other{0};
    std::jthread sleeper{[&] {
        atomically([&](tx& t) {
            if (awaited.get(t) == 0) retry(t);
        });
    }};
    for (std::size_t i = 0; i < rounds(100); ++i) {
        std::jthread{[&] { atomically([&](tx& t) { other.set(t, other.get(t) + 1); }); }}.join();
    }
    std::jthread{[&] { awaited.store(1); }}.join();
    sleeper.join();
    EXPECT_EQ(other.load(), static_cast<int>(rounds(100)));
}

}  // namespace
}  // namespace tutti::anomalies
