// Commits that are applied at most once, even if their answers are lost.
//
// Each commit also writes a *commit record*: a record that belongs to one commit at a time, and names its owner's last
// commit. If the answer of a commit is lost (ENG4), its commit record is read. If the commit record does not name the
// commit, a second commit writes the commit record. This write replaces the version that the first commit checks, so
// the first commit can never take effect. Therefore, the result is known as soon as the engine answers again. If the
// engine does not answer within the request timeout, the result is `unknown`.
//
//   EXO1  A commit record is used by one commit at a time. Every commit that uses it checks the version that its owner
//         knows.
//   EXO2  The commit record's sequence grows with each use. A commit record whose last use stayed unknown is never used
//         again.
//   EXO3  If a commit record never aborted a commit, and no use of it stayed unknown, no late commit uses it. Such a
//         commit record is forgotten with its owner. Other commit records stay, because a late commit may check the
//         version that its commit record had, even if that was "never written". Commit records of killed programs stay,
//         too. A new commit record is made only if its owner has no free one in the commit's group (EXO4). So in one
//         group, an owner has at most as many as it had commits pending at the same time. Each commit whose result
//         stayed unknown adds one more (EXO2).
//   EXO4  In an engine of several groups, a commit record is in the last group that its commit touches anyway. If the
//         program's knowledge of the groups is outdated, the commit record may be in another group. XGC3
//         (two_phase_commit.hpp) covers this case.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <mutex>
#include <vector>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

class exactly_once {
public:
    exactly_once(engine& through, std::chrono::milliseconds request_timeout)
        : engine_{through}, request_timeout_{request_timeout} {}
    /// Removes this object's commit records from the engine, as far as EXO3 allows. REQUIRES: no commit runs.
    ~exactly_once();
    exactly_once(const exactly_once&) = delete;
    exactly_once& operator=(const exactly_once&) = delete;

    /// Commits as in ENG3 and ENG4. Adds a commit record to the checks and writes. Throws engine_error if the engine
    /// does not accept the checks and writes.
    [[nodiscard]] engine_status commit(std::vector<check>& checks, std::vector<write>& writes, version& at);

private:
    struct commit_record {
        key of;
        std::uint64_t sequence = 0;
        version at = 0;
        bool has_aborted = false;
    };
    commit_record acquire_record(std::size_t group);
    /// Returns a check that succeeds until another commit writes `m`.
    [[nodiscard]] check unchanged_check(const commit_record& m) const;
    void release_record(commit_record&& m);
    /// Returns the result of the commit with `m.sequence`: good, conflict (the commit will never take effect) or
    /// unknown.
    engine_status query_outcome(commit_record& m, version& at);

    engine& engine_;
    const std::chrono::milliseconds request_timeout_;
    std::mutex guard_;
    std::vector<commit_record> free_;
};

}  // namespace tutti::cluster::backend
