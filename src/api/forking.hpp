// Copies of the process in which the data of all transactions are whole: what the server takes snapshots from.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

#include "base/clock.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::api {

/// What is done at an instant at which no transaction runs.
class at_rest {
public:
    /// Called before the copy is made. False: none is made. It opens no transaction and waits for no thread.
    virtual bool prepare() noexcept = 0;

protected:
    at_rest() = default;
    ~at_rest() = default;
};

/// Forks while no transaction of another thread runs. Transactions that can run again are asked to, and none begins
/// meanwhile. Returns what fork returns, with errno; nullopt: one still ran at `until`, another thread ran alone, or
/// `prepare` returned false.
///
/// In the child the calling thread is the only one, and may run transactions. Objects that other threads were about to
/// use outside of transactions are as they were at that instant.
///
/// REQUIRES: the calling thread is in no transaction, and does not share its processor with contexts of a scheduler.
/// @throws std::bad_alloc
[[nodiscard]] TUTTI_EXPORT std::optional<::pid_t> fork_alone(base::deadline until, at_rest& first);

/// Whether the calling thread is in fork_alone, which does what a handler of fork would do.
[[nodiscard]] TUTTI_EXPORT bool forks_alone() noexcept;

}  // namespace tutti::api
