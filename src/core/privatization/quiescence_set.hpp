// The set of descriptors that quiescence concerns: those whose transactions use plain memory, and those that publish
// while the process uses it. A commit walks through it, so its size must not be that of all threads there ever were.
//
// A member enlists itself and stays. A descriptor that walks much sweeps now and then: it takes out the members that
// have begun nothing since the sweep before. So the set has those that have been at work lately, and a walk costs as
// much, however many others have ended or are idle. It is a list: its newest member first, and descriptors are never
// freed.
//
//   member:   what walkers look for (state = running, privatizing = …); light_fence; enlisted? else enlists, and has to
//             take care of the order below once more
//   sweeper:  enlisted = 0; heavy_fence; does it run, does it announce? then enlisted = 1, else unlinks it
//   walker:   loads the head (seq_cst); follows the links
//
//   Q1  By base/fence.hpp the member sees that it is to be unlinked, or the sweeper sees what the member does. Each
//       descriptor that finds itself not enlisted takes the lock, behind the sweeper, before it goes on.
//   Q2  A walk passes all that were members from its load of the head on to its end: only the head gains members, so
//       they lie behind it; the link of a member leads to one that is older or, where it was unlinked, has become a
//       head since, which they lie behind as well.
//   Q3  A walk may miss a descriptor that enlists after the load of the head, and one that was unlinked meanwhile. The
//       latter was idle then, and what it did before is visible: the walker acquires the link that the sweeper
//       released. What either does from then on comes after its enlisting, and so after the load of the head;
//       quiescence.hpp says why no walker need wait for it.
#pragma once

#include "base/fence.hpp"
#include "core/state/descriptor.hpp"

namespace tutti::core {

inline constinit detail::shared<memory::activity*> quiescence_set{nullptr};

/// From here on d is a member. Allocates nothing.
TUTTI_COLD void enlist(descriptor& d) noexcept;

/// What a member asks after it has stored what walkers look for. Partner of the fence: heavy_fence in `sweep`.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool is_enlisted(const descriptor& d) noexcept {
    base::light_fence();
    return d.enlisted.load(std::memory_order_relaxed) != 0;
}

/// Takes out the members that are at nothing. Does nothing while another context holds the lock of the set.
TUTTI_COLD void sweep(descriptor& self) noexcept;

/// Calls f(member) for each but self.
template <class F>
void for_each_member(descriptor& self, F&& f) {
#if defined(TUTTI_INTERLEAVE)
    constexpr std::uint32_t steps_between_sweeps = 1;
#else
    constexpr std::uint32_t steps_between_sweeps = 4096;  // a sweep costs some microseconds
#endif
    for (memory::activity* a = quiescence_set.load(std::memory_order_seq_cst); a != nullptr;
         a = a->next_enlisted.load(std::memory_order_acquire)) {
        ++self.quiescing.steps_walked;
        if (descriptor& member = descriptor::of(*a); &member != &self) f(member);
    }
    if (self.quiescing.steps_walked >= steps_between_sweeps) [[unlikely]] {
        self.quiescing.steps_walked = 0;
        sweep(self);
    }
}

/// Around a fork: no thread is changing the set.
void hold_quiescence_set() noexcept;
void let_go_of_quiescence_set() noexcept;

}  // namespace tutti::core
