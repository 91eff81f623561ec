#include "scheduler.hpp"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "hardware/software_htm.hpp"

namespace interleaving {
namespace {

using tutti::base::deadline;

constexpr std::size_t stack_bytes = 512 * 1024;

// Not the real clock: otherwise the duration of an execution would influence its actions.
tutti::base::manual_clock the_clock{deadline{std::chrono::hours{1}}};

void pass_time(deadline until) noexcept {
    if (const deadline now = tutti::base::now(); now < until) the_clock.advance(until - now);
}

enum class phase : std::uint8_t { ready, asleep, returned };

}  // namespace

/// The scheduler's state, in a type of its own so that the hooks can access it.
struct threads_of_execution {
    struct thread {
        std::unique_ptr<fiber> runs_on;
        const std::function<void()>* body = nullptr;
        phase is = phase::returned;
        std::optional<deadline> time_limit;
        bool spun = false;              // true until another thread makes a step after this one has spun
        thread_set ran_since_spin = 0;  // the threads that have run since its last spin
        thread_set goes_before = 0;     // the threads that must make a step before this one may
        const void* sleeps_on = nullptr;
        std::uint32_t asleep_since = 0;  // the point at which the thread fell asleep
    };

    fiber main;
    thread threads[scheduler::max_threads];
    int count = 0;
    int current = -1;
    strategy* how = nullptr;
    execution result;
    scheduler::observer told = nullptr;
    void* told_context = nullptr;

    thread_set in(phase p) const noexcept {
        thread_set set = 0;
        for (int i = 0; i < count; ++i) {
            if (threads[i].is == p) set |= only(i);
        }
        return set;
    }

    /// Returns the threads that may continue: ready, and not held back by fairness unless all of them are.
    thread_set eligible() const noexcept {
        const thread_set ready = in(phase::ready);
        thread_set set = ready;
        for (int i = 0; i < count; ++i) {
            if (threads[i].spun || (threads[i].goes_before & ready) != 0) set &= ~only(i);
        }
        return set != 0 ? set : ready;
    }

    thread_set timeouts() const noexcept {
        thread_set set = 0;
        for (int i = 0; i < count; ++i) {
            if (threads[i].is == phase::asleep && threads[i].time_limit) set |= only(i);
        }
        return set;
    }

    /// Returns the first thread of `set` after the current one, in turn.
    int next_of(thread_set set) const noexcept {
        const thread_set later = set & ~((only(current + 1)) - 1);
        return std::countr_zero(later != 0 ? later : set);
    }

    /// Lets the strategy choose and switches to the chosen thread. Returns when the caller is chosen: immediately,
    /// after other threads have run, or never if the caller has ended.
    void pass_on(bool can_go_on, const void* where) noexcept {
        situation now;
        now.point = ++result.points;
        now.ready = eligible();
        now.timeouts = timeouts();
        if (result.points > scheduler::max_points) stop(ending::runaway);
        if (now.all() == 0) stop(in(phase::asleep) != 0 ? ending::deadlock : ending::complete);
        now.preempting = can_go_on && (now.ready & only(current)) != 0;
        now.usual = now.preempting ? current : next_of(now.ready != 0 ? now.ready : now.timeouts);
        if (now.ready == 0) ++result.forced_timeouts;

        int chosen = now.usual;
        if (std::popcount(now.all()) > 1) {
            chosen = how->choose(now);
            if (chosen != now.usual) result.decisions.push_back({now.point, chosen});
        }
        made_a_step(chosen);
        if (chosen == current) return;
        if (told != nullptr) told(told_context, current, chosen, where);
        fiber& from = current < 0 ? main : *threads[current].runs_on;
        const bool has_returned = current >= 0 && threads[current].is == phase::returned;
        current = chosen;
        if (has_returned) fiber::leave_for(from, *threads[chosen].runs_on);
        fiber::change(from, *threads[chosen].runs_on);
    }

    void made_a_step(int who) noexcept {
        if (threads[who].is == phase::asleep) {  // its time limit has just expired
            threads[who].is = phase::ready;
            pass_time(*threads[who].time_limit);
        }
        for (int i = 0; i < count; ++i) {
            if (i != who) threads[i].spun = false;
            threads[i].ran_since_spin |= only(who);
            threads[i].goes_before &= ~only(who);
        }
    }

    void spin(const void* where) noexcept {
        thread& t = threads[current];
        t.spun = true;
        t.goes_before |= in(phase::ready) & ~t.ran_since_spin & ~only(current);
        t.ran_since_spin = 0;
        pass_on(false, where);
        t.spun = false;
    }

    void sleep(const std::atomic<std::uint32_t>* word, std::uint32_t expected, std::optional<deadline> until,
               const void* where) noexcept {
        pass_on(true, where);
        if (word->load(std::memory_order_seq_cst) != expected) return;
        thread& t = threads[current];
        t.is = phase::asleep;
        t.time_limit = until;
        t.sleeps_on = word;
        t.asleep_since = result.points;
        pass_on(false, where);
    }

    void wake(const void* word, bool all) noexcept {
        thread* longest = nullptr;
        for (int i = 0; i < count; ++i) {
            thread& t = threads[i];
            if (t.is != phase::asleep || t.sleeps_on != word) continue;
            if (all) t.is = phase::ready;
            else if (longest == nullptr || t.asleep_since < longest->asleep_since) longest = &t;
        }
        if (longest != nullptr) longest->is = phase::ready;
    }

    [[noreturn]] void stop(ending end) noexcept {
        result.end = end;
        result.asleep = in(phase::asleep);
        result.unfinished = result.asleep | in(phase::ready);
        fiber& from = *threads[current].runs_on;
        current = -1;
        fiber::leave_for(from, main);
    }

    static void run_thread(void* self) noexcept {
        auto& s = *static_cast<threads_of_execution*>(self);
        (*s.threads[s.current].body)();
        s.threads[s.current].is = phase::returned;
        s.pass_on(false, nullptr);
        std::terminate();
    }
};

namespace {

// The running execution, or null. Global, because the hooks have no other access.
threads_of_execution* active = nullptr;

bool inside() noexcept { return active != nullptr && active->current >= 0; }

}  // namespace

scheduler::scheduler() : state_{std::make_unique<threads_of_execution>()} {}
scheduler::~scheduler() = default;

execution scheduler::run(std::span<const std::function<void()>> bodies, strategy& how) {
    threads_of_execution& s = *state_;
    s.count = static_cast<int>(bodies.size());
    s.current = -1;
    s.how = &how;
    s.result = {};
    for (int i = 0; i < s.count; ++i) {
        auto& t = s.threads[i];
        auto stack = t.runs_on != nullptr ? std::move(t.runs_on) : std::make_unique<fiber>(stack_bytes);
        stack->prepare(&threads_of_execution::run_thread, &s);
        t = {};
        t.runs_on = std::move(stack);
        t.body = &bodies[static_cast<std::size_t>(i)];
        t.is = phase::ready;
    }
    active = &s;
    if (s.count > 0) s.pass_on(false, nullptr);
    active = nullptr;
    return std::move(s.result);
}

int scheduler::running() noexcept { return active != nullptr ? active->current : -1; }
schedule scheduler::decisions() { return active != nullptr ? active->result.decisions : schedule{}; }
tutti::base::manual_clock& scheduler::clock() noexcept { return the_clock; }
std::uint32_t scheduler::point() noexcept { return active != nullptr ? active->result.points : 0; }

void scheduler::observe(observer o, void* context) noexcept {
    state_->told = o;
    state_->told_context = context;
}

}  // namespace interleaving

namespace tutti::detail {

void interleaving_point() noexcept {
    if (hardware::is_within_step()) return;
    if (interleaving::inside()) interleaving::active->pass_on(true, __builtin_return_address(0));
}

void interleaving_spin() noexcept {
    if (interleaving::inside()) interleaving::active->spin(__builtin_return_address(0));
}

void interleaving_block(const std::atomic<std::uint32_t>* on, std::uint32_t expected,
                        std::optional<base::deadline> until) noexcept {
    if (interleaving::inside()) {
        interleaving::active->sleep(on, expected, until, __builtin_return_address(0));
    } else if (until) {
        interleaving::pass_time(*until);
    } else if (on->load(std::memory_order_seq_cst) == expected) {
        std::fputs("interleaving: a wait outside of any execution, which no thread could end\n", stderr);
        std::abort();
    }
}

void interleaving_wake(const std::atomic<std::uint32_t>* on, bool all) noexcept {
    if (!interleaving::inside()) return;
    interleaving::active->pass_on(true, __builtin_return_address(0));
    interleaving::active->wake(on, all);
}

}  // namespace tutti::detail
