// Resolves transactions of several groups that another program has prepared, and that block this program. A program
// waits for such transactions, and finishes the transactions whose own program has ended (docs/cluster-replication.md,
// "Several groups").
//
//   XGC1  A program that a prepared transaction blocks waits a moment, because most transactions are finished by
//         then. Then the program reads the decision, and does the remaining work.
//   XGC2  A transaction that has not been decided for `grace` is aborted. The resolving program writes the decision's
//         record before it releases any part. If the transaction was committed meanwhile, that record exists already,
//         and the commit is valid. If not, the transaction's own commit fails, because it checks that there is no
//         record. So if its program still runs, the transaction only has to try again.
//
// Clocks are never compared: a program measures by its own clock how long it has seen the same transaction.
//
// Thread safety: every member of prepared_resolver may be called from any thread. A resolution_wait belongs to one
// call.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cluster/backend/backoff_timer.hpp"
#include "cluster/backend/decision.hpp"
#include "cluster/backend/group_table.hpp"

namespace tutti::cluster::backend {

class prepared_resolver {
public:
    static constexpr std::chrono::milliseconds resolve_after{20}, grace{500};

    prepared_resolver(const group_table& all, std::chrono::milliseconds request_timeout, const runtime_env& env)
        : groups_{all}, request_timeout_{request_timeout}, env_{env} {}
    /// Removes the records of the decisions that were passed to forget_decision and still have records.
    ~prepared_resolver();
    prepared_resolver(const prepared_resolver&) = delete;
    prepared_resolver& operator=(const prepared_resolver&) = delete;

    /// Resolves a transaction that `group` has prepared, as far as XGC1 and XGC2 allow.
    void resolve(const blocking_transaction& transaction, std::size_t group);
    /// Forgets a decision that no program needs any more. The decision's record is removed together with other such
    /// records (`forget` of backend.hpp).
    void forget_decision(std::size_t deciding_group, std::string_view id);

    [[nodiscard]] std::chrono::milliseconds request_timeout() const noexcept { return request_timeout_; }
    [[nodiscard]] const runtime_env& env() const noexcept { return env_; }

private:
    /// Returns for how long this process has known the transaction.
    [[nodiscard]] std::chrono::milliseconds known_for(const std::string& id);
    /// Reads the decision. Returns false if the deciding group does not answer.
    [[nodiscard]] bool read_decision(std::size_t deciding_group, const std::string& id, decision& d) const;
    [[nodiscard]] bool abort_decision(std::size_t deciding_group, const std::string& id, const decision& was) const;
    [[nodiscard]] bool finish_all(const std::string& id, const std::vector<std::uint64_t>& groups) const;
    void forget_transaction(const std::string& id);

    const group_table& groups_;
    const std::chrono::milliseconds request_timeout_;
    const runtime_env& env_;
    std::mutex guard_;
    std::map<std::string, runtime_env::clock::time_point> since_;
    std::map<std::size_t, std::vector<key>> forgettable_;
};

/// One call's wait for the transactions that block the call.
class resolution_wait {
public:
    explicit resolution_wait(prepared_resolver& resolver)
        : resolver_{resolver}, timer_{resolver.request_timeout(), resolver.env()} {}
    /// Waits a moment for the end of `transaction`. Returns false if the request timeout is over.
    [[nodiscard]] bool wait(const blocking_transaction& transaction, std::size_t group) {
        resolver_.resolve(transaction, group);
        return timer_.wait();
    }

private:
    prepared_resolver& resolver_;
    backoff_timer timer_;
};

}  // namespace tutti::cluster::backend
