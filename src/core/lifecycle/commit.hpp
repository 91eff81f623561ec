// The slow commit: the steps of a commit that has slow-commit flags; transaction.hpp has the quick commit.
#pragma once

#include "core/privatization/quiescence.hpp"
#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Lets the participants vote. Returns false if the attempt was rolled back. Rethrows the exception of a participant.
bool run_vote(descriptor& d);

/// Does the same for a transaction whose log has only one entry, which belongs to a participant. If the participant
/// votes to commit, also does what announce_decision does.
bool run_single_vote(descriptor& d);

/// Stores the status committed, and runs at_commit handlers and the participants' commits.
void announce_decision(descriptor& d) noexcept;

/// Does all steps of the commit that follow the publication of its writes.
void finish_slow_commit(descriptor& d, privatization_role role);

}  // namespace tutti::core
