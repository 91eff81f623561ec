// The slow commit: what the hot path in transaction.hpp leaves to a commit with slow-commit flags.
#pragma once

#include "core/privatization/quiescence.hpp"
#include "core/state/descriptor.hpp"

namespace tutti::core {

/// Asks the participants. False: rolled back; leaves by their exception if one of them throws.
bool put_to_the_vote(descriptor& d);

/// The same of a transaction that has nothing put off but one that votes; where that says yes, what announce_decision
/// does, too.
bool put_to_one_vote(descriptor& d);

/// status = committed; at_commit handlers and the participants' commits.
void announce_decision(descriptor& d) noexcept;

/// The end of the commit, from the moment its writes are published.
void finish_slowly(descriptor& d, privacy owed);

}  // namespace tutti::core
