// A growable array of trivial entries. Every log of a transaction has this type.
//
// Memory. A log keeps up to `kept_bytes` of its memory for the next transactions, without a time limit. A log that
// grows beyond that size is large, and sets a flag of its owner. The owner divides its transactions into periods.
// Counting the transactions of a period costs little compared with the transaction that made the log large. The owner
// calls `record_usage` at the end of each transaction and `end_period` at the end of each period. If the period has
// used less than a quarter of a large log, the log then shrinks to twice the used part. So a log keeps its size while
// each period has one large transaction. If only one transaction in many periods is large, growing costs a constant for
// each entry that it logs. Memory that stays unused for a whole period is freed at the end of the period.
//
// Entries set aside. A log can set entries aside: they move to the other end of its memory, where walks through the log
// do not visit them.
//
//   begin_          end_          capacity_              limit_
//     | the entries   | room        | those set aside      |
//
// An entry that is set aside occupies as much room as the entry did before, so setting aside entries of the log never
// needs more memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "base/panic.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::memory {

/// A log of at most this size keeps its memory.
inline constexpr std::size_t kept_bytes = std::size_t{64} << 10;

/// Returns the new capacity of a log in entries after a period. `room` is the capacity before, and `used` is how much
/// of it the period has used.
template <class T>
constexpr std::size_t room_after_period(std::size_t used, std::size_t room) noexcept {
    if (room / 4 < used || room * sizeof(T) <= kept_bytes) return room;
    return std::max(used * 2, kept_bytes / sizeof(T));
}

/// Not thread-safe. Entries move when the log's memory changes.
template <class T>
class log {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    constexpr log() noexcept = default;
    /// Creates an empty log. Whenever the log becomes large, it sets `large_flag` in `large_flags`. `large_flags` must
    /// outlive the log.
    log(std::uint32_t& large_flags, std::uint32_t large_flag) noexcept
        : large_flags_{&large_flags}, large_flag_{large_flag} {}
    log(const log&) = delete;
    log& operator=(const log&) = delete;
    ~log() { std::free(begin_); }

    /// Swaps the entries. The logs keep their flags.
    void swap(log& other) noexcept {
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
        std::swap(capacity_, other.capacity_);
        std::swap(limit_, other.limit_);
        std::swap(max_used_, other.max_used_);
    }

    [[nodiscard]] bool empty() const noexcept { return end_ == begin_; }
    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - begin_); }
    [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(limit_ - begin_) * sizeof(T); }
    [[nodiscard]] bool is_large() const noexcept { return bytes() > kept_bytes; }
    [[nodiscard]] T* begin() noexcept { return begin_; }
    [[nodiscard]] T* end() noexcept { return end_; }
    [[nodiscard]] const T* begin() const noexcept { return begin_; }
    [[nodiscard]] const T* end() const noexcept { return end_; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept {
        TUTTI_ASSERT(i < size(), "log index out of range");
        return begin_[i];
    }
    [[nodiscard]] T& back() noexcept { return end_[-1]; }

    /// Returns true if there is room for one more entry.
    [[nodiscard]] bool has_room() const noexcept { return end_ != capacity_; }
    /// Makes room for one more entry, so that the next push cannot fail. Throws std::bad_alloc.
    void reserve_one() {
        if (!has_room()) [[unlikely]]
            grow(1);
    }
    /// Makes room for `more` entries. Throws std::bad_alloc.
    void reserve(std::size_t more) {
        if (static_cast<std::size_t>(capacity_ - end_) < more) grow(more);
    }
    /// Adds an entry. REQUIRES: room was reserved for it.
    void push_reserved(const T& entry) noexcept { *end_++ = entry; }
    void push(const T& entry) {
        reserve_one();
        push_reserved(entry);
    }
    void pop() noexcept { --end_; }
    /// Drops all entries from number `size` on.
    void shrink(std::size_t size) noexcept { end_ = begin_ + size; }
    void clear() noexcept { end_ = begin_; }

    /// Returns how many entries are set aside.
    [[nodiscard]] std::size_t aside() const noexcept { return static_cast<std::size_t>(limit_ - capacity_); }
    /// Returns the entry that was set aside as number `i`, counted from 0.
    [[nodiscard]] T& aside(std::size_t i) noexcept {
        TUTTI_ASSERT(i < aside(), "log index out of range");
        return limit_[-1 - static_cast<std::ptrdiff_t>(i)];
    }
    [[nodiscard]] const T& aside(std::size_t i) const noexcept { return const_cast<log&>(*this).aside(i); }
    /// Sets aside an entry that is not in the log. REQUIRES: has_room.
    void set_aside(const T& entry) noexcept { *--capacity_ = entry; }
    /// Drops entries that are set aside: number `count` and all later ones.
    void shrink_aside(std::size_t count) noexcept { capacity_ = limit_ - count; }

    void record_usage() noexcept { max_used_ = std::max(max_used_, size() + aside()); }
    void end_period() noexcept {
        record_usage();
        const std::size_t new_room = room_after_period<T>(std::exchange(max_used_, 0), bytes() / sizeof(T));
        if (new_room * sizeof(T) < bytes() && aside() == 0) static_cast<void>(resize(new_room));
    }
    /// Frees all memory if the log is large and empty.
    void trim() noexcept {
        if (!is_large() || !empty() || aside() != 0) return;
        std::free(begin_);
        begin_ = end_ = capacity_ = limit_ = nullptr;
    }

private:
    TUTTI_COLD void grow(std::size_t more) {
        // The new size is twice the capacity, not twice the used part. Otherwise a caller that reserves entries one by
        // one while the log is empty would make the log grow each time.
        const std::size_t room = bytes() / sizeof(T);
        if (!resize(std::max({std::size_t{128}, room * 2, size() + aside() + more}))) throw std::bad_alloc{};
        if (large_flags_ != nullptr && is_large()) *large_flags_ |= large_flag_;
    }
    /// Changes the capacity. If memory runs out, returns false and changes nothing. REQUIRES: the log becomes larger if
    /// entries are set aside.
    [[nodiscard]] bool resize(std::size_t entries) noexcept {
        const std::size_t used = size();
        const std::size_t aside_count = aside();
        const std::size_t room = bytes() / sizeof(T);
        // NOLINTNEXTLINE(bugprone-suspicious-realloc-usage): the old block stays ours when it fails
        void* const moved = std::realloc(static_cast<void*>(begin_), entries * sizeof(T));
        if (moved == nullptr) return false;
        begin_ = static_cast<T*>(moved);
        end_ = begin_ + used;
        limit_ = begin_ + entries;
        capacity_ = limit_ - aside_count;
        if (aside_count != 0) std::memmove(capacity_, begin_ + room - aside_count, aside_count * sizeof(T));
        return true;
    }

    T* begin_ = nullptr;
    T* end_ = nullptr;
    T* capacity_ = nullptr;     // the end of the room for entries
    T* limit_ = nullptr;        // the end of the log's memory
    std::size_t max_used_ = 0;  // in this period
    std::uint32_t* large_flags_ = nullptr;
    std::uint32_t large_flag_ = 0;
};

}  // namespace tutti::memory
