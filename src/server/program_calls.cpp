#include "server/program_calls.hpp"

#include <signal.h>

#include <algorithm>
#include <new>

#include "server/run_clock.hpp"
#include "server/time_limits.hpp"

namespace tutti::server {

class program_calls::one final : public job {
public:
    one(program_calls& of, const invocation& w, std::vector<std::string> arguments, answer_taker t)
        : what{w}, arrived{std::chrono::steady_clock::now()}, then{std::move(t)}, of_{of}, text_{std::move(arguments)} {
        name = what.which->what.name.c_str();
        priority = what.how.priority;
        due = what.due;
    }

    void run() noexcept override {
        clock.begin(std::chrono::steady_clock::now());
        const std::vector<std::string_view> words{text_.begin(), text_.end()};
        std::string answer;
        const ending how = server::run(what, words, answer);
        of_.finish(*this, how, answer);
        delete this;
    }
    void cut_off() noexcept override {
        std::string answer;
        const ending how = server::run_over(what, answer);
        of_.finish(*this, how, answer);
        delete this;
    }

    const invocation what;
    const instant arrived;
    run_clock clock;
    answer_taker then;  // empty once it is answered
    one* previous = nullptr;
    one* next = nullptr;

private:
    program_calls& of_;
    std::vector<std::string> text_;
};

program_calls::program_calls(const settings& how, executor& runs, const std::deque<entry>& known)
    : how_{how}, runs_{runs}, figures_{known.size()} {
    limits_ = std::ranges::any_of(known, [&](const entry& e) {
        const invocation any{.which = &e, .how = {}};
        return time_limit_of(any, how).count() > 0;
    });
}

void program_calls::start() {
    if (limits_) watcher_ = std::thread{[this] { watch(); }};
}

program_calls::~program_calls() { stop(); }

void program_calls::link(one& c) noexcept {
    c.next = first_;
    if (first_ != nullptr) first_->previous = &c;
    first_ = &c;
}

void program_calls::unlink(one& c) noexcept {
    (c.previous == nullptr ? first_ : c.previous->next) = c.next;
    if (c.next != nullptr) c.next->previous = c.previous;
}

void program_calls::call(const invocation& what, std::vector<std::string> arguments, answer_taker then) {
    auto made = std::make_unique<one>(*this, what, std::move(arguments), std::move(then));
    job* const j = made.get();
    bool refused = false;
    {
        const std::scoped_lock lock{mutex_};
        link(*made);  // first: a worker may be faster than this thread
        refused = draining_;
        if (watcher_rests_) changed_.notify_one();
    }
    if (!refused && runs_.submit({&j, 1}) == 1) static_cast<void>(made.release());
    else refuse_it(*made);
}

void program_calls::refuse_it(one& c) {
    ending why = ending::busy;
    {
        const std::scoped_lock lock{mutex_};
        if (draining_) why = ending::shutdown;
    }
    std::string answer;
    reply to{answer, c.what.spoken};
    refuse(why, to);
    finish(c, why, answer);
}

void program_calls::finish(one& c, ending how, const std::string& answer) noexcept {
    answer_taker then;
    {
        const std::scoped_lock lock{mutex_};
        unlink(c);
        figures_.count_call(c.what.which->number, c.priority, how, std::chrono::steady_clock::now() - c.arrived);
        then.swap(c.then);
    }
    if (then) then(answer);
}

void program_calls::begin_drain() noexcept {
    const std::scoped_lock lock{mutex_};
    draining_ = true;
}

void program_calls::stop() noexcept {
    {
        const std::scoped_lock lock{mutex_};
        stopped_ = true;
    }
    changed_.notify_one();
    if (watcher_.joinable()) watcher_.join();
}

void program_calls::watch() noexcept {
    // Signals are for the program's own threads.
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::unique_lock lock{mutex_};
    while (!stopped_) {
        watcher_rests_ = first_ == nullptr;
        if (watcher_rests_) {
            changed_.wait(lock);
            continue;
        }
        changed_.wait_for(lock, run_clock::first_pause);
        const std::vector<late_answer> late = look();
        lock.unlock();
        for (const auto& [then, answer] : late) then(answer);
        lock.lock();
    }
}

std::vector<program_calls::late_answer> program_calls::look() noexcept {
    const instant now = std::chrono::steady_clock::now();
    std::vector<late_answer> late;
    for (one* c = first_; c != nullptr; c = c->next) {
        const auto limit = time_limit_of(c->what, how_);
        if (limit.count() == 0 || !c->clock.is_over(limit, now)) continue;
        runs_.interrupt(*c);
        if (c->clock.interrupts() < 2 || !c->then) continue;
        try {
            std::string answer;
            tell_overdue(c->what, answer);
            late.reserve(late.size() + 1);
            late.emplace_back(std::move(c->then), std::move(answer));
            c->then = {};
        } catch (const std::bad_alloc&) {
            // It is answered when it is interrupted the next time, or ends.
        }
    }
    return late;
}

}  // namespace tutti::server
