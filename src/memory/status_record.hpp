// The status records, each of which contains the state of one descriptor's transaction, and the directory of all status
// records.
//
// The state word holds a sequence number and a status (docs/architecture.md describes the statuses):
//
//   63 … 4 sequence | 3 … 0 status
//
// 60 bits of sequence last 365 years for a descriptor that begins 100 million transactions a second.
//
// begin stores sequence + 1 with `active`; the end stores the same sequence with `idle`. So the word differs between
// any two transactions of a descriptor. A thread that remembers the word can check whether *that* transaction is still
// running, and can wait for it. The thread cannot kill the transaction's successor by mistake.
//
// Only the owner stores the state. Other threads read the state. They request the transaction's abort by storing its
// sequence in `kill_request`:
//
//   owner, at commit: state = preparing; light_fence; if kill_request is its sequence: aborts
//   killer:           kill_request = sequence; heavy_fence; if state is still active or visible: the owner will abort
//
// By the guarantee of base/fence.hpp, at least one of owner and killer sees the other's store. So if the killer finds
// the victim active after the fence, the victim has not passed its test yet. (If the killer used a compare-and-swap on
// the state, the owner would also need one, in every commit.)
//
// In the same way, the owner announces that its transaction has ended and has released everything that it held.
// The word `sleepers` is odd if a thread may sleep on it:
//
//   owner:   releases what others wait for, e.g. state = idle; light_fence; if `sleepers` is odd: ++sleepers, wakes all
//   sleeper: seen = sleepers |= 1; heavy_fence; unless the transaction is over: sleeps while `sleepers` is `seen`
//
// At least one of owner and sleeper sees the other's store. If a thread is about to sleep when the owner wakes the
// others, the thread finds that the count has changed. The count wraps: such a thread misses a wake-up only if exactly
// 2^31 wake-ups, each a system call, come between its load and its sleep. The sleep then ends after the limit of
// base::recheck_deadline.
//
// Lifetime: status records are never freed, because orecs and waiters refer to them by number. A context that ends
// leaves its descriptor to the next context.
#pragma once

#include <cstdint>

#include "memory/orec.hpp"

namespace tutti::memory {

enum class status : std::uint8_t { idle, active, visible, irrevocable, preparing, committed, aborting };

[[nodiscard]] constexpr const char* name_of(status s) noexcept {
    constexpr const char* names[] = {"idle", "active", "visible", "irrevocable", "preparing", "committed", "aborting"};
    return names[static_cast<std::size_t>(s)];
}

inline constexpr int status_bits = 4;
constexpr status status_of(word state) noexcept { return static_cast<status>(state & 0xf); }
constexpr word sequence_of(word state) noexcept { return state >> status_bits; }
constexpr word make_state(word sequence, status s) noexcept { return sequence << status_bits | static_cast<word>(s); }
/// Returns true if a transaction runs. Such a transaction may hold pointers, marks and locks.
constexpr bool is_running(word state) noexcept { return status_of(state) != status::idle; }

/// The part of a descriptor that other contexts read, on cache lines of its own.
struct alignas(128) status_record {
    status_record() noexcept = default;
    status_record(const status_record&) = delete;
    status_record& operator=(const status_record&) = delete;

    detail::shared<word> state{0};
    detail::shared<word> kill_request{0};
    detail::shared<std::uint32_t> sleepers{0};
    /// True if the running transaction may access plain memory; see core/privatization/quiescence.hpp.
    detail::shared<std::uint32_t> uses_plain_memory{0};
    /// `replies_requested` counts the requests to the running transaction to confirm that its reads are current.
    /// `replies_given` is the number of requests that the transaction has answered; see
    /// core/privatization/quiescence.hpp. Both counters wrap, and are compared by their difference.
    detail::shared<std::uint32_t> replies_requested{0};
    detail::shared<std::uint32_t> replies_given{0};
    /// Counts this context's waits that have not yet stored their result: the version up to which no commit quiesces.
    /// The context counts a wait before the end of the transaction whose snapshot the wait uses; see
    /// core/privatization/quiescence.hpp.
    detail::shared<std::uint32_t> pending_quiescence_waits{0};
    /// Counts this context's transactions that are over, but whose handlers have still to run; see
    /// core/state/unfinished_handlers.hpp.
    detail::shared<std::uint32_t> unfinished_handlers{0};
    /// The version of a commit that is publishing or waits in quiescence. Before a commit draws its version, this word
    /// is a lower bound of the version. The word is 0 while the context has no such commit. See
    /// core/privatization/quiescence.hpp. The word has a cache line of its own, because readers of plain memory read it
    /// and only updates write it.
    alignas(128) detail::shared<word> privatizing_version{0};
    /// Membership in the set of descriptors that quiescence concerns; see core/privatization/quiescence_set.hpp. The
    /// cache line of this field changes only when a member joins or leaves, and not with each transaction. So a thread
    /// that walks the set has the links of all members in its cache. Therefore the processor fetches the lines of all
    /// members in parallel instead of one after the other.
    alignas(128) std::uint32_t id = 0;
    detail::shared<std::uint32_t> is_in_quiescence_set{0};
    detail::shared<status_record*> next_in_quiescence_set{nullptr};
    word swept_sequence = 0;  // the sequence at the latest sweep; under the lock of the set
};

inline constexpr std::uint32_t max_status_records = std::uint32_t{1} << 20;

/// Registers `a` under the next free number. Throws std::length_error beyond max_status_records, std::bad_alloc.
void register_status_record(status_record& a);
/// Returns how many numbers are in use. The result never decreases.
[[nodiscard]] std::uint32_t status_record_count() noexcept;
/// Returns status record number `id`. REQUIRES: id < status_record_count() at some earlier time.
[[nodiscard]] status_record& status_record_of(std::uint32_t id) noexcept;

/// The location of all status records, for debuggers: `chunks` points to an array of pointers to arrays of 2^chunk_bits
/// pointers.
struct directory_view {
    const void* chunks;
    const void* count;  // 32 bits
    std::uint64_t chunk_bits;
};
extern const directory_view directory_for_debuggers;

}  // namespace tutti::memory
