// Commits that are applied at most once, even if their answers are lost.
//
// Each commit also writes a *mark*: a record that belongs to one commit at a time, and names its owner's last commit.
// If the answer of a commit is lost (B4), its mark is read. If the mark does not name the commit, a second commit voids
// it by writing the mark. The version that the first commit checks is gone then, so the first commit can never take
// effect. The result is therefore known as soon as the engine answers again. If the engine does not answer within the
// patience, the result is `unknown`.
//
//   M1  A mark is used by one commit at a time. Every commit that uses it checks the version that its owner knows.
//   M2  The mark's sequence grows with each use. A mark whose last use stayed unknown is never used again.
//   M3  A mark that never voided a commit has no late commit, and is forgotten with its owner. Other marks stay, and so
//       do those of killed programs: one record for each commit that was pending at once. A late commit may check the
//       version that its mark had, even if that was "never written".
//   M4  In an engine in parts, a mark is in the last part that its commit touches anyway. The program's knowledge of
//       the parts may be outdated.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <mutex>
#include <vector>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

class exactly_once {
public:
    exactly_once(engine& of, std::chrono::milliseconds patience) : engine_{of}, patience_{patience} {}
    /// Forgets the marks.
    /// REQUIRES: no commit runs.
    ~exactly_once();
    exactly_once(const exactly_once&) = delete;
    exactly_once& operator=(const exactly_once&) = delete;

    /// Commits as in B3 and B4. Adds a mark to the checks and writes. Throws refusal if the engine does not accept
    /// them.
    [[nodiscard]] verdict commit(std::vector<check>& checks, std::vector<write>& writes, version& at);

private:
    struct mark {
        key of;
        std::uint64_t sequence = 0;
        version at = 0;
        bool has_voided = false;
    };
    mark take(std::size_t part);
    /// The check that holds until another commit writes `m`.
    [[nodiscard]] check unchanged(const mark& m) const;
    void give_back(mark&& m);
    /// Returns the result of `m.sequence`: good, conflict (it will never happen) or unknown.
    verdict find_out(mark& m, version& at);

    engine& engine_;
    const std::chrono::milliseconds patience_;
    std::mutex guard_;
    std::vector<mark> free_;
};

}  // namespace tutti::cluster::backend
