#include "itm/hardware.hpp"

#include <algorithm>
#include <utility>

#include "base/futex.hpp"
#include "base/panic.hpp"
#include "itm/block.hpp"
#include "itm/journal.hpp"

namespace tutti::itm {
namespace {

namespace rtm = hardware::instructions;

constexpr unsigned attempts = 4;
/// How many attempts may end because other transactions run alone, before the block gives up hardware. These attempts
/// do not count as `attempts`. A block longer than the intervals between those transactions would never commit.
constexpr unsigned most_stood_aside = 16;
/// A block that runs alone because hardware failed it adds to the bucket what this many successful blocks remove.
constexpr std::uint32_t cost_of_failure = 16;
constexpr std::uint32_t bucket = 128;
constexpr std::uint32_t least_in_software = 8;  // returning to hardware costs about as much
constexpr std::uint32_t most_in_software = 65536;
/// After a hardware phase of at least this many blocks, the next software phase is short again. A longer phase is not
/// required, because a missing page ends one now and then.
constexpr std::uint32_t worth_the_way_back = 256;

}  // namespace

hardware_side::hardware_side(descriptor& owner) noexcept
    : serves_{api::hardware_serves(owner)},
      next_until_{least_in_software},
      token_{api::serial_token()},
      listeners_{api::listeners()},
      hardware_{owner.algorithm_data.hardware} {}

hardware_side::way hardware_side::choose(descriptor& d, const void* resume, way otherwise) noexcept {
    std::uint32_t status = std::exchange(status_, rtm::has_begun);
    if (!may_run(d)) return otherwise;
    if (status == rtm::has_begun) {
        core::hardware_record* const habit = hardware_.history.find(key_of(resume));
        const bool rests = habit != nullptr && !habit->tries_hardware();
        // A block that always runs in software counts towards the return to hardware, but does not start the phase
        // itself.
        if (rests && habit->why() != hardware_abort::capacity) {
            until_ -= until_ != 0 ? 1 : 0;
            return leave_phase(otherwise);
        }
        if (!awaits_phase(d)) return otherwise;
        failed_ -= failed_ != 0 ? 1 : 0;
        if (rests) return give_up(otherwise);
        ++begun_;
        latest_ = resume;
        status = rtm::xbegin();
    }
    unsigned left = attempts;
    unsigned stood_aside = 0;
    for (core::hardware_trial trial; status != rtm::has_begun; status = rtm::xbegin()) {
        const hardware_abort why = rtm::reason_of(status);
        if (trial.ends_after(why)) return go_by(hardware_.history.note_failure(key_of(resume), why), otherwise);
        // Probably a change of the token has ended the attempt, and this proves nothing about the block.
        if (!is_phase(token_.load(std::memory_order_acquire))) {
            if (!awaits_phase(d)) return otherwise;
            if (++stood_aside == most_stood_aside) return give_up(otherwise);
        } else if (--left == 0) {
            return give_up(otherwise);
        }
        for (unsigned turns = attempts - left; turns != 0; --turns) base::spin_turn();
    }
    hardware_.history.note_commit(key_of(resume));  // a roll-back of the attempt undoes this, too
    enter();
    return way::hardware;
}

bool hardware_side::awaits_phase(descriptor& d) noexcept {
    for (;;) {
        const detail::word token = token_.load(std::memory_order_acquire);
        if (is_phase(token)) [[likely]]
            return true;
        if ((token & core::serial_owner_mask) != 0) {
            api::stand_aside(d);
            continue;
        }
        if (until_ != 0) {
            --until_;
            return false;
        }
        if (std::exchange(begun_, 0) >= worth_the_way_back) next_until_ = least_in_software;
        put_off();
        api::try_to_still_the_world(d);
    }
}

void hardware_side::put_off() noexcept {
    until_ = std::exchange(next_until_, std::min(next_until_ * 2, most_in_software));
}

hardware_side::way hardware_side::go_by(core::hardware_record& habit, way otherwise) noexcept {
    switch (habit.why()) {
        case hardware_abort::capacity: return give_up(otherwise);
        case hardware_abort::interrupt: return habit.alternate() ? give_up(otherwise) : leave_phase(otherwise);
        default: return leave_phase(otherwise);
    }
}

hardware_side::way hardware_side::give_up(way otherwise) noexcept {
    if (otherwise == way::alone) return way::alone;
    failed_ += cost_of_failure;
    return failed_ < bucket ? way::alone : leave_phase(otherwise);
}

hardware_side::way hardware_side::leave_phase(way otherwise) noexcept {
    if (otherwise == way::alone) return way::alone;  // does not end the phase
    failed_ = 0;
    if (is_phase(token_.load(std::memory_order_relaxed))) put_off();
    return otherwise;
}

void hardware_side::leave() noexcept {
    rtm::xabort<hardware_abort::software>();
    base::panic("XABORT outside of a hardware transaction");
}

}  // namespace tutti::itm
