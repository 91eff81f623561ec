// Principals are the parties among which the server divides memory and processor time. A connection belongs to the user
// that it has logged in as. Before the login, and on a server without users, the connection belongs to its client's
// address.
//
// The server divides processor time only for costly commands (commands::is_costly). A principal may use a part of the
// time of an I/O thread for its costly commands. Once the part is used up, the principal's further costly commands wait
// (`next_command_at`). So a user who sends INFO without end delays that user's INFO, and not the calls of other users.
// The server counts time instead of requests, because INFO takes longer with more procedures. The connections of one
// principal take turns: a connection that has not waited has to wait if other connections are waiting (`begin_wait`).
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "server/calls/executor.hpp"

namespace tutti::server {

class account;

class principal {
public:
    /// `weight`: the principal's part of the memory, relative to the weights of other principals.
    principal(std::string name, unsigned weight, bool is_admin)
        : name_{std::move(name)}, weight_{weight}, is_admin_{is_admin} {}

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] unsigned weight() const noexcept { return weight_; }
    /// Returns true if the principal is a user with the rights of an admin.
    [[nodiscard]] bool is_admin() const noexcept { return is_admin_; }

    /// Returns the earliest time at which the server runs a costly command for this principal: `now` or later.
    [[nodiscard]] instant next_command_at(instant now) const noexcept;
    /// Counts a costly command that took the time `took`.
    void charge(instant now, std::chrono::nanoseconds took) noexcept;
    /// Returns true if the principal has used no more than its share so far.
    [[nodiscard]] bool has_no_debt(instant now) const noexcept;

    /// Records that one of the principal's connections waits with a costly command, until end_wait().
    void begin_wait() noexcept { waiting_.fetch_add(1, std::memory_order_relaxed); }
    void end_wait() noexcept { waiting_.fetch_sub(1, std::memory_order_relaxed); }
    /// Returns true if any connection of the principal waits with a costly command.
    [[nodiscard]] bool has_waiting() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }

    /// Adds bytes of the principal's accepted calls (call_budget.hpp). Returns the new total.
    std::size_t add_accepted(std::size_t bytes) noexcept {
        return accepted_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    }
    /// Subtracts bytes, and returns the new total. The principal may be destroyed afterwards, unless a connection
    /// belongs to the principal.
    std::size_t remove_accepted(std::size_t bytes) noexcept {
        return accepted_.fetch_sub(bytes, std::memory_order_release) - bytes;
    }
    /// Returns true if no accepted call is counted. If so, everything that the threads of former calls did with this
    /// object happened before this function returns.
    [[nodiscard]] bool has_no_calls() const noexcept { return accepted_.load(std::memory_order_acquire) == 0; }

    /// The password verifier's turn in which it last checked a login from this address. Guarded by the password
    /// verifier's mutex.
    std::uint64_t latest_check = 0;

    /// Bytes of the principal's accepted calls in one of the two parts. The sum of both parts is what add_accepted()
    /// has counted (call_budget.hpp).
    struct count {
        /// Adds bytes, and returns the new number.
        std::size_t add(std::size_t more) noexcept { return bytes.fetch_add(more, std::memory_order_relaxed) + more; }
        void remove(std::size_t less) noexcept { bytes.fetch_sub(less, std::memory_order_relaxed); }
        std::atomic<std::size_t> bytes{0};
    };
    count regular, urgent;

private:
    const std::string name_;
    const unsigned weight_;
    const bool is_admin_;
    // The time from which the principal has no debt, if it runs no more costly commands. Each costly command adds its
    // charged time divided by the principal's share. account::try_admit uses the same algorithm.
    std::atomic<std::int64_t> even_pace_{INT64_MIN / 2};  // nanoseconds of the steady clock
    std::atomic<unsigned> waiting_{0};
    std::atomic<std::size_t> accepted_{0};  // bytes
};

class principals {
public:
    /// Returns the principal of a user. @throws std::bad_alloc
    [[nodiscard]] std::shared_ptr<principal> of(const account& user);
    /// Returns the principal of an address. @throws std::bad_alloc
    [[nodiscard]] std::shared_ptr<principal> at(const std::string& address, instant now);
    [[nodiscard]] std::size_t size() const;

private:
    mutable std::mutex mutex_;
    std::map<std::string, std::shared_ptr<principal>, std::less<>> users_, addresses_;
    // When `addresses_` has at least this many entries, at() removes unused principals before it adds another. The
    // principal of an address is unused if it has no connection, no accepted call and no debt.
    std::size_t sweep_at_ = 64;
};

}  // namespace tutti::server
