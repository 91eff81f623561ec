// A conflict word stands for something outside of memory that one transaction owns at a time: a FILE. Transactions that
// want it meet like two writers of a variable, so the contention manager decides which of them goes on (paper 004,
// III.D: OS_fpos). But nothing is written, so one that owns words and has written no memory commits as a reader does:
// it draws no version, and waits for nobody who might still use what it has made private.
//
// One order with memory. An owner keeps a word until its commit is decided, so of two transactions that own the same
// word the second takes it after the first has drawn its version, and only then moves its snapshot to now:
//
//   the first:   draws its version; decides; owner = null (release)
//   the second:  owner = itself (acquire); refresh: samples the clock, validates what it has read
//
// So the second sees what the first wrote, or meets it at an orec that the first still holds; and what it read before
// that is no longer current makes it start over. From there on no other owner comes between what it reads and its
// commit, at whose decision it is validated once more (core/lifecycle/transaction.hpp, decide).
//
// No cycle of sleepers. A transaction that owns a word, has written, or has marked what it read never sleeps for a
// word: it kills the owner or starts over (core::meet_outside). So a sleeper for a word owns nothing that another
// could sleep for. An owner of words may sleep for an orec, whose owner has written and so never sleeps, or for a
// mark, whose owner sleeps at most for an orec.
#pragma once

#include <span>

#include "core/state/descriptor.hpp"

namespace tutti::libc {

struct touch;

struct alignas(64) conflict_word {
    detail::shared<core::descriptor*> owner{nullptr};
    detail::shared<touch*> touches{
        nullptr};  ///< of its owner's streams: all_streams.cpp looks at them at an exit, or after a fork
};

/// One for each thing, or for several: then two transactions conflict that need not.
[[nodiscard]] conflict_word& conflict_word_of(const void* thing) noexcept;

/// All of them.
[[nodiscard]] std::span<conflict_word> all_conflict_words() noexcept;

/// d owns the word. False: it did before. May wait; may leave the frame, and then it does not own it, unless it did
/// before. `owns_more`: it owns another word. After true: refresh_snapshot.
[[nodiscard]] bool take(core::descriptor& d, conflict_word& w, bool owns_more);

/// The second step above. May leave the frame.
void refresh_snapshot(core::descriptor& d);

/// Another may have it. REQUIRES: its owner's decision is made, or what it did is undone.
void give_back(conflict_word& w) noexcept;

}  // namespace tutti::libc
