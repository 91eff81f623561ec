#include "core/waiting/execution_queue.hpp"

#include <utility>

#include "core/waiting/waiting.hpp"

namespace tutti::core {

void enqueue(execution_queue& where, descriptor& self, std::optional<base::deadline> until) noexcept {
    self.run.queued = true;
    // From now on, other contexts must see the execution as one that continues, although it has not begun. They see
    // this if an attempt of the execution has been defeated (has_execution_ended in waiting.cpp). If no attempt was
    // defeated, the current sequence is given to an attempt that never runs and counts as defeated.
    if (!std::exchange(self.run.was_defeated, true)) {
        self.first_defeat.store(self.own_sequence, std::memory_order_relaxed);
        self.last_defeat.store(self.own_sequence, std::memory_order_release);  // partner: has_execution_ended
        ++self.own_sequence;
    }
    // Names are compared for equality only. Two executions of one descriptor have the same name if 2^44 of its
    // transactions are between them, which takes two days at 100 million a second. Then self waits for the wrong
    // execution, but not longer than `until`.
    const auto name = [](const descriptor& d, word first) { return first * memory::max_status_records + d.id; };
    const word mine = name(self, self.first_defeat.load(std::memory_order_relaxed));
    // Release: an execution that finds self here also sees the stores above. Acquire: self sees the same stores of the
    // execution `found`.
    const word found = where.last.exchange(mine, std::memory_order_acq_rel);
    if (found == 0) return;
    descriptor& ahead = descriptor::of(memory::status_record_of(found % memory::max_status_records));
    const word first = ahead.first_defeat.load(std::memory_order_relaxed);
    if (&ahead == &self || name(ahead, first) != found) return;
    wait_for_commit(self, ahead, memory::make_state(first, status::active), false, until);
}

}  // namespace tutti::core
