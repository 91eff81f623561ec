// Forks copies of the process. In a copy, the data of all transactions are consistent, so the server writes its
// snapshots from such copies.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

#include "base/clock.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::api {

/// An action that runs at an instant at which no transaction is running.
class quiescent_action {
public:
    /// Runs before the copy is made. Returns false to prevent the copy. Must not open a transaction or wait for a
    /// thread.
    virtual bool prepare() noexcept = 0;

protected:
    quiescent_action() = default;
    ~quiescent_action() = default;
};

/// Forks at an instant at which no transaction of another thread runs. Until then, requests a restart of all
/// transactions that can run again, and blocks new ones. Returns the result of fork, with errno. Returns nullopt if a
/// transaction still ran at `until`, another thread ran alone, or `prepare` returned false.
///
/// In the child, the calling thread is the only one, and may run transactions. Objects that other threads were using
/// outside of transactions are in the state that they had at the instant of the fork.
///
/// REQUIRES: the calling thread is in no transaction, and does not share its processor with contexts of a scheduler.
/// @throws std::bad_alloc
[[nodiscard]] TUTTI_EXPORT std::optional<::pid_t> fork_alone(base::deadline until, quiescent_action& action);

/// Returns true if the calling thread is in fork_alone. Fork handlers then skip their work, because fork_alone does it.
[[nodiscard]] TUTTI_EXPORT bool is_in_fork_alone() noexcept;

}  // namespace tutti::api
