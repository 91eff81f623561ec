#include "api/companion.hpp"

#include "core/lifecycle/footing.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/signal.hpp"

namespace tutti::api {

void require_sound(core::descriptor& d) {
    if (!d.healthy()) core::examine(d);
}

void join_attempt(core::descriptor& d, participant& companion) {
    core::need_current_reads(d);
    core::put_off(d, core::deferred::kind::companion, &companion, nullptr);
}

bool reads_stand(core::descriptor& d) {
    // Those of an irrevocable transaction, of one that runs alone, and of one that holds what excludes all commits
    // (norec, from its prepare on) cannot change.
    return d.algorithm->one_at_a_time || d.is_irrevocable() || d.kept.holds_lock || d.algorithm->unchanged(d);
}

bool is_all_of(const core::descriptor& d) noexcept {
    return d.writes.empty() && d.reads() == 0 && core::count_participants(d) == 1;
}

void start_over(core::descriptor& d) { core::attempt_abort(d, abort_cause::validation); }

}  // namespace tutti::api
