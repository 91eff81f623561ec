// Memory for entries to which other objects point. Entries are added one by one, never move, and are freed all at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include "tutti/detail/config.hpp"

namespace tutti::memory {

/// Entries are in chunks, so that many entries share an allocation. The size of a chunk is `first_chunk` entries at
/// first, and doubles up to `max_chunk`. When the entries are freed, the first chunk stays; all other chunks are freed.
/// Not thread-safe.
template <class T>
class slab {
public:
    static constexpr std::size_t first_chunk = 32;
    static constexpr std::size_t max_chunk = 1024;

    slab() noexcept = default;
    slab(const slab&) = delete;
    slab& operator=(const slab&) = delete;
    ~slab() { trim(); }

    /// Adds an entry. Throws std::bad_alloc.
    T& push(const T& entry) {
        if (next_ == end_) [[unlikely]]
            grow();
        return *::new (static_cast<void*>(next_++)) T(entry);
    }

    void clear() noexcept {
        if (newest_ == nullptr) return;
        while (newest_->older != nullptr) std::free(std::exchange(newest_, newest_->older));
        open(*newest_, first_chunk);
    }
    /// Drops the entries, and frees all chunks, including the first one.
    void trim() noexcept {
        clear();
        std::free(std::exchange(newest_, nullptr));
        next_ = end_ = nullptr;
    }

private:
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));
    struct alignas(T) chunk {
        chunk* older;
    };

    TUTTI_COLD void grow() {
        const std::size_t entries = newest_ == nullptr ? first_chunk : std::min(2 * room_, max_chunk);
        auto* const fresh = static_cast<chunk*>(std::malloc(sizeof(chunk) + entries * sizeof(T)));
        if (fresh == nullptr) throw std::bad_alloc{};
        fresh->older = newest_;
        newest_ = fresh;
        open(*fresh, entries);
    }
    void open(chunk& c, std::size_t entries) noexcept {
        next_ = reinterpret_cast<T*>(&c + 1);
        end_ = next_ + entries;
        room_ = entries;
    }

    chunk* newest_ = nullptr;
    std::size_t room_ = 0;  // number of entries in the newest chunk
    T* next_ = nullptr;
    T* end_ = nullptr;
};

}  // namespace tutti::memory
