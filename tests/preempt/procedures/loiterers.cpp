#include "preempt/procedures/loiterers.hpp"

#include "tutti/open_nesting.hpp"
#include "tutti/server/undisturbed.hpp"

namespace procedures {
namespace {

loiterer& began(void* of_loiterer) noexcept {
    auto& l = *static_cast<loiterer*>(of_loiterer);
    l.began = true;
    return l;
}

void take(loiterer& l, tutti::tx& t) { l.of->set(t, l.of->get(t) + 1); }

}  // namespace

void end_loiterer(void* of_loiterer) noexcept { static_cast<loiterer*>(of_loiterer)->cut.fetch_add(1); }

void loiter(void* of_loiterer) noexcept {
    loiterer& l = began(of_loiterer);
    for (;;) l.turns.fetch_add(1, std::memory_order_relaxed);
}

void go_away(void* of_loiterer) noexcept {
    loiterer& l = began(of_loiterer);
    for (;;) l.away();
}

void go_away_and_read(void* of_loiterer) noexcept {
    loiterer& l = began(of_loiterer);
    l.away();
    tutti::atomically([&](tutti::tx& t) { take(l, t); });
    l.back();
    for (;;) asm volatile("");
}

void loiter_owning(void* of_loiterer) noexcept {
    loiterer& l = began(of_loiterer);
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

void go_on_whatever_comes(void* of_loiterer) noexcept {
    loiterer& l = began(of_loiterer);
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

void loiter_undisturbed(void* of_loiterer) noexcept {
    loiterer& l = began(of_loiterer);
    {
        const tutti::server::undisturbed here;
        while (!l.go.load(std::memory_order_relaxed)) l.turns.fetch_add(1, std::memory_order_relaxed);
        l.passed = true;
    }
    for (;;) asm volatile("");
}

}  // namespace procedures
