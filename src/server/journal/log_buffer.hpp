// The records that calls have reserved and the journal's thread has not consumed. The records lie one after the other,
// in the order of their positions, in reusable chunks of memory. A call reserves a record under a lock and fills it
// without a lock. Then the call sets the record's state, which marks the record as complete. The journal's thread finds
// ranges of complete records and copies each range at once.
//
//   LBF1  Calls reserve under the journal's lock. Only the journal's thread finds and consumes ranges. A record belongs
//         to the call that has reserved it until that call sets its state.
//   LBF2  The journal's thread acquires `next` (journal.hpp) and then sees every reservation below that position. For
//         each such reservation, the record's chunk is linked, and the record's state is either 0 or set by the call
//         that reserved the record.
//   LBF3  Once all positions of a chunk are consumed, calls no longer touch the chunk. The reason is that all records
//         of the chunk are complete, and a call's last access to its record sets the state.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "server/journal/log_store.hpp"

namespace tutti::server::journal {

/// The state of one reserved position.
struct record_state {
    /// 0: the record is reserved and not complete. Otherwise: the number of reserved bytes, shifted left past the bits
    /// of the outcome.
    std::atomic<std::uint64_t> value{0};
    stored_reply* answer = nullptr;

    static constexpr std::uint64_t logged = 1, hole = 2, cut = 4;
    static constexpr unsigned bits = 3;
};

/// A reserved position, and the bytes of its record.
struct reserved_record {
    std::uint64_t position = 0;  ///< 0: no position
    char* bytes = nullptr;
    std::size_t size = 0;
    record_state* state = nullptr;
};

/// The complete records at the front of the buffer: either consecutive calls, or one hole.
struct complete_range {
    std::uint64_t positions = 0;     ///< 0: the first record is not complete
    std::string_view records{};      ///< the records of all these positions; empty: a hole
    std::size_t reserved = 0;        ///< bytes
    stored_reply* answer = nullptr;  ///< answer of the last position
    bool cut = false;                ///< true for a hole that is a cut
};

class log_buffer {
public:
    log_buffer() = default;
    ~log_buffer();
    log_buffer(const log_buffer&) = delete;
    log_buffer& operator=(const log_buffer&) = delete;

    /// Initializes an empty buffer, or starts again after all records are complete and consumed. REQUIRES: LBF1, and
    /// the journal's thread is not in find_complete(). @throws std::bad_alloc  nothing has changed
    void begin(std::uint64_t position);
    /// Reserves the position after the latest reserved one. @throws std::bad_alloc  then nothing is reserved
    [[nodiscard]] reserved_record reserve(std::size_t bytes);
    /// Marks a record as complete, with this outcome. Takes ownership of the answer.
    static void set_state(const reserved_record& at, std::uint64_t what,
                          std::unique_ptr<stored_reply> answer = {}) noexcept {
        at.state->answer = answer.release();
        at.state->value.store(at.size << record_state::bits | what,
                              std::memory_order_release);  // pairs with the load in find_complete
    }

    /// Returns the first range of complete records before `upto`. The range ends with the record that reaches
    /// `max_bytes` bytes, or earlier.
    /// REQUIRES: those positions were reserved.
    [[nodiscard]] complete_range find_complete(std::uint64_t upto, std::size_t max_bytes) noexcept;
    /// Consumes the range that `find_complete` returned last. The caller then owns the range's answer.
    void consume(const complete_range& found) noexcept;
    /// Returns the first position that has not been consumed.
    [[nodiscard]] std::uint64_t consumed() const noexcept { return consumed_; }

private:
    struct chunk;
    chunk& extend(std::size_t bytes);

    chunk* last_ = nullptr;  // chunk in which calls reserve

    std::atomic<chunk*> spare_{nullptr};

    // Only the journal's thread uses these members.
    alignas(64) chunk* first_ = nullptr;
    std::uint64_t consumed_ = 1;  // all positions before this one are consumed
    std::size_t offset_ = 0;      // offset in bytes of consumed_ in its chunk
};

}  // namespace tutti::server::journal
