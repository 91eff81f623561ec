// The positions that calls have drawn and the journal's thread has not collected. Their records lie one after the
// other, in the order of their positions, in reusable chunks of memory. A call reserves a place under a lock, fills it
// without a lock, and then marks it. The journal's thread finds stretches of marked records and copies each stretch at
// once.
//
//   LBF1  Calls reserve under the journal's lock. Only the journal's thread looks and takes. A place belongs to the call
//       that has drawn it until that call marks it.
//   LBF2  The journal's thread acquires `next` (journal.hpp) and then sees every reservation below that position. The
//       mark is either unset, or set by the call that drew the place, and the chunk of the place is linked.
//   LBF3  Once all positions of a chunk are taken, calls no longer touch the chunk. Each of its places has been marked,
//       and marking a place is the last thing that a call does to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "server/journal/log_store.hpp"

namespace tutti::server::journal {

/// The state of one position.
struct record_state {
    /// 0: the position is drawn. Otherwise, the number of reserved bytes, above the bits that say what became of it.
    std::atomic<std::uint64_t> value{0};
    stored_reply* answer = nullptr;

    static constexpr std::uint64_t logged = 1, hole = 2, cut = 4;
    static constexpr unsigned bits = 3;
};

/// A position that has been drawn, and the bytes of its record.
struct reserved_record {
    std::uint64_t position = 0;  ///< 0: no position
    char* bytes = nullptr;
    std::size_t size = 0;
    record_state* state = nullptr;
};

/// The marked positions at the front of the tail: either consecutive calls, or one hole.
struct complete_range {
    std::uint64_t positions = 0;     ///< 0: the first one is not marked
    std::string_view records{};      ///< of all of them; empty: a hole
    std::size_t reserved = 0;        ///< bytes
    stored_reply* answer = nullptr;  ///< answer of the last one
    bool cut = false;                ///< true for a hole that is a cut
};

class log_buffer {
public:
    log_buffer() = default;
    ~log_buffer();
    log_buffer(const log_buffer&) = delete;
    log_buffer& operator=(const log_buffer&) = delete;

    /// Starts empty, or anew after all reservations have been marked and taken. REQUIRES: LBF1, and the journal's thread
    /// does not look. @throws std::bad_alloc  nothing has changed
    void begin(std::uint64_t position);
    /// Reserves the position after the latest one. @throws std::bad_alloc  then nothing is reserved
    [[nodiscard]] reserved_record reserve(std::size_t bytes);
    /// Marks a place with what became of it. Takes ownership of the answer.
    static void set_state(const reserved_record& at, std::uint64_t what,
                          std::unique_ptr<stored_reply> answer = {}) noexcept {
        at.state->answer = answer.release();
        at.state->value.store(at.size << record_state::bits | what,
                              std::memory_order_release);  // pairs with the load in look
    }

    /// Returns the first stretch that can be taken before `upto`. It has `max_bytes` bytes, or one record more. REQUIRES:
    /// those positions were reserved.
    [[nodiscard]] complete_range find_complete(std::uint64_t upto, std::size_t max_bytes) noexcept;
    /// Takes the stretch that `find_complete` returned last. The caller then owns its answer.
    void consume(const complete_range& found) noexcept;
    /// Returns the first position that has not been taken.
    [[nodiscard]] std::uint64_t consumed() const noexcept { return consumed_; }

private:
    struct chunk;
    chunk& extend(std::size_t bytes);

    chunk* last_ = nullptr;  // chunk in which calls reserve

    std::atomic<chunk*> spare_{nullptr};

    // Used by the journal's thread.
    alignas(64) chunk* first_ = nullptr;
    std::uint64_t consumed_ = 1;  // all positions before this one are taken
    std::size_t offset_ = 0;      // offset in bytes of consumed_ in its chunk
};

}  // namespace tutti::server::journal
