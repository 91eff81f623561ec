#include "itm/hardware.hpp"

#include <algorithm>
#include <utility>

#include "base/futex.hpp"
#include "base/panic.hpp"
#include "itm/block.hpp"
#include "itm/block_counters.hpp"

namespace tutti::itm {
namespace {

namespace rtm = hardware::instructions;

constexpr unsigned attempts = 4;
/// After this number of attempts that ended because other transactions ran alone, the block runs without hardware.
/// These attempts do not count as `attempts`. Without this limit, a block longer than the intervals between those
/// transactions would never commit.
constexpr unsigned max_serial_waits = 16;
/// A block that runs alone because hardware has failed adds this number to `failure_bucket_`. A block that succeeds in
/// hardware subtracts 1.
constexpr std::uint32_t cost_of_failure = 16;
constexpr std::uint32_t max_failures = 128;
constexpr std::uint32_t min_software_blocks = 8;  // a switch back to hardware costs about as much as these blocks
constexpr std::uint32_t max_software_blocks = 65536;
/// After a hardware phase of at least this many blocks, the next software phase is short again. The limit is not
/// higher, because a missing page ends a phase now and then.
constexpr std::uint32_t min_hardware_phase = 256;

}  // namespace

hardware_context::hardware_context(descriptor& owner) noexcept
    : is_usable_{api::hardware_is_usable(owner)},
      next_blocks_until_hardware_{min_software_blocks},
      token_{api::serial_token()},
      listeners_{api::listeners()},
      hardware_{owner.algorithm_data.hardware} {}

hardware_context::execution_path hardware_context::choose_path(descriptor& d, const void* resume,
                                                               execution_path fallback) noexcept {
    std::uint32_t status = std::exchange(status_, rtm::has_begun);
    if (!may_run(d)) return fallback;
    if (status == rtm::has_begun) {
        core::hardware_record* const habit = hardware_.history.find(key_of(resume));
        const bool skips_hardware = habit != nullptr && !habit->tries_hardware();
        // A block that always runs in software counts towards the return to hardware, but does not itself start the
        // hardware phase.
        if (skips_hardware && habit->why() != hardware_abort::capacity) {
            blocks_until_hardware_ -= blocks_until_hardware_ != 0 ? 1 : 0;
            return leave_phase(fallback);
        }
        if (!wait_for_phase(d)) return fallback;
        failure_bucket_ -= failure_bucket_ != 0 ? 1 : 0;
        if (skips_hardware) return abandon_hardware(fallback);
        ++blocks_in_phase_;
        latest_begin_ = resume;
        status = rtm::xbegin();
    }
    unsigned remaining = attempts;
    unsigned serial_waits = 0;
    for (core::hardware_trial trial; status != rtm::has_begun; status = rtm::xbegin()) {
        const hardware_abort why = rtm::reason_of(status);
        if (trial.ends_after(why))
            return choose_by_record(hardware_.history.note_failure(key_of(resume), why), fallback);
        // A change of the token has probably ended the attempt. Such an end proves nothing about the block.
        if (!is_phase(token_.load(std::memory_order_acquire))) {
            if (!wait_for_phase(d)) return fallback;
            if (++serial_waits == max_serial_waits) return abandon_hardware(fallback);
        } else if (--remaining == 0) {
            return abandon_hardware(fallback);
        }
        for (unsigned turns = attempts - remaining; turns != 0; --turns) base::spin_turn();
    }
    hardware_.history.note_commit(key_of(resume));  // also undone if the attempt is rolled back
    enter();
    return execution_path::hardware;
}

bool hardware_context::wait_for_phase(descriptor& d) noexcept {
    for (;;) {
        const detail::word token = token_.load(std::memory_order_acquire);
        if (is_phase(token)) [[likely]]
            return true;
        if ((token & core::serial_owner_mask) != 0) {
            api::wait_for_serial_owner(d);
            continue;
        }
        if (blocks_until_hardware_ != 0) {
            --blocks_until_hardware_;
            return false;
        }
        if (std::exchange(blocks_in_phase_, 0) >= min_hardware_phase) next_blocks_until_hardware_ = min_software_blocks;
        delay_hardware_phase();
        api::try_stop_the_world(d);
    }
}

void hardware_context::delay_hardware_phase() noexcept {
    blocks_until_hardware_ =
        std::exchange(next_blocks_until_hardware_, std::min(next_blocks_until_hardware_ * 2, max_software_blocks));
}

hardware_context::execution_path hardware_context::choose_by_record(core::hardware_record& habit,
                                                                    execution_path fallback) noexcept {
    switch (habit.why()) {
        case hardware_abort::capacity: return abandon_hardware(fallback);
        case hardware_abort::interrupt: return habit.alternate() ? abandon_hardware(fallback) : leave_phase(fallback);
        default: return leave_phase(fallback);
    }
}

hardware_context::execution_path hardware_context::abandon_hardware(execution_path fallback) noexcept {
    if (fallback == execution_path::alone) return execution_path::alone;
    failure_bucket_ += cost_of_failure;
    return failure_bucket_ < max_failures ? execution_path::alone : leave_phase(fallback);
}

hardware_context::execution_path hardware_context::leave_phase(execution_path fallback) noexcept {
    if (fallback == execution_path::alone) return execution_path::alone;  // running alone does not end the phase
    failure_bucket_ = 0;
    if (is_phase(token_.load(std::memory_order_relaxed))) delay_hardware_phase();
    return fallback;
}

void hardware_context::leave() noexcept {
    rtm::xabort<hardware_abort::software>();
    base::panic("XABORT outside of a hardware transaction");
}

}  // namespace tutti::itm
