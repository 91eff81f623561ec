/// @file
/// What may be said about one atomic block.
#pragma once

#include <cstdint>

#include "tutti/deadline.hpp"
#include "tutti/mode.hpp"
#include "tutti/policy.hpp"

namespace tutti {

/// Whether plain memory that a commit made private may be touched directly right after it.
enum class privatization : std::uint8_t {
    safe,    ///< yes: the commit waits for the transactions that could still see it
    waived,  ///< no: this block privatizes nothing, or the caller waits in its own way
};

/// What an `atomically` inside another one is.
enum class nesting : std::uint8_t {
    closed,  ///< it can cancel, restart or fail alone, and its parent goes on
    flat,    ///< it is part of its parent: whatever aborts it aborts the parent
};

/// The options of one atomic block, written with designated initialisers:
/// `atomically({.name = "audit", .read_only = true}, body)`.
struct options {
    /// Names the block in statistics. Must outlive the program's use of statistics (a literal does). May be null.
    const char* name = nullptr;
    /// Promises that the block writes nothing; reads are then not even logged. A write is diagnosed.
    bool read_only = false;
    /// The mode the block starts in; `tx::become_visible` and `tx::become_irrevocable` switch later.
    tutti::mode mode = tutti::mode::optimistic;
    /// Who gives way when this block meets another one; decided by the block that finds the conflict. Only looked
    /// at in an outermost block, as is the priority.
    tutti::policy policy = tutti::policy::standard;
    /// Under `policy::priority`: the higher wins.
    int priority = 0;
    tutti::privatization privatization = tutti::privatization::safe;
    /// Only looked at when the block runs inside another one.
    tutti::nesting nesting = tutti::nesting::closed;
    /// By when the block should have committed. Only looked at in an outermost block, as are the members below.
    tutti::deadline deadline{};
    /// The share of executions that should meet the deadline, between 0 and 1 and neither of them: the percentile of
    /// past durations that the block is expected to take. Another value is an error of use in a block with a deadline.
    double qos = 0.99;
    /// What to do when the deadline cannot be met.
    tutti::missed_deadline when_missed = tutti::missed_deadline::run_anyway;
    /// Where to write how it ended, or null. Must outlive the call.
    deadline_outcome* outcome = nullptr;
    /// Null for the defaults. Must outlive the call; a `static constexpr` object does.
    const deadline_tuning* tuning = nullptr;
};

namespace detail {

/// Those of a block that was given none: nothing has to be written at its call.
inline constexpr options no_options{};

}  // namespace detail
}  // namespace tutti
