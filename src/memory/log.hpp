// A growable array of trivial entries: what every log of a transaction is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include "base/panic.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::memory {

/// Keeps its memory between transactions, and gives it back only when `trim` finds it far above its use.
/// Not thread-safe. Entries move when it grows.
template <class T>
class log {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    log() noexcept = default;
    log(const log&) = delete;
    log& operator=(const log&) = delete;
    ~log() { std::free(begin_); }

    void swap(log& other) noexcept {
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
        std::swap(capacity_, other.capacity_);
    }

    [[nodiscard]] bool empty() const noexcept { return end_ == begin_; }
    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(end_ - begin_); }
    [[nodiscard]] T* begin() noexcept { return begin_; }
    [[nodiscard]] T* end() noexcept { return end_; }
    [[nodiscard]] const T* begin() const noexcept { return begin_; }
    [[nodiscard]] const T* end() const noexcept { return end_; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept {
        TUTTI_ASSERT(i < size(), "log index out of range");
        return begin_[i];
    }
    [[nodiscard]] T& back() noexcept { return end_[-1]; }

    /// Makes room for one more, so that the next push cannot fail. Throws std::bad_alloc.
    void reserve_one() {
        if (end_ == capacity_) [[unlikely]]
            grow(1);
    }
    /// Makes room for `more`. Throws std::bad_alloc.
    void reserve(std::size_t more) {
        if (static_cast<std::size_t>(capacity_ - end_) < more) grow(more);
    }
    /// REQUIRES: room was reserved for it.
    void push_reserved(const T& entry) noexcept { *end_++ = entry; }
    void push(const T& entry) {
        reserve_one();
        push_reserved(entry);
    }
    void pop() noexcept { --end_; }
    /// Drops everything from number `size` on.
    void shrink(std::size_t size) noexcept { end_ = begin_ + size; }
    void clear() noexcept { end_ = begin_; }

    /// After an unusually large transaction: frees what is beyond `entries`. REQUIRES: empty.
    void trim(std::size_t entries) noexcept {
        if (static_cast<std::size_t>(capacity_ - begin_) <= entries) return;
        std::free(begin_);
        begin_ = end_ = capacity_ = nullptr;
    }

private:
    TUTTI_COLD void grow(std::size_t more) {
        const std::size_t used = size();
        const std::size_t wanted = std::max({std::size_t{128}, used * 2, used + more});
        // NOLINTNEXTLINE(bugprone-suspicious-realloc-usage): the old block stays ours when it fails
        void* const moved = std::realloc(static_cast<void*>(begin_), wanted * sizeof(T));
        if (moved == nullptr) throw std::bad_alloc{};
        begin_ = static_cast<T*>(moved);
        end_ = begin_ + used;
        capacity_ = begin_ + wanted;
    }

    T* begin_ = nullptr;
    T* end_ = nullptr;
    T* capacity_ = nullptr;
};

}  // namespace tutti::memory
