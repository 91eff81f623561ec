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
/// A block that runs alone because hardware failed it costs as much of the bucket as so many others win back.
constexpr std::uint32_t cost_of_failure = 16;
constexpr std::uint32_t bucket = 128;
constexpr std::uint32_t least_in_software = 64;
constexpr std::uint32_t most_in_software = 65536;
constexpr std::uint8_t shyest = 6;
constexpr std::uint8_t needs_software = 7;  // in place of a shyness

}  // namespace

hardware_side::hardware_side(descriptor& owner, bool reports) noexcept
    : serves_{api::hardware_serves(owner) && !reports},
      next_until_{least_in_software},
      token_{api::serial_token()},
      listeners_{api::listeners()},
      place_{owner.kept.hardware.runs_in} {}

hardware_side::way hardware_side::choose(descriptor& d, const void* resume) noexcept {
    std::uint32_t status = std::exchange(status_, rtm::has_begun);
    if (!may_run(d)) return way::software;
    std::uint8_t& shyness = shyness_of(resume);
    if (shyness == needs_software) return leave_phase();
    if (status == rtm::has_begun) {
        if (!awaits_phase(d)) return way::software;
        failed_ -= failed_ != 0 ? 1 : 0;
        if ((++begun_ & ((1U << shyness) - 1)) != 0) return give_up();
        status = rtm::xbegin();
    }
    for (unsigned left = attempts; status != rtm::has_begun; status = rtm::xbegin()) {
        switch (rtm::reason_of(status)) {
            case hardware_abort::software: shyness = needs_software; return leave_phase();
            case hardware_abort::capacity: shyness = std::min<std::uint8_t>(shyness + 1, shyest); return give_up();
            case hardware_abort::interrupt:
                // Once more: it may have come by chance, or for a page that is there now.
                if (std::exchange(left, 2) <= 2) return leave_phase();
                break;
            case hardware_abort::conflict:
            case hardware_abort::busy: break;
            default: return leave_phase();
        }
        // A change of the token has ended it more likely than not, which says nothing of the block.
        if (!is_phase(token_.load(std::memory_order_acquire))) {
            if (!awaits_phase(d)) return way::software;
        } else if (--left == 0) {
            return give_up();
        }
        for (unsigned turns = attempts - left; turns != 0; --turns) base::spin_turn();
    }
    if (shyness != 0) --shyness;  // undone with the attempt
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
        // The way back is worth its cost where as many blocks have run in hardware as it is put off by.
        if (std::exchange(begun_, 0) >= next_until_) next_until_ = least_in_software;
        put_off();
        api::try_to_still_the_world(d);
    }
}

void hardware_side::put_off() noexcept {
    until_ = std::exchange(next_until_, std::min(next_until_ * 2, most_in_software));
}

hardware_side::way hardware_side::give_up() noexcept {
    failed_ += cost_of_failure;
    return failed_ < bucket ? way::alone : leave_phase();
}

hardware_side::way hardware_side::leave_phase() noexcept {
    failed_ = 0;
    put_off();
    return way::software;
}

void hardware_side::leave() noexcept {
    rtm::xabort<hardware_abort::software>();
    base::panic("XABORT outside of a hardware transaction");
}

}  // namespace tutti::itm
