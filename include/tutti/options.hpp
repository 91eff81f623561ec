/// @file
/// The options of one atomic block.
#pragma once

#include <cstdint>

#include "tutti/deadline.hpp"
#include "tutti/mode.hpp"
#include "tutti/policy.hpp"

namespace tutti {

/// The rule for direct access to plain memory after a commit has made it private.
enum class privatization : std::uint8_t {
    safe,    ///< direct access is safe: the commit waits for transactions that could still see the memory
    waived,  ///< direct access is not safe: the block privatizes nothing, or the caller has its own way to wait
};

/// The kind of an `atomically` inside another one.
enum class nesting : std::uint8_t {
    closed,  ///< the block can cancel, restart or fail alone, and its parent continues
    flat,    ///< the block is part of its parent: an abort of the block aborts the parent
};

/// The options of one atomic block. Use designated initializers: `atomically({.name = "audit", .read_only = true},
/// body)`.
struct options {
    /// The block's name in statistics. The string must outlive the program's use of statistics, as a literal does. May
    /// be null.
    const char* name = nullptr;
    /// Promises that the block writes nothing, so that the reads of the block need no log. A write is an error of use.
    /// After two restarts by other transactions, the block reads a snapshot, as in mode::snapshot.
    bool read_only = false;
    /// The mode in which the block starts. `tx::become_visible` and `tx::become_irrevocable` switch it later.
    tutti::mode mode = tutti::mode::optimistic;
    /// The policy for conflicts with other blocks. The block that finds the conflict applies its own policy. Only an
    /// outermost block uses its policy and priority.
    tutti::policy policy = tutti::policy::standard;
    /// The priority for `policy::priority`: the higher one wins.
    int priority = 0;
    tutti::privatization privatization = tutti::privatization::safe;
    /// Used only if the block runs inside another block.
    tutti::nesting nesting = tutti::nesting::closed;
    /// The time by which the block should have committed. Only an outermost block uses this member and the following
    /// ones.
    tutti::deadline deadline{};
    /// The share of executions that should meet the deadline, strictly between 0 and 1. The library expects the block
    /// to take this percentile of its past durations. Another value is an error of use in a block with a deadline.
    double qos = 0.99;
    /// The reaction to a deadline that cannot be met.
    tutti::missed_deadline when_missed = tutti::missed_deadline::run_anyway;
    /// The variable to which the outcome is written, or null. The variable must outlive the call.
    deadline_outcome* outcome = nullptr;
    /// Null: the defaults. The object must outlive the call; a `static constexpr` object does.
    const deadline_tuning* tuning = nullptr;
};

namespace detail {

/// The options of a block for which none are given. They are a constant, so that the call need not build an object.
inline constexpr options no_options{};

/// Returns true if the block must not write.
[[nodiscard]] constexpr bool only_reads(const options& how) noexcept {
    return how.read_only || how.mode == mode::snapshot;
}

/// Returns true if the options set no mode, policy, priority or deadline. An outermost block then begins without
/// preparation. The compiler evaluates this function if the options are constants.
[[nodiscard]] constexpr bool is_ordinary(const options& how) noexcept {
    return how.mode == mode::optimistic && how.policy == policy::standard && how.priority == 0 &&
           !how.deadline.exists();
}

}  // namespace detail
}  // namespace tutti
