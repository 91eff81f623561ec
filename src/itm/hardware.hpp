// Runs blocks of the language in hardware transactions.
//
// A hardware attempt runs the block's code without barriers, so neither marks nor versions show its reads and writes.
// Therefore the attempt must not run while a software transaction runs. Other hardware attempts may run at the same
// time, because the processor detects their conflicts. So the process is always in one of two phases (Lev, Moir,
// Nussbaum: "PhTM: Phased Transactional Memory", TRANSACT 2007). The phase is an existing bit of the engine: `stopped`
// of the serial token (core/tokens/serial_token.hpp). While `stopped` is set, no software transaction runs. A software
// transaction clears the bit when it begins.
//
//   hardware attempt   XBEGIN; if the token has an owner or `stopped` is not set: XABORT; runs the block; XEND
//   software begin     clears `stopped`, like every begin in software
//   back to hardware   acquires the token, waits until no transaction runs, releases the token; this sets `stopped`,
//                      unless a context has unfinished handlers
//
// Why hardware attempts are opaque
//   HTM1  While an attempt runs, `stopped` is set, because the attempt has read the token, so a change of the token
//         ends the attempt. By SER4 no software transaction runs meanwhile. A transaction that slept in retry was woken
//         before `stopped` was set, and clears `stopped` when it runs again.
//   HTM2  The processor guarantees that an attempt's reads are of one instant, and that its stores take effect in one
//         step. Hardware attempts need no other guarantee, not even for privatization, because plain code that accesses
//         what an attempt has read or written ends the attempt.
//   HTM3  A software transaction that begins later has a snapshot of memory that contains every hardware commit
//         completely. Hardware commits do not change orecs, and need not, because no transaction was running that could
//         have read the orecs before.
//   HTM4  A biased owner (core/tokens/bias.hpp) runs without reading the token. A process whose blocks may run in
//         hardware has no biased owner: `is_usable` is the same for all contexts and for the life of the process.
//   HTM5  Memory that a block in hardware frees is freed immediately. Only another hardware attempt could still read
//         this memory, and the commit that freed the memory has ended that attempt.
//
// Where a block runs after hardware has failed
//   conflicts, capacity   alone, without barriers, while no other transaction runs; this costs about as much as a lock.
//                         If this happens often: in software, where several blocks run at the same time
//   interrupts            in hardware once more, then in software, because the block may make a system call, wait for
//                         another thread, or have touched a page that is not present yet. Every second time the block
//                         runs alone, because only its code without barriers lets the dynamic linker bind its calls,
//                         and hardware undoes the binding
//   all other reasons     in software: a user action, a cancelled block inside it, …
// A block that cannot run in software runs alone in all these cases. After a failure for another reason than conflicts,
// a block tries hardware more rarely. The same rule applies to blocks of the library (core/state/hardware_history.hpp).
// Each switch to software begins the software phase for all contexts. The context that has switched returns to hardware
// after a number of blocks. This number doubles as long as too few blocks run in hardware between two switches.
//
// Some blocks always run in software: blocks of a context that is interrupted for more urgent work, and blocks inside
// another transaction or in an undo action. All blocks of a process run in software if the process counts, writes a
// report, or has a policy that listens to events.
#pragma once

#include <cstdint>

#include "api/hooks/language.hpp"
#include "core/tokens/serial_token.hpp"
#include "hardware/instructions.hpp"

namespace tutti::itm {

using core::descriptor;

/// The hardware state of one context. Only this context accesses the state.
class hardware_context {
public:
    explicit hardware_context(descriptor& owner) noexcept;

    enum class execution_path : std::uint8_t {
        hardware,  ///< an attempt runs in hardware; `end` commits it
        alone,     ///< the block is to begin alone, without barriers
        software
    };
    /// Tries to begin in hardware without the slower checks. Returns true if an attempt runs. Returns false if no
    /// attempt runs. This may be a second return of the same call, because the processor has ended the attempt;
    /// `choose_path` handles this. REQUIRES: d, the owner, begins a block whose uninstrumented code may run, and begin
    /// returns to `resume`.
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool begin(descriptor& d, const void* resume) noexcept {
        if (!may_run(d) || is_running() || d.running()) return false;
        if (hardware_.history.find(key_of(resume)) != nullptr) return false;
        if (!is_phase(token_.load(std::memory_order_relaxed))) return false;
        failure_bucket_ -= failure_bucket_ != 0 ? 1 : 0;
        ++blocks_in_phase_;
        latest_begin_ = resume;
        const std::uint32_t status = hardware::instructions::xbegin();
        if (status == hardware::instructions::has_begun) [[likely]]
            return enter();
        status_ = status;
        return false;
    }
    /// Chooses where the outermost block runs after `begin` has returned false: in hardware, alone, or by `fallback`. A
    /// block that cannot run in software has the `fallback` `alone`. A block whose attempts end by conflicts runs
    /// alone. Like `begin`, the function may return a second time.
    [[nodiscard]] execution_path choose_path(descriptor& d, const void* resume, execution_path fallback) noexcept;

    /// Returns true if an attempt runs.
    [[nodiscard]] bool is_running() const noexcept {
        return hardware_.runs_in == core::hardware_state::run_mode::hardware;
    }
    /// These three functions require is_running().
    void begin_nested() noexcept { ++depth_; }
    TUTTI_ALWAYS_INLINE void end() noexcept {
        if (depth_ != 0) [[unlikely]] {
            --depth_;
            return;
        }
        hardware_.runs_in = core::hardware_state::run_mode::software;
        hardware::instructions::xend();
    }
    /// Ends the attempt, because the block needs a feature that only software has. The block's next attempt runs in
    /// software.
    [[noreturn]] static void leave() noexcept;

    /// Returns the address to which the begin of the latest block that tried hardware returns. Returns null if no block
    /// has tried.
    [[nodiscard]] const void* latest_begin() const noexcept { return latest_begin_; }
    /// Returns true if blocks may run in hardware. In this case, the context need not check whether it is the only one.
    [[nodiscard]] bool is_usable() const noexcept { return is_usable_; }

private:
    // This function uses only the bits of the token's value, because the token itself belongs to the engine, in another
    // shared library.
    static bool is_phase(detail::word token) noexcept {
        return (token & (core::serial_owner_mask | core::world_is_stopped)) == core::world_is_stopped;
    }
    [[nodiscard]] bool may_run(const descriptor& d) const noexcept {
        return is_usable_ && d.hooks == nullptr && d.outer == nullptr && !d.running_undo &&
               listeners_.load(std::memory_order_relaxed) == 0;
    }
    [[nodiscard]] static core::hardware_history::key key_of(const void* resume) noexcept {
        return reinterpret_cast<std::uintptr_t>(resume);
    }
    /// Takes the first step of an attempt: see HTM1.
    TUTTI_ALWAYS_INLINE bool enter() noexcept {
        if (!is_phase(token_.load(std::memory_order_relaxed))) hardware::instructions::xabort<hardware_abort::busy>();
        hardware_.runs_in = core::hardware_state::run_mode::hardware;
        return true;
    }
    /// Waits while a transaction runs alone. Returns true if the process is in the hardware phase. Starts the hardware
    /// phase if it is time for d to do so.
    [[nodiscard]] bool wait_for_phase(descriptor& d) noexcept;
    void delay_hardware_phase() noexcept;
    [[nodiscard]] execution_path choose_by_record(core::hardware_record& habit, execution_path fallback) noexcept;
    [[nodiscard]] execution_path abandon_hardware(execution_path fallback) noexcept;
    [[nodiscard]] execution_path leave_phase(execution_path fallback) noexcept;

    bool is_usable_;
    std::uint32_t depth_ = 0;           // number of blocks inside the running one; a roll-back also undoes this count
    std::uint32_t failure_bucket_ = 0;  // leaky bucket that counts blocks that failed in hardware
    std::uint32_t blocks_until_hardware_ =
        0;  // blocks that have to run in software before the context restarts the hardware phase
    std::uint32_t next_blocks_until_hardware_;
    std::uint32_t status_ = hardware::instructions::has_begun;  // status of an XBEGIN, until `choose_path` reads it
    std::uint32_t blocks_in_phase_ = 0;                         // blocks since the latest software phase
    const void* latest_begin_ = nullptr;
    const detail::shared<detail::word>& token_;
    const detail::shared<std::uint32_t>& listeners_;
    core::hardware_state& hardware_;
};

}  // namespace tutti::itm
