#include "preempt/procedures/orec_owners.hpp"

#include "tutti/interrupt.hpp"

namespace procedures {

void own(void* of_orec_owner) noexcept {
    auto& o = *static_cast<orec_owner*>(of_orec_owner);
    tutti::atomically({.mode = o.mode}, [&](tutti::tx& t) {
        o.of->set(t, o.of->get(t) + o.adds);
        o.attempts.fetch_add(1);
        while (!o.ends_at_once && !o.go.load(std::memory_order_relaxed)) asm volatile("");
    });
    o.done.store(true);
}

void consume(void* of_consumer) noexcept {
    auto& c = *static_cast<consumer*>(of_consumer);
    tutti::atomically([&](tutti::tx& t) {
        c.attempts.fetch_add(1);
        const int there = c.of->get(t);
        c.got.store(there != 0);
        if (there != 0) return c.of->set(t, there - 1);
        if (c.timeout.count() == 0) tutti::retry(t);
        tutti::retry_for(t, c.timeout);
    });
    c.done.store(true);
}

void consume_in_undo(void* of_consumer) noexcept {
    auto& c = *static_cast<consumer*>(of_consumer);
    try {
        tutti::atomically([&](tutti::tx& t) {
            t.on_abort([&] { consume(&c); });
            tutti::cancel(t);
        });
    } catch (const tutti::cancelled&) {}
}

void consume_or_count_interruption(void* of_interruptible_consumer) noexcept {
    auto& l = *static_cast<interruptible_consumer*>(of_interruptible_consumer);
    try {
        tutti::atomically([&](tutti::tx& t) {
            const int there = l.of->get(t);
            if (there == 0) tutti::retry(t);
            l.of->set(t, there - 1);
        });
        l.got.store(true);
    } catch (const tutti::interrupted&) {
        l.interrupted.store(true);
        if (l.interruptions != nullptr)
            tutti::atomically([&](tutti::tx& t) { l.interruptions->set(t, l.interruptions->get(t) + 1); });
    }
}

}  // namespace procedures
