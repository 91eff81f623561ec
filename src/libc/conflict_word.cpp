#include "libc/conflict_word.hpp"

#include <sched.h>

#include "api/hooks/language.hpp"
#include "base/futex.hpp"
#include "core/ports/algorithm.hpp"

namespace tutti::libc {
namespace {

constexpr unsigned words_log2 = 9;
constinit conflict_word words[1U << words_log2];

/// Spins for a limited time. Returns true if the owner has changed.
bool spin_while_owned(const conflict_word& w, const core::descriptor* by) noexcept {
    for (int turn = 0; turn < base::spin_turns; ++turn) {
        if (w.owner.load(std::memory_order_relaxed) != by) return true;
        base::spin_turn();
    }
    return false;
}

}  // namespace

conflict_word& conflict_word_of(const void* thing) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(thing);
    return words[((address >> 4) * 0x9e3779b97f4a7c15U) >> (64 - words_log2)];
}

std::span<conflict_word> all_conflict_words() noexcept { return words; }

bool acquire_word(core::descriptor& d, conflict_word& w, bool owns_more) {
    for (;;) {
        core::descriptor* seen = w.owner.load(std::memory_order_relaxed);
        if (seen == &d) return false;
        if (seen == nullptr) {
            // Partner: the release in release().
            if (w.owner.compare_exchange(seen, &d, std::memory_order_acquire)) return true;
            continue;
        }
        if (spin_while_owned(w, seen)) continue;
        const detail::word state = seen->state.load(std::memory_order_acquire);
        // `state` describes the transaction that acquired the word only if that transaction still owns the word.
        if (w.owner.load(std::memory_order_acquire) != seen) continue;
        // If the state is not running, the owner has ended, and one of its undo actions is still to release the word.
        // So there is no transaction to kill.
        if (!memory::is_running(state) && !d.kill_requested()) ::sched_yield();
        else api::resolve_conflict_outside(d, *seen, state, owns_more);
    }
}

void refresh_snapshot(core::descriptor& d) { d.algorithm->refresh(d); }

void release(conflict_word& w) noexcept { w.owner.store(nullptr, std::memory_order_release); }

}  // namespace tutti::libc
