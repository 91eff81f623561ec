#include "core/waiting.hpp"

#include "base/futex.hpp"
#include "core/critical.hpp"

namespace tutti::core {
namespace {

/// Spins for about a microsecond, then sleeps between the ends of attempts of `other`. Returns when `done` or late.
template <class Done>
void sleep_until(descriptor& other, std::optional<base::deadline> late, Done&& done) noexcept {
    for (int turn = 0; turn < base::spin_turns; ++turn) {
        if (done()) return;
        base::spin_turn();
    }
    for (;;) {
        const std::uint32_t seen = other.sleepers.fetch_or(1, std::memory_order_relaxed) | 1;
        base::heavy_fence();  // partner: light_fence in wake_sleepers. It sees the bit, or we see what it has done.
        if (done() || (late && base::now() >= *late)) return;
        base::futex_wait(other.sleepers.raw(), seen, late);
    }
}

template <class Done>
void wait_until(descriptor& self, descriptor& other, word seen, Done&& done) noexcept {
    if (self.hooks != nullptr && self.hooks->wait != nullptr) {
        while (!done()) self.hooks->wait(self, other, seen);
    } else {
        sleep_until(other, std::nullopt, done);
    }
}

/// Says for whom `self` waits, as long as it lives.
class waiting {
public:
    // seq_cst: of those who are about to close a cycle, the last one to say so sees all the others.
    waiting(descriptor& self, descriptor& other) noexcept : self_{self}, other_{other} {
        self.waits_for.store(&other, std::memory_order_seq_cst);
    }
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;
    ~waiting() { self_.waits_for.store(nullptr, std::memory_order_relaxed); }

    /// Whether `other`, or whom it waits for in turn, waits for self.
    [[nodiscard]] bool in_a_cycle() const noexcept {
        const descriptor* o = &other_;
        // Another cycle may be on the way, until its last member finds it: no path is longer than there are contexts.
        for (std::uint32_t hops = memory::activities(); o != nullptr && hops != 0; --hops) {
            o = o->waits_for.load(std::memory_order_seq_cst);
            if (o == &self_) return true;
        }
        return false;
    }

private:
    descriptor& self_;
    descriptor& other_;
};

/// Follows one execution from attempt to attempt.
class pursuit {
public:
    pursuit(const descriptor& whom, word seen) noexcept : whom_{whom}, attempt_{memory::sequence_of(seen)} {}

    bool over() noexcept {
        for (;;) {
            const word state = whom_.state.load(std::memory_order_acquire);
            const word now = memory::sequence_of(state);
            if (now == attempt_ && memory::is_running(state)) return false;
            // Is there, or was there, an attempt after this one? If that has failed by now as well, the answer is a wrong
            // no, and the wait ends early.
            const bool goes_on = whom_.defeated.load(std::memory_order_relaxed) == now;
            if (now < attempt_) return !goes_on;  // it was about to begin; if it will not, the execution was given up
            if (now > attempt_ || !goes_on) return true;
            ++attempt_;
        }
    }

private:
    const descriptor& whom_;
    word attempt_;
};

}  // namespace

void wait_for(descriptor& self, descriptor& other, word seen) noexcept {
    wait_until(self, other, seen, [&] { return is_over(other, seen); });
}

void wait_for(descriptor& self, descriptor& other, word seen, const record& r, word value) noexcept {
    wait_until(self, other, seen, [&] { return r.load(std::memory_order_acquire) != value || is_over(other, seen); });
}

void wait_in_place(descriptor& self, descriptor& other, word seen, const record* r, word value) noexcept {
    wait_until(self, other, seen, [&] {
        return (r != nullptr && r->load(std::memory_order_acquire) != value) || is_over(other, seen) ||
               self.asked_to_die();
    });
}

void wait_for_commit(descriptor& self, descriptor& other, word seen, bool spinning) noexcept {
    pursuit p{other, seen};
    const waiting w{self, other};
    const auto done = [&] { return p.over() || w.in_a_cycle(); };
    if (spinning && self.hooks == nullptr) {
        while (!done()) base::spin_turn();
    } else {
        wait_until(self, other, seen, done);
    }
}

bool wait_briefly(descriptor& self, descriptor& other, word seen, const record& r, word value) noexcept {
    const auto done = [&] { return r.load(std::memory_order_acquire) != value || is_over(other, seen); };
    constexpr auto longest = std::chrono::milliseconds{1};
    if (self.hooks != nullptr && self.hooks->wait != nullptr) {
        self.hooks->wait(self, other, seen);
        return done();
    }
    const waiting w{self, other};
    sleep_until(other, base::now() + longest, [&] { return done() || w.in_a_cycle() || self.asked_to_die(); });
    return done();
}

}  // namespace tutti::core
