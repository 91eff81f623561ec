// Runs the steps of a body that access data, change how the block runs, delay the block, or end it. The other steps of
// a body are in nested_blocks.cpp and hooks.cpp.
#include <new>

#include "actor.hpp"

namespace crossings {

void actor::enter(tx& t, const node& n, const std::vector<node>& body, int call, enclosure as) {
    innermost_ = call;
    trace_.note({.what = happening::enters, .of = n.what, .a = call, .b = static_cast<int>(as), .options = n.options});
    if ((n.options & as_irrevocable) != 0)
        trace_.note({.what = happening::is_strict, .of = n.what, .a = call, .c = t.irrevocable() ? 1 : 0});
    run(t, body);
    trace_.note({.what = happening::asks, .of = n.what, .a = call, .b = static_cast<int>(wish::to_end)});
}

tutti::mode mode_of(unsigned options) {
    if ((options & as_irrevocable) != 0) return tutti::mode::irrevocable;
    return (options & as_visible) != 0 ? tutti::mode::visible : tutti::mode::optimistic;
}

void actor::run(tx& t, const std::vector<node>& body) {
    for (const node& n : body) run(t, n);
}

void actor::run(tx& t, const node& n) {
    switch (group_of(n.what)) {
        case group::block: return run_block(t, n);
        case group::ending: return end(t, n);
        case group::hook: return run_hook(t, n);
        case group::mode: return run_mode(t, n);
        case group::data: break;
    }
    const long result = run_data(t, n);
    if (n.what == step::sum_add) added_[static_cast<std::size_t>(n.first % sums)] += n.second;
    trace_.note({.what = happening::did, .of = n.what, .first = n.first, .second = n.second, .c = result});
}

long actor::run_data(tx& t, const node& n) {
    if ((n.options & (starved | fragile)) == 0) return world_.apply(t, n.what, n.first, n.second);
    // Some steps let their exception leave the body.
    const bool leaves = n.second % 4 == 3;
    try {
        return world_.apply_failing(t, n, leaves ? 1 + static_cast<std::uint64_t>(n.first % 4) : 1000);
    } catch (const std::bad_alloc&) {
    } catch (const copy_failure&) {}
    const long number = planned + 800;
    trace_.note(
        {.what = happening::asks, .of = n.what, .a = innermost_, .b = static_cast<int>(wish::to_throw), .c = number});
    throw failure{number};
}

void actor::spend_time(const node& n) {
    // Every fourth run takes longer than usual: until a deadline is near, if there is one.
    const bool longer = count_of(n)++ % 4 == 3;
    const std::chrono::microseconds usual{5 + n.first % 5 * 5};
    auto until = std::chrono::steady_clock::now() + (longer ? 6 : 1) * usual;
    if (longer && deadline_) until = *deadline_ - 2 * usual;
    while (std::chrono::steady_clock::now() < until) {}
}

void actor::rendezvous(const node& n) {
    // A block may run more often than the blocks of the other threads. The step therefore no longer waits after four
    // runs.
    if (count_of(n)++ < 4) rendezvous_point_.wait();
}

void actor::run_mode(tx& t, const node& n) {
    switch (n.what) {
        case step::lock:
            return tutti::acquire(t, {&world::locks, static_cast<std::uint64_t>(n.first % 2), n.second % 2 == 0});
        case step::visible:
            if (!t.irrevocable()) t.become_visible();
            return;
        case step::irrevocable:
            t.become_irrevocable();
            return trace_.note({.what = happening::strict, .of = n.what, .a = innermost_});
        case step::wait:
            if (!t.irrevocable()) {
                trace_.note(
                    {.what = happening::asks, .of = n.what, .a = innermost_, .b = static_cast<int>(wish::to_retry)});
                tutti::retry_for(t, std::chrono::microseconds{5 + n.first % 4 * 20});
            }
            return;
        case step::spend_time: return spend_time(n);
        case step::rendezvous: return rendezvous(n);
        default: return;
    }
}

void actor::end(tx& t, const node& n) {
    const auto ask = [&](wish w, long what) {
        trace_.note({.what = happening::asks, .of = n.what, .a = innermost_, .b = static_cast<int>(w), .c = what});
    };
    switch (n.what) {
        case step::cancel: ask(wish::to_cancel, 0); tutti::cancel(t);
        case step::fail: {
            const long number = planned + n.first;
            ask(wish::to_throw, number);
            throw failure{number};
        }
        case step::restart:
            if (t.irrevocable() || count_of(n)++ >= 1 + n.first % 3) return;
            ask(wish::to_restart, 0);
            tutti::restart(t);
        case step::retry:
            if (t.irrevocable()) return;
            ask(wish::to_retry, 0);
            tutti::retry(t);
        default: return;
    }
}

}  // namespace crossings
