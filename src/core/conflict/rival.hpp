// Whose transaction was in the way of an attempt, for the reports that tell a user which two blocks meet. Hints that
// nothing is decided by: the other may have gone on to another transaction; of killers, descriptors whose numbers are
// 4096 apart share an entry, and a later one overwrites an earlier one.
#pragma once

#include "core/state/descriptor.hpp"

namespace tutti::core {

void note_kill(const descriptor& victim, const descriptor& killer) noexcept;

/// The descriptor in the way of the attempt of `d` that ended, or is about to end, for `cause`; null: no other's, or
/// not known. REQUIRES: d has not begun another attempt, and is the caller's.
[[nodiscard]] const descriptor* rival_of(const descriptor& d, abort_cause cause) noexcept;

}  // namespace tutti::core
