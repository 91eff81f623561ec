// Coroutines of a simulation. Each contains all actions of a client, and continues when an event resumes it. A task's
// destructor also destroys an unfinished coroutine.
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace tutti::cluster::replica::testing {

/// A coroutine that begins when it is awaited, or by `start`.
template <class T>
class task {
public:
    struct promise_type {
        std::optional<T> value;
        std::coroutine_handle<> then;

        task get_return_object() { return task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        struct hand_over {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
                const std::coroutine_handle<> waits = ended.promise().then;
                return waits ? waits : std::noop_coroutine();
            }
            void await_resume() noexcept {}
        };
        hand_over final_suspend() noexcept { return {}; }
        void return_value(T v) { value = std::move(v); }
        void unhandled_exception() { std::terminate(); }
    };

    task(task&& other) noexcept : self_{std::exchange(other.self_, {})} {}
    task(const task&) = delete;
    task& operator=(const task&) = delete;
    task& operator=(task&&) = delete;
    ~task() {
        if (self_) self_.destroy();
    }

    void start() { self_.resume(); }
    [[nodiscard]] bool done() const noexcept { return self_.done(); }

    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> then) noexcept {
        self_.promise().then = then;
        return self_;
    }
    T await_resume() { return std::move(*self_.promise().value); }

private:
    explicit task(std::coroutine_handle<promise_type> self) : self_{self} {}
    std::coroutine_handle<promise_type> self_;
};

/// A value that one coroutine waits for. The first call of set_value() sets it.
template <class T>
class awaited {
public:
    void set_value(T value) const {
        if (all_->value) return;
        all_->value = std::move(value);
        if (all_->waits) std::exchange(all_->waits, {}).resume();
    }
    bool await_ready() const noexcept { return all_->value.has_value(); }
    void await_suspend(std::coroutine_handle<> who) const noexcept { all_->waits = who; }
    T await_resume() const { return std::move(*all_->value); }

private:
    struct shared {
        std::optional<T> value;
        std::coroutine_handle<> waits;
    };
    std::shared_ptr<shared> all_ = std::make_shared<shared>();
};

}  // namespace tutti::cluster::replica::testing
