#include "hardware/aborts.hpp"

namespace tutti::hardware {

void record_abort(core::descriptor& d, hardware_abort why) noexcept {
    core::hardware_state& h = d.algorithm_data.hardware;
    if (h.trial.ends_after(why)) {
        h.tries_left = 0;
        // An abort that other transactions caused proves nothing about the block.
        if (why != hardware_abort::strict) h.history.note_failure(block_of(d), why);
    }
    if ((d.slow_commit & core::slow_commit_counting) != 0) d.counters.count_hardware_abort(d.run.block(), why);
}

}  // namespace tutti::hardware
