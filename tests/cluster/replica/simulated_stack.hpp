// A client of a simulation that runs the code of a program on a stack of its own. The code blocks while it waits for an
// answer, and the client then leaves its stack.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "cluster/replica/event_queue.hpp"
#include "interleaving/fiber.hpp"

namespace tutti::cluster::replica::testing {

class simulated_stack {
public:
    explicit simulated_stack(event_queue& events) : events_{events}, stack_{256u << 10} {}

    /// Runs `body` until it waits. REQUIRES: the client is idle.
    void start(std::function<void()> body) {
        body_ = std::move(body);
        runs_ = true;
        stack_.prepare(enter, this);
        interleaving::fiber::change(outside_, stack_);
    }
    /// Kills the client as kill -9 does, but destroys the objects on its stack.
    void kill() {
        if (!runs_) return;
        killed_ = true;
        interleaving::fiber::change(outside_, stack_);
        killed_ = false;
    }
    [[nodiscard]] bool runs() const noexcept { return runs_; }
    /// Acts as SIGSTOP now and SIGCONT at `when`. Answers in between wait for the client.
    void stop_until(instant when) noexcept { stopped_until_ = when; }

    /// A result that arrives later or immediately.
    template <class T>
    using promise = std::shared_ptr<std::optional<T>>;

    /// Runs `begin` and waits for its result. REQUIRES: the caller is the body.
    template <class T>
    T await(const std::function<void(std::function<void(T)>)>& begin) {
        return wait_for(ask(begin));
    }
    /// Runs `begin` and returns without waiting; further results are dropped. REQUIRES: the caller is the body.
    template <class T>
    promise<T> ask(const std::function<void(std::function<void(T)>)>& begin) {
        const auto got = std::make_shared<std::optional<T>>();
        begin([this, weak = std::weak_ptr{got}](T value) {
            const auto mine = weak.lock();  // null if the body no longer waits
            if (!mine || *mine) return;
            *mine = std::move(value);
            wake(weak);
        });
        return got;
    }
    /// Waits for the result. REQUIRES: the caller is the body.
    template <class T>
    T wait_for(const promise<T>& got) {
        if (!*got) {
            waits_for_ = got.get();
            interleaving::fiber::change(stack_, outside_);
            waits_for_ = nullptr;
            if (killed_) throw killed{};
        }
        return std::move(**got);
    }

private:
    struct killed {};
    void wake(const std::weak_ptr<const void>& answered) {
        const auto mine = answered.lock();
        if (!mine || waits_for_ != mine.get()) return;
        if (events_.now() < stopped_until_) {
            events_.at(stopped_until_, [this, answered] { wake(answered); });
        } else {
            interleaving::fiber::change(outside_, stack_);
        }
    }
    static void enter(void* of) {
        simulated_stack& self = *static_cast<simulated_stack*>(of);
        try {
            self.body_();
        } catch (const killed&) {  // its stack is empty
        }
        self.runs_ = false;
        interleaving::fiber::leave_for(self.stack_, self.outside_);
    }

    event_queue& events_;
    interleaving::fiber outside_, stack_;
    std::function<void()> body_;
    const void* waits_for_ = nullptr;
    bool runs_ = false, killed_ = false;
    instant stopped_until_ = 0;
};

}  // namespace tutti::cluster::replica::testing
