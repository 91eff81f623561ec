#include "core/lifecycle/interrupt.hpp"

#include "core/conflict/kill.hpp"
#include "core/lifecycle/ends.hpp"
#include "core/lifecycle/open_nesting.hpp"
#include "core/state/critical.hpp"
#include "tutti/interrupt.hpp"

namespace tutti::core {
namespace {

class noted_sleep {
public:
    noted_sleep(descriptor& d, waiter& who) noexcept : d_{d} { note(&who); }
    ~noted_sleep() { note(nullptr); }
    noted_sleep(const noted_sleep&) = delete;
    noted_sleep& operator=(const noted_sleep&) = delete;

private:
    void note(waiter* who) noexcept {
        undisturbed(d_, [&] {
            const base::lock_guard guard{d_.eviction};
            d_.asleep = who;
        });
    }

    descriptor& d_;
};

}  // namespace

void interrupt(descriptor& d) noexcept {
    d.interrupted.store(by_request, std::memory_order_release);  // partner: the acquiring load in attempt_start
    kill(d, d.state.load(std::memory_order_acquire));
    const base::lock_guard guard{d.eviction};
    if (d.asleep != nullptr) d.asleep->wake();
}

// `asleep` goes back to null under the same lock, so the word is stored before the sleeper goes on: attempt_start finds
// it, and what comes after that, forget_interruption among it, is not reached by it.
void interrupt_sleeper(descriptor& d) noexcept {
    const base::lock_guard guard{d.eviction};
    if (d.asleep == nullptr) return;
    d.interrupted.store(by_request, std::memory_order_release);
    d.asleep->wake();
}

void interrupt_for_stack(descriptor& d) noexcept {
    for (descriptor* each = &d; each != nullptr; each = each->outer) {
        each->interrupted.store(short_of_stack, std::memory_order_relaxed);
        if (!each->running() || each->prevails()) continue;
        // As `kill` does it, but that needs no fence here: the caller is the one that commits.
        each->kill_request.store(each->own_sequence, std::memory_order_relaxed);
        each->close_bounds();
    }
}

void forget_interruption(descriptor& outermost) noexcept {
    for (descriptor* d = &outermost; d != nullptr; d = d->inner) d->interrupted.store(0, std::memory_order_relaxed);
}

void throw_interruption(std::uint32_t why) {
    if (why == short_of_stack) throw out_of_stack{};
    throw interrupted{};
}

bool can_end_all(const descriptor& innermost) noexcept {
    for (const descriptor* d = &innermost; d != nullptr; d = d->outer) {
        for (const detail::frame* f = d->frame_; f != nullptr; f = f->parent) {
            if (f->receive != nullptr) return false;
        }
    }
    return true;
}

void end_all(descriptor& innermost) noexcept {
    for (descriptor* d = &innermost; d != nullptr; d = d->outer) {
        if (d->running()) execution_give_up(*d, d->pending != signal::none ? d->cause : abort_cause::exception);
        if (d->outer != nullptr) leave_open_nested(*d->outer);
    }
}

void execution_interrupt(descriptor& d) {
    const std::uint32_t why = d.interrupted.load(std::memory_order_acquire);
    execution_give_up(d, abort_cause::killed);
    throw_interruption(why);
}

void sleep_interruptibly(descriptor& d, waiter& me, std::optional<base::deadline> until) {
    const noted_sleep noted{d, me};
    if (d.interrupted.load(std::memory_order_acquire) == 0) me.sleep(until, waiter::cancellable::yes);
}

}  // namespace tutti::core
