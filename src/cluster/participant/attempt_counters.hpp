// Counts the results of the attempts in which one context used objects of one node.
//
// The running attempts form a stack, because an undo action of an attempt may run other blocks on the same context.
// These blocks end before the attempt has been rolled back.
//
// Thread safety: as in observe/counter.hpp. The stack belongs to the context.
#pragma once

#include <array>
#include <vector>

#include "observe/counter.hpp"
#include "tutti/cluster/status.hpp"

namespace tutti::cluster {

class attempt_counters {
public:
    void count_begin(bool is_read_only) {
        attempts_.add_one();
        running_.push_back({rollback_reason::other, is_read_only});
    }
    /// Counts the commit of an attempt whose begin was not counted.
    void count_fast_path_commit() noexcept { fast_path_commits_.add_one(); }
    /// Records the reason why the innermost attempt will be rolled back.
    void set_reason(rollback_reason why) noexcept {
        if (!running_.empty()) running_.back().why = why;
    }
    /// Counts a partial roll-back of the innermost attempt.
    void count_partial_rollback() noexcept {
        partial_rollbacks_.add_one();
        set_reason(rollback_reason::other);
    }
    /// Counts the waits of the attempt. `has_reservations`: the attempt has excluded other transactions from the
    /// objects that it has opened.
    void count_waits(unsigned waits, bool has_reservations) noexcept {
        if (waits != 0) conflict_waits_.add(waits);
        if (has_reservations) reserving_attempts_.add_one();
    }
    void count_commit() noexcept {
        commits_.add_one();
        if (!running_.empty()) running_.pop_back();
    }
    void count_rollback() noexcept {
        if (running_.empty()) return;  // the attempt's begin was not recorded, because memory ran out
        const attempt a = running_.back();
        running_.pop_back();
        rolled_back_[static_cast<std::size_t>(a.why)].add_one();
        if (a.is_read_only && is_conflict(a.why)) read_only_aborts_.add_one();
    }

    void add_to(node_status& sum) const noexcept {
        const std::uint64_t fast_path_commits = fast_path_commits_.get();
        sum.attempts += attempts_.get() + fast_path_commits;
        sum.commits += commits_.get() + fast_path_commits;
        sum.partial_rollbacks += partial_rollbacks_.get();
        sum.conflict_waits += conflict_waits_.get();
        sum.reserving_attempts += reserving_attempts_.get();
        sum.read_only_aborts += read_only_aborts_.get();
        for (std::size_t i = 0; i < rollback_reasons; ++i) sum.rolled_back[i] += rolled_back_[i].get();
    }

    /// Returns how many attempts run. Each attempt runs in an undo action of the previous one.
    [[nodiscard]] std::size_t running() const noexcept { return running_.size(); }
    /// Returns why the innermost attempt will be rolled back.
    /// REQUIRES: an attempt runs.
    [[nodiscard]] rollback_reason reason() const noexcept { return running_.back().why; }

    /// Returns true if the attempt starts over because of a conflict over objects. Returns false if it ends, or starts
    /// over for another reason.
    [[nodiscard]] static constexpr bool is_conflict(rollback_reason r) noexcept {
        return r <= rollback_reason::local_validation;
    }

private:
    struct attempt {
        rollback_reason why;
        bool is_read_only;
    };
    std::vector<attempt> running_;
    observe::counter attempts_, commits_, fast_path_commits_, read_only_aborts_, partial_rollbacks_, conflict_waits_,
        reserving_attempts_;
    std::array<observe::counter, rollback_reasons> rolled_back_;
};

}  // namespace tutti::cluster
