// Commits that are applied once, whatever becomes of their answers.
//
// Each commit writes a *mark* with it: a record that belongs to one commit at a time, and says which one of its owner
// was the last. A commit whose answer is lost (B4) is looked up there. If the mark does not tell of it, a second commit
// voids it: it writes the mark, so that the version which the first one checks is gone, and the first can never come
// true. So the answer is known as soon as the engine answers again; and if it does not within the patience, nobody
// knows: `unknown`.
//
//   M1  a mark is used by one commit at a time, and every commit that uses it checks the version that its owner knows
//   M2  its sequence grows with each use; a mark whose last use has stayed unknown is never used again
//
//   M3  a mark that never voided anything is known to have no late commit, and is forgotten with its owner. Of others,
//       and of programs that are killed, one record stays for each commit that was under way at once: a late commit may
//       check the version that its mark had, and "never written" is one, too
//   M4  in an engine of parts a mark is in one that its commit touches anyway, the last of them, as far as the program
//       knows which that is
//
// Thread safety: every member.
#pragma once

#include <mutex>
#include <vector>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

class exactly_once {
public:
    exactly_once(engine& of, std::chrono::milliseconds patience) : engine_{of}, patience_{patience} {}
    /// Forgets the marks. REQUIRES: no commit runs.
    ~exactly_once();
    exactly_once(const exactly_once&) = delete;
    exactly_once& operator=(const exactly_once&) = delete;

    /// B3 and B4, for checks and writes without a mark; both are extended here. Throws refusal where the
    /// engine does not take them.
    [[nodiscard]] verdict commit(std::vector<check>& checks, std::vector<write>& writes, version& at);

private:
    struct mark {
        key of;
        std::uint64_t sequence = 0;
        version at = 0;
        bool has_voided = false;
    };
    mark take(std::size_t part);
    void give_back(mark&& m);
    /// What became of `m.sequence`: good, conflict (it will never happen) or unknown.
    verdict find_out(mark& m, version& at);

    engine& engine_;
    const std::chrono::milliseconds patience_;
    std::mutex guard_;
    std::vector<mark> free_;
};

}  // namespace tutti::cluster::backend
