// Blocks of the language in hardware transactions.
//
// A hardware attempt runs the block's code without barriers, so neither marks nor versions show what it reads and
// writes. It must not meet a software transaction; other hardware attempts it may meet, because the processor finds
// their conflicts. So the process is in one of two phases (Lev, Moir, Nussbaum: "PhTM: Phased Transactional Memory",
// TRANSACT 2007), and the phase is a bit that the engine has anyway: `still` of the serial token
// (core/tokens/serial_token.hpp), under which no transaction runs and which a begin takes down.
//
//   hardware attempt   XBEGIN; is the token without an owner and `still` up? else XABORT; the block; XEND
//   software begin     as ever: it takes `still` down
//   to go back         take the token, wait until nobody runs, and give it back, with which `still` comes up
//
// Why it is opaque
//   H1  While an attempt runs, `still` is up: it has read the token, so a change of the token ends it. By T4 no
//       software transaction runs meanwhile; whoever slept in retry has been woken before `still` came up, and takes it
//       down when it runs again.
//   H2  The processor promises that what an attempt has read is of one instant, and that its stores take effect in one
//       step: among hardware attempts nothing else is needed, privatization included, since plain code that touches
//       what an attempt has read or written ends it.
//   H3  A software transaction that begins later has a snapshot of a memory that holds every hardware commit whole. No
//       orec has moved, and none needs to: no transaction that could compare it with an older one was running.
//   H4  A biased owner (core/tokens/bias.hpp) runs without looking at the token. There is none in a process whose
//       blocks may run in hardware: `serves` is the same for all contexts and for the life of the process.
//   H5  Memory that a block in hardware frees goes back at once. Only another hardware attempt could still read
//       it, and the commit that freed it has ended that.
//
// Where a block goes that hardware has failed
//   conflicts, capacity   it runs alone, without barriers, in a world that stands still as before, which costs about
//                         what a lock costs. Where that happens often, to software, where blocks run beside each other
//   interrupts            once more to hardware, then to software: it may make a system call, wait for another, or have
//                         touched a page that is not there yet. Every second time it runs alone, because only its code
//                         without barriers has the dynamic linker bind what that calls, which hardware undoes
//   all else              to software: a user action, a cancelled block inside it, …
// and one that cannot run in software runs alone in all cases. A block that fails for another reason than conflicts
// tries hardware more rarely from then on, as blocks of the library do (core/state/hardware_habits.hpp), and goes there
// without a try in between.
// Each way to software begins its phase for all. Its context comes back after a number of blocks that doubles while too
// few run in hardware in between.
//
// A block of a context that is interrupted for more urgent work, inside another transaction or in an undo action, and
// every block of a process that counts, reports, or has a policy that listens, runs in software.
#pragma once

#include <cstdint>

#include "api/language.hpp"
#include "core/tokens/serial_token.hpp"
#include "hardware/instructions.hpp"

namespace tutti::itm {

using core::descriptor;

/// Of one context, and touched by it alone.
class hardware_side {
public:
    explicit hardware_side(descriptor& owner) noexcept;

    enum class way : std::uint8_t {
        hardware,  ///< the attempt runs; `end` commits it
        alone,     ///< to be begun alone
        software
    };
    /// The quick way in: true if an attempt runs. False a second time where the processor ends it; `choose` knows of
    /// that. REQUIRES: d, the owner, begins a block whose uninstrumented code may run, and begin returns to `resume`.
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool begin(descriptor& d, const void* resume) noexcept {
        if (!may_run(d) || runs() || d.running()) return false;
        if (hardware_.habits.find(key_of(resume)) != nullptr) return false;
        if (!is_phase(token_.load(std::memory_order_relaxed))) return false;
        failed_ -= failed_ != 0 ? 1 : 0;
        ++begun_;
        latest_ = resume;
        const std::uint32_t status = hardware::instructions::xbegin();
        if (status == hardware::instructions::has_begun) [[likely]]
            return enter();
        status_ = status;
        return false;
    }
    /// Which way the outermost block goes where `begin` has said no: hardware, or `otherwise`, which is `alone` if
    /// it cannot run in software; `alone` for one of conflicts, too. Returns a second time as `begin` does.
    [[nodiscard]] way choose(descriptor& d, const void* resume, way otherwise) noexcept;

    /// Whether an attempt runs.
    [[nodiscard]] bool runs() const noexcept { return hardware_.runs_in == core::hardware_state::place::hardware; }
    /// REQUIRES: runs(); the same for the two below.
    void begin_nested() noexcept { ++depth_; }
    TUTTI_ALWAYS_INLINE void end() noexcept {
        if (depth_ != 0) [[unlikely]] {
            --depth_;
            return;
        }
        hardware_.runs_in = core::hardware_state::place::software;
        hardware::instructions::xend();
    }
    /// Ends the attempt, because the block needs what software alone does. The block runs there.
    [[noreturn]] static void leave() noexcept;

    /// Returns where the begin of the latest block that tried hardware returns to, or null.
    [[nodiscard]] const void* latest() const noexcept { return latest_; }
    /// Whether blocks run in hardware, so that their context need not look for being the only one.
    [[nodiscard]] bool serves() const noexcept { return serves_; }

private:
    // Of the token only its bits are used here: the token itself is the engine's, in another shared library.
    static bool is_phase(detail::word token) noexcept {
        return (token & (core::serial_owner_mask | core::world_is_still)) == core::world_is_still;
    }
    [[nodiscard]] bool may_run(const descriptor& d) const noexcept {
        return serves_ && d.hooks == nullptr && d.outer == nullptr && !d.compensating &&
               listeners_.load(std::memory_order_relaxed) == 0;
    }
    [[nodiscard]] static core::hardware_habits::key key_of(const void* resume) noexcept {
        return reinterpret_cast<std::uintptr_t>(resume);
    }
    /// The first step of an attempt. H1
    TUTTI_ALWAYS_INLINE bool enter() noexcept {
        if (!is_phase(token_.load(std::memory_order_relaxed))) hardware::instructions::xabort<hardware_abort::busy>();
        hardware_.runs_in = core::hardware_state::place::hardware;
        return true;
    }
    /// Waits while a transaction runs alone. Whether this is the phase of hardware, which d brings about where that is
    /// due.
    [[nodiscard]] bool awaits_phase(descriptor& d) noexcept;
    void put_off() noexcept;
    [[nodiscard]] way go_by(core::hardware_habit& habit, way otherwise) noexcept;
    [[nodiscard]] way give_up(way otherwise) noexcept;
    [[nodiscard]] way leave_phase(way otherwise) noexcept;

    bool serves_;
    std::uint32_t depth_ = 0;   // of blocks inside the one that runs; like the place undone with the attempt
    std::uint32_t failed_ = 0;  // a leaky bucket of blocks that hardware failed
    std::uint32_t until_ = 0;   // so many blocks run in software, until the context brings hardware's phase back
    std::uint32_t next_until_;
    std::uint32_t status_ = hardware::instructions::has_begun;  // of an XBEGIN that `choose` has not seen
    std::uint32_t begun_ = 0;                                   // since the latest phase of software
    const void* latest_ = nullptr;
    const detail::shared<detail::word>& token_;
    const detail::shared<std::uint32_t>& listeners_;
    core::hardware_state& hardware_;
};

}  // namespace tutti::itm
