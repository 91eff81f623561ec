// The slow commit: the steps that transaction.hpp leaves to a commit with slow-commit flags.
#pragma once

#include "core/privatization/quiescence.hpp"
#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Lets the participants vote. Returns false if the attempt was rolled back. Rethrows the exception of a participant.
bool run_vote(descriptor& d);

/// Does the same for a transaction whose log has one entry only, of a participant. After a yes, also does what
/// announce_decision does.
bool run_single_vote(descriptor& d);

/// Stores the status committed, and runs at_commit handlers and the participants' commits.
void announce_decision(descriptor& d) noexcept;

/// Finishes the commit, from the moment when its writes are published.
void finish_slow_commit(descriptor& d, privatization_role role);

}  // namespace tutti::core
