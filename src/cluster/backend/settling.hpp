// Transactions of several groups that another program has prepared, and that are in the way. A program waits for them,
// and ends those whose own program is gone (docs/cluster-replication.md, "Several groups").
//
//   X1  A program that meets such a transaction waits a moment: most are finished by then. Then the program reads the
//       decision, and does the remaining work.
//   X2  A transaction that has not been decided for `grace` is voided. The program writes this into the record of its
//       decision before it releases any part. If the transaction was committed meanwhile, that record exists already,
//       and the commit stands. If not, its own commit checks that there is no record, and fails. So if its program
//       still runs, the transaction only has to try again.
//
// Clocks are never compared: a program measures by its own clock how long it has seen the same transaction.
//
// Thread safety: every member of settling may be called from any thread. A meeting belongs to one call.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cluster/backend/decision.hpp"
#include "cluster/backend/part.hpp"
#include "cluster/backend/tries.hpp"

namespace tutti::cluster::backend {

class settling {
public:
    static constexpr std::chrono::milliseconds look_after{20}, grace{500};

    settling(const parts& all, std::chrono::milliseconds patience, const surroundings& by)
        : parts_{all}, patience_{patience}, by_{by} {}
    /// Forgets the remaining decisions.
    ~settling();
    settling(const settling&) = delete;
    settling& operator=(const settling&) = delete;

    /// Does for a transaction that part `where` has prepared what X1 and X2 allow.
    void settle(const holder& met, std::size_t where);
    /// Forgets a decision that no program asks for any more. The decision's record is removed together with others
    /// (`forget` of backend.hpp).
    void forget_decision(std::size_t decides, std::string_view id);

    [[nodiscard]] std::chrono::milliseconds patience() const noexcept { return patience_; }
    [[nodiscard]] const surroundings& by() const noexcept { return by_; }

private:
    /// Returns how long this process has known the transaction.
    [[nodiscard]] std::chrono::milliseconds seen_for(const std::string& id);
    /// Reads the decision. Returns false if that part does not answer.
    [[nodiscard]] bool look(std::size_t decides, const std::string& id, decision& d) const;
    [[nodiscard]] bool put_void(std::size_t decides, const std::string& id, const decision& was) const;
    [[nodiscard]] bool finish_all(const std::string& id, const std::vector<std::uint64_t>& in) const;
    void done_with(const std::string& id);

    const parts& parts_;
    const std::chrono::milliseconds patience_;
    const surroundings& by_;
    std::mutex guard_;
    std::map<std::string, surroundings::clock::time_point> since_;
    std::map<std::size_t, std::vector<key>> forgettable_;
};

/// The waiting of one call for the transactions that it meets.
class meeting {
public:
    explicit meeting(settling& by) : by_{by}, left_{by.patience(), by.by()} {}
    /// Waits a moment for that transaction. Returns false if the patience is over.
    [[nodiscard]] bool wait(const holder& met, std::size_t where) {
        by_.settle(met, where);
        return left_.again();
    }

private:
    settling& by_;
    tries left_;
};

}  // namespace tutti::cluster::backend
