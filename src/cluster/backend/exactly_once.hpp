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
//   EXO3  A commit record that never aborted a commit has no late commit, and is forgotten with its owner. Other commit
//         records stay, and so do those of killed programs. Their number is that of the commits that were pending at
//         the same time. A late commit may check the version that its commit record had, even if that was "never
//         written".
//   EXO4  In an engine of several groups, a commit record is in the last group that its commit touches anyway. The
//         program's knowledge of the groups may be outdated.
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
