// The set of descriptors that quiescence concerns: those whose transactions use plain memory, and those that publish
// while the process uses plain memory. Each commit visits all members. So the size of the set must not grow with the
// number of all threads that ever existed.
//
// A descriptor adds itself to the set and stays a member. A descriptor that walks the set often also sweeps it from
// time to time: it removes the members that have begun nothing since the previous sweep. So the set contains the
// descriptors that were active lately, and the cost of a walk depends only on their number. The set is a list with the
// newest member first. Descriptors are never freed.
//
//   member:   stores what walkers look for (state = running, privatizing_version = …); light_fence; is it in the
//             set? If not, joins, and has to establish the order below once more
//   sweeper:  in_set = 0; heavy_fence; does the member run or announce? Then in_set = 1, else unlinks it
//   walker:   loads the head (seq_cst); follows the links
//
//   QSC1  By base/fence.hpp, the member sees that it is to be unlinked, or the sweeper sees that the member runs or
//       announces. A descriptor that finds itself outside the set acquires the lock, after the sweeper, before it
//       continues.
//   QSC2  A walk passes every descriptor that is a member from the load of the head until the end of the walk. Members
//       are added only at the head, so all members at the time of the load are behind the loaded head. The link of a
//       member leads to an older member, or, if the member was unlinked and joined again, to a later head. The members
//       at the time of the load are behind that later head, too.
//   QSC3  A walk may miss a descriptor that joins after the load of the head, and a descriptor that was unlinked
//       meanwhile. An unlinked descriptor was idle then, and its earlier actions are visible, because the walker
//       acquires the link that the sweeper released. All later actions of both descriptors come after they joined, and
//       so after the load of the head. quiescence.hpp explains why no walker need wait for these actions.
#pragma once

#include "base/fence.hpp"
#include "core/state/descriptor.hpp"

namespace tutti::core {

inline constinit detail::shared<memory::status_record*> quiescence_set{nullptr};

/// Makes d a member. Allocates nothing.
TUTTI_COLD void join_quiescence_set(descriptor& d) noexcept;

/// Returns true if d is a member. d calls this after it has stored the words that walkers check. Partner of the fence:
/// heavy_fence in `sweep`.
[[nodiscard]] TUTTI_ALWAYS_INLINE bool in_quiescence_set(const descriptor& d) noexcept {
    base::light_fence();
    return d.is_in_quiescence_set.load(std::memory_order_relaxed) != 0;
}

/// Removes the members that neither run nor announce. Does nothing while another context holds the lock of the set.
TUTTI_COLD void sweep(descriptor& self) noexcept;

/// Calls f(member) for each member except self.
template <class F>
void for_each_member(descriptor& self, F&& f) {
#if defined(TUTTI_INTERLEAVE)
    constexpr std::uint32_t steps_between_sweeps = 1;
#else
    constexpr std::uint32_t steps_between_sweeps = 4096;  // a sweep costs some microseconds
#endif
    for (memory::status_record* a = quiescence_set.load(std::memory_order_seq_cst); a != nullptr;
         a = a->next_in_quiescence_set.load(std::memory_order_acquire)) {
        ++self.quiescing.steps_walked;
        if (descriptor& member = descriptor::of(*a); &member != &self) f(member);
    }
    if (self.quiescing.steps_walked >= steps_between_sweeps) [[unlikely]] {
        self.quiescing.steps_walked = 0;
        sweep(self);
    }
}

/// Lock and unlock the set, so that no thread changes it during a fork.
void lock_quiescence_set() noexcept;
void unlock_quiescence_set() noexcept;

}  // namespace tutti::core
