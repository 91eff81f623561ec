// A conflict word represents a resource outside of memory that one transaction owns at a time, such as a FILE. Two
// transactions that need the resource conflict like two writers of a variable, so the contention manager decides which
// one continues (paper 004, III.D: OS_fpos). But a conflict word contains no data. Therefore a transaction that owns
// words and has written no memory commits like a reader: it draws no version, and does not wait for quiescence.
//
// The order of words and memory. An owner keeps a word until its commit is decided. So if two transactions own the same
// word one after the other, the second acquires it after the first has drawn its version. Only then does the second
// move its snapshot to the current time:
//
//   first:   draws its version; decides its commit; owner = null (release)
//   second:  owner = itself (acquire); refresh_snapshot: samples the clock, and validates what it has read
//
// So the second transaction reads what the first has written, or finds an orec that the first still holds. If an
// earlier read of the second is no longer current, the second restarts. After that, no other owner can come between its
// reads and its commit, because the commit's decision validates the reads once more (core/lifecycle/transaction.hpp,
// decide).
//
// Transactions that sleep cannot form a cycle. A transaction that owns a word, has written, or has marked what it read
// never sleeps for a word: it kills the owner or restarts (core::resolve_conflict_outside). So a transaction that
// sleeps for a word owns nothing for which another one could sleep. An owner of words may sleep for an orec, because
// the owner of an orec has written and so never sleeps. An owner of words may also sleep for a mark, because the owner
// of a mark sleeps at most for an orec.
#pragma once

#include <span>

#include "core/state/descriptor.hpp"

namespace tutti::libc {

struct owned_stream;

struct alignas(64) conflict_word {
    detail::shared<core::descriptor*> owner{nullptr};
    /// The streams of the word's owner. all_streams.cpp reads the list at an exit or after a fork.
    detail::shared<owned_stream*> streams{nullptr};
};

/// Returns the word of `thing`. If two things share a word, their transactions may conflict needlessly.
[[nodiscard]] conflict_word& conflict_word_of(const void* thing) noexcept;

/// Returns all conflict words.
[[nodiscard]] std::span<conflict_word> all_conflict_words() noexcept;

/// Makes d the owner of the word. Returns false if d already owned the word. May wait. May leave the frame; then d owns
/// the word only if d owned it before. `owns_more`: d owns another word. If the result is true, the caller must call
/// refresh_snapshot.
[[nodiscard]] bool acquire_word(core::descriptor& d, conflict_word& w, bool owns_more);

/// Moves the snapshot to the current time, which is the second step of the order above. May leave the frame.
void refresh_snapshot(core::descriptor& d);

/// Releases the word, so that another transaction may acquire it. REQUIRES: the owner's commit is decided, or its
/// effects are undone.
void release(conflict_word& w) noexcept;

}  // namespace tutti::libc
