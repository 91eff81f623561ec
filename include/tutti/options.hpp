/// @file
/// What may be said about one atomic block.
#pragma once

#include <cstdint>

#include "tutti/policy.hpp"

namespace tutti {

/// How a transaction's reads are protected; each is stricter and dearer than the one before.
enum class mode : std::uint8_t {
    optimistic,   ///< reads are invisible and validated
    visible,      ///< readers mark what they read, and a later writer meets them at once (Maldonado et al., 3.2)
    irrevocable,  ///< cannot be aborted by others: for effects that cannot be undone. One at a time
};

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
    /// Who gives way when this block meets another one; decided by the block that finds the conflict.
    tutti::policy policy = tutti::policy::standard;
    /// Under `policy::priority`: the higher wins.
    int priority = 0;
    tutti::privatization privatization = tutti::privatization::safe;
    /// Only looked at when the block runs inside another one.
    tutti::nesting nesting = tutti::nesting::closed;
};

}  // namespace tutti
