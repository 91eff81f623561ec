#include "preempt/procedures/endless_calls.hpp"

#include "tutti/open_nesting.hpp"
#include "tutti/server/no_preemption_guard.hpp"

namespace procedures {
namespace {

endless_call& began(void* of_endless_call) noexcept {
    auto& l = *static_cast<endless_call*>(of_endless_call);
    l.has_started = true;
    return l;
}

void take(endless_call& l, tutti::tx& t) { l.of->set(t, l.of->get(t) + 1); }

}  // namespace

void on_endless_call_terminated(void* of_endless_call) noexcept {
    static_cast<endless_call*>(of_endless_call)->terminations.fetch_add(1);
}

void run_endlessly(void* of_endless_call) noexcept {
    endless_call& l = began(of_endless_call);
    for (;;) l.turns.fetch_add(1, std::memory_order_relaxed);
}

void call_away_repeatedly(void* of_endless_call) noexcept {
    endless_call& l = began(of_endless_call);
    for (;;) l.call_away();
}

void call_away_and_read(void* of_endless_call) noexcept {
    endless_call& l = began(of_endless_call);
    l.call_away();
    tutti::atomically([&](tutti::tx& t) { take(l, t); });
    l.call_back();
    for (;;) asm volatile("");
}

void run_endlessly_owning(void* of_endless_call) noexcept {
    endless_call& l = began(of_endless_call);
    tutti::atomically([&](tutti::tx& outer) {
        take(l, outer);
        tutti::open_nested(
            outer,
            [&](tutti::tx&) {
                l.passed = true;
                for (;;) asm volatile("");
            },
            [](tutti::tx&) {});
    });
}

void swallow_every_exception(void* of_endless_call) noexcept {
    endless_call& l = began(of_endless_call);
    for (;;) {
        try {
            tutti::atomically([&](tutti::tx& t) {
                take(l, t);
                for (;;) static_cast<void>(l.of->get(t));
            });
        } catch (...) {
            l.turns.fetch_add(1, std::memory_order_relaxed);
        }
    }
}

void run_endlessly_unpreempted(void* of_endless_call) noexcept {
    endless_call& l = began(of_endless_call);
    {
        const tutti::server::no_preemption_guard here;
        while (!l.go.load(std::memory_order_relaxed)) l.turns.fetch_add(1, std::memory_order_relaxed);
        l.passed = true;
    }
    for (;;) asm volatile("");
}

}  // namespace procedures
