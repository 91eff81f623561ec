// Transactions of several groups that another program has prepared, and that are in the way: a program waits for them,
// and brings those to an end whose own program has gone (docs/cluster-replication.md, "Several groups").
//
//   X1  a program that meets one waits a moment: most are finished by then. Then it looks for the decision, and does
//       what is left to be done of it
//   X2  one that has not been decided for `grace` is voided: the program writes so into the record of its decision
//       before it lets anything of it go. If it was committed meanwhile, that record is there already, and the commit
//       stands; if not, its own commit checks that there is none, and fails. So a wrong guess costs the transaction
//       another try, and no more
//
// No clocks are compared: a program measures by its own how long it has seen the same transaction.
//
// Thread safety: every member of settling; a meeting belongs to one call.
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
    /// Forgets the decisions that are still to be forgotten.
    ~settling();
    settling(const settling&) = delete;
    settling& operator=(const settling&) = delete;

    /// X1 and X2: what can be done about one that `where` has prepared.
    void settle(const holder& met, std::size_t where);
    /// No program asks for that decision any more: its record goes with others (forget, of backend.hpp).
    void forget_decision(std::size_t decides, std::string_view id);

    [[nodiscard]] std::chrono::milliseconds patience() const noexcept { return patience_; }
    [[nodiscard]] const surroundings& by() const noexcept { return by_; }

private:
    /// How long this process has known of it.
    [[nodiscard]] std::chrono::milliseconds seen_for(const std::string& id);
    /// False: that part does not answer.
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

/// One call's waiting for those that it meets.
class meeting {
public:
    explicit meeting(settling& by) : by_{by}, left_{by.patience(), by.by()} {}
    /// False: the patience is over.
    [[nodiscard]] bool wait(const holder& met, std::size_t where) {
        by_.settle(met, where);
        return left_.again();
    }

private:
    settling& by_;
    tries left_;
};

}  // namespace tutti::cluster::backend
