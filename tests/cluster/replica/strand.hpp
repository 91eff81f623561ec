// A client of a simulation that runs the code of a program, which waits for answers where it stands: on a stack of its
// own, which it leaves while it waits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "cluster/replica/agenda.hpp"
#include "interleaving/fiber.hpp"

namespace tutti::cluster::replica::testing {

class strand {
public:
    explicit strand(agenda& events) : agenda_{events}, stack_{256u << 10} {}

    /// Runs `body` until it waits for something. REQUIRES: it does not run.
    void start(std::function<void()> body) {
        body_ = std::move(body);
        runs_ = true;
        stack_.prepare(enter, this);
        interleaving::fiber::change(outside_, stack_);
    }
    /// As kill -9 does, but that what is on its stack is destroyed.
    void kill() {
        if (!runs_) return;
        killed_ = true;
        interleaving::fiber::change(outside_, stack_);
        killed_ = false;
    }
    [[nodiscard]] bool runs() const noexcept { return runs_; }
    /// As SIGSTOP, and SIGCONT later: what it is answered meanwhile it finds then.
    void stop_until(instant when) noexcept { stopped_until_ = when; }

    /// What is answered once, later or at once.
    template <class T>
    using promise = std::shared_ptr<std::optional<T>>;

    /// In the body: what `begin` is answered.
    template <class T>
    T await(const std::function<void(std::function<void(T)>)>& begin) {
        return wait_for(ask(begin));
    }
    /// In the body, and it goes on: what `begin` will have been answered. Further answers are dropped.
    template <class T>
    promise<T> ask(const std::function<void(std::function<void(T)>)>& begin) {
        const auto got = std::make_shared<std::optional<T>>();
        begin([this, weak = std::weak_ptr{got}](T value) {
            const auto mine = weak.lock();  // gone: the body waits no more
            if (!mine || *mine) return;
            *mine = std::move(value);
            wake(weak);
        });
        return got;
    }
    /// In the body.
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
        if (agenda_.now() < stopped_until_) {
            agenda_.at(stopped_until_, [this, answered] { wake(answered); });
        } else {
            interleaving::fiber::change(outside_, stack_);
        }
    }
    static void enter(void* of) {
        strand& self = *static_cast<strand*>(of);
        try {
            self.body_();
        } catch (const killed&) {  // its stack is empty
        }
        self.runs_ = false;
        interleaving::fiber::leave_for(self.stack_, self.outside_);
    }

    agenda& agenda_;
    interleaving::fiber outside_, stack_;
    std::function<void()> body_;
    const void* waits_for_ = nullptr;
    bool runs_ = false, killed_ = false;
    instant stopped_until_ = 0;
};

}  // namespace tutti::cluster::replica::testing
