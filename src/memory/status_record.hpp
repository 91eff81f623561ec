// The state of each descriptor's transaction, in one status record per descriptor, and the directory of all of them.
//
// The state word holds a sequence number and the status of the architecture page:
//
//   63 … 4 sequence | 3 … 0 status
//
// 60 bits of sequence last 365 years for a descriptor that begins 100 million transactions a second.
//
// begin stores sequence + 1 with `active`; the end stores the same sequence with `idle`. So the word differs between
// any two transactions of a descriptor. A thread that remembers the word can tell whether *that* transaction is still
// running, can wait for it, and cannot kill its successor by mistake.
//
// Only the owner stores the state. Other threads read it, and ask the transaction to abort by storing its sequence in
// `kill_request`:
//
//   owner, at commit: state = preparing; light_fence; is kill_request its sequence? then abort
//   killer:           kill_request = sequence; heavy_fence; is state still active or visible? then it will abort
//
// By the guarantee of base/fence.hpp one of them sees the other: a killer that finds the victim active after its fence
// knows that the victim has not passed its test. (If the killer used a compare-and-swap on the state, the owner would
// need one too, in every commit.)
//
// The owner announces the end of its transaction, and of everything that the transaction held, in the same way.
// `sleepers` is odd if a thread may sleep on that word:
//
//   owner:   releases what others wait for, e.g. state = idle; light_fence; is `sleepers` odd? then ++sleepers, wake
//            all
//   sleeper: seen = sleepers |= 1; heavy_fence; is the transaction over? else sleep while `sleepers` is `seen`
//
// One of them sees the other. A thread that is about to sleep when the owner wakes the others finds that the count has
// moved on. The count wraps: such a thread misses a wake-up only if exactly 2^31 wake-ups, each a system call, come
// between its load and its sleep. The sleep then ends after the limit of base::recheck_deadline.
//
// Lifetime: status records are never freed, because orecs and waiters name them by number. A context that leaves
// returns its descriptor for the next context.
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
/// Returns true if a transaction runs, which may hold pointers, marks and locks.
constexpr bool is_running(word state) noexcept { return status_of(state) != status::idle; }

/// The part of a descriptor that other contexts read, on cache lines of its own.
struct alignas(128) status_record {
    status_record() noexcept = default;
    status_record(const status_record&) = delete;
    status_record& operator=(const status_record&) = delete;

    detail::shared<word> state{0};
    detail::shared<word> kill_request{0};
    detail::shared<std::uint32_t> sleepers{0};
    /// The running transaction may access plain memory; see core/privatization/quiescence.hpp.
    detail::shared<std::uint32_t> uses_plain_memory{0};
    /// `replies_requested` counts the requests to the running transaction to show that its reads are current.
    /// `replies_given` is the count of requests that it has answered; see core/privatization/quiescence.hpp. Both wrap,
    /// and are compared by their difference.
    detail::shared<std::uint32_t> replies_requested{0};
    detail::shared<std::uint32_t> replies_given{0};
    /// The number of waits of this context that still have to store up to which version no commit quiesces. The context
    /// counts each wait before the end of the transaction whose snapshot it uses; see
    /// core/privatization/quiescence.hpp.
    detail::shared<std::uint32_t> pending_quiescence_waits{0};
    /// The version of the commit that is publishing or waits in quiescence; or a lower bound of the version of a commit
    /// that is about to draw it; or 0. See core/privatization/quiescence.hpp. On a cache line of its own: readers of
    /// plain memory read it, and only updates write it.
    alignas(128) detail::shared<word> privatizing_version{0};
    /// Membership in the set of descriptors that quiescence concerns; see core/privatization/quiescence_set.hpp. Its
    /// cache line changes when a member comes or goes, and not with each transaction. So a walker has the links of all
    /// members in its cache. The processor fetches the lines of all members in parallel instead of one after the other.
    alignas(128) std::uint32_t id = 0;
    detail::shared<std::uint32_t> is_in_quiescence_set{0};
    detail::shared<status_record*> next_in_quiescence_set{nullptr};
    word swept_sequence = 0;  // the sequence at the latest sweep; under the lock of the set
};

inline constexpr std::uint32_t max_status_records = std::uint32_t{1} << 20;

/// Enters `a` under the next free number. Throws std::length_error beyond max_status_records, std::bad_alloc.
void register_status_record(status_record& a);
/// Returns how many numbers are in use; never shrinks.
[[nodiscard]] std::uint32_t status_record_count() noexcept;
/// Returns the status record with that number. REQUIRES: id < status_record_count() at some earlier time.
[[nodiscard]] status_record& status_record_of(std::uint32_t id) noexcept;

/// The address of all status records for debuggers: `chunks` points to an array of pointers to arrays of 2^chunk_bits
/// pointers.
struct directory_view {
    const void* chunks;
    const void* count;  // 32 bits
    std::uint64_t chunk_bits;
};
extern const directory_view directory_for_debuggers;

}  // namespace tutti::memory
