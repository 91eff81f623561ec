// A conflict word stands for a resource outside of memory that one transaction owns at a time, such as a FILE. Two
// transactions that want the resource conflict like two writers of a variable, so the contention manager decides which
// one continues (paper 004, III.D: OS_fpos). But a conflict word holds no data. A transaction that owns words and has
// written no memory therefore commits like a reader: it draws no version, and does not wait for quiescence.
//
// The order of words and memory. An owner keeps a word until its commit is decided. So of two transactions that own the
// same word, the second acquires it after the first has drawn its version, and only then moves its snapshot to now:
//
//   the first:   draws its version; decides; owner = null (release)
//   the second:  owner = itself (acquire); refresh: samples the clock, validates what it has read
//
// So the second either sees what the first wrote, or meets the first at an orec that it still holds. If an earlier read
// of the second is no longer current, the second restarts. After that, no other owner can come between its reads and
// its commit, whose decision validates the reads once more (core/lifecycle/transaction.hpp, decide).
//
// There is no cycle of sleepers. A transaction that owns a word, has written, or has marked what it read never sleeps
// for a word: it kills the owner or restarts (core::resolve_conflict_outside). So a transaction that sleeps for a word
// owns nothing that another one could sleep for. An owner of words may sleep for an orec, whose owner has written and
// so never sleeps. The owner may also sleep for a mark, whose owner sleeps at most for an orec.
#pragma once

#include <span>

#include "core/state/descriptor.hpp"

namespace tutti::libc {

struct owned_stream;

struct alignas(64) conflict_word {
    detail::shared<core::descriptor*> owner{nullptr};
    /// The streams of the word's owner. all_streams.cpp reads them at an exit or after a fork.
    detail::shared<owned_stream*> streams{nullptr};
};

/// Returns the word of `thing`. Several things may share a word; then two transactions may conflict needlessly.
[[nodiscard]] conflict_word& conflict_word_of(const void* thing) noexcept;

/// Returns all conflict words.
[[nodiscard]] std::span<conflict_word> all_conflict_words() noexcept;

/// Makes d the owner of the word. Returns false if d owned it before. May wait. May leave the frame; then d owns the
/// word only if it did before. `owns_more`: d owns another word. After true, the caller has to call refresh_snapshot.
[[nodiscard]] bool acquire_word(core::descriptor& d, conflict_word& w, bool owns_more);

/// Takes the second step of the order above. May leave the frame.
void refresh_snapshot(core::descriptor& d);

/// Releases the word, so that another transaction may acquire it. REQUIRES: the owner's commit is decided, or its
/// effects are undone.
void release(conflict_word& w) noexcept;

}  // namespace tutti::libc
