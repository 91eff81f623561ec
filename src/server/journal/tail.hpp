// What has been drawn and is not collected: records one behind the other in the order of their positions, in chunks of
// memory that are used again. A call that draws reserves a place under a lock, fills it without one, and then marks it;
// the journal's thread finds stretches of marked records, and copies each as one.
//
//   T1  Calls reserve under the journal's lock; only the journal's thread looks and takes; a place is the call's that
//       has drawn it until that marks it.
//   T2  The journal's thread, once it has acquired a `next` beyond a position (journal.hpp), sees what was reserved
//       under it: the mark is not set yet, or set by the call that drew it, and the chunk that holds it is linked.
//   T3  No call touches a chunk any more whose positions have all been taken: each of its places has been marked, which
//       is the last that the call which drew it does to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "server/journal/store.hpp"

namespace tutti::server::journal {

/// Of one position.
struct mark {
    /// 0: it is drawn. Otherwise how many bytes were reserved for it, above what became of it.
    std::atomic<std::uint64_t> state{0};
    kept_answer* answer = nullptr;

    static constexpr std::uint64_t logged = 1, hole = 2, cut = 4;
    static constexpr unsigned bits = 3;
};

/// A position that has been drawn, and the bytes of its record.
struct place {
    std::uint64_t position = 0;  ///< 0: none
    char* bytes = nullptr;
    std::size_t size = 0;
    mark* its = nullptr;
};

/// The first positions that are marked: calls one behind the other, or one that is a hole.
struct stretch {
    std::uint64_t positions = 0;    ///< 0: the first one is not marked
    std::string_view records{};     ///< of all of them; empty: a hole
    std::size_t reserved = 0;       ///< bytes
    kept_answer* answer = nullptr;  ///< of the last one
    bool cut = false;               ///< it is a hole, and a cut
};

class tail {
public:
    tail() = default;
    ~tail();
    tail(const tail&) = delete;
    tail& operator=(const tail&) = delete;

    /// From nothing, or from where all that was reserved has been marked and taken. REQUIRES: T1, and nobody looks.
    /// @throws std::bad_alloc  nothing has changed
    void begin(std::uint64_t position);
    /// For the position behind the latest one. @throws std::bad_alloc  then nothing is reserved
    [[nodiscard]] place reserve(std::size_t bytes);
    /// What became of it; takes the answer.
    static void set(const place& at, std::uint64_t what, std::unique_ptr<kept_answer> answer = {}) noexcept {
        at.its->answer = answer.release();
        at.its->state.store(at.size << mark::bits | what, std::memory_order_release);  // partner: look
    }

    /// What can be taken of the positions before `upto`, which were reserved: `most` bytes, or one record more.
    [[nodiscard]] stretch look(std::uint64_t upto, std::size_t most) noexcept;
    /// What `look` found last; its answer is the caller's.
    void take(const stretch& found) noexcept;
    /// All positions before it.
    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

private:
    struct chunk;
    chunk& extend(std::size_t bytes);

    chunk* last_ = nullptr;  // of the call that reserves

    std::atomic<chunk*> spare_{nullptr};

    // Of the journal's thread.
    alignas(64) chunk* first_ = nullptr;
    std::uint64_t taken_ = 1;  // all positions before it are
    std::size_t offset_ = 0;   // of its bytes in its chunk
};

}  // namespace tutti::server::journal
