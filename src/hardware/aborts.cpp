#include "hardware/aborts.hpp"

namespace tutti::hardware {
namespace {

/// Whether the next attempt of the same block may well end otherwise.
bool may_pass(hardware_abort why) noexcept {
    switch (why) {
        case hardware_abort::conflict:
        case hardware_abort::interrupt:
        case hardware_abort::busy: return true;
        default: return false;
    }
}

}  // namespace

void note_abort(core::descriptor& d, hardware_abort why) noexcept {
    if (!may_pass(why)) d.kept.hardware.tries_left = 0;
    if ((d.slow_commit & core::slow_commit_counting) != 0) d.ledger.count_hardware_abort(d.run.block(), why);
}

}  // namespace tutti::hardware
