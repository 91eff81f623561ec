// The instructions that belong to the application. Only there may a tick interrupt a context for another one.
//
// Any other code may hold a lock that the next context needs, such as malloc's lock of an arena, stdio's lock of a
// stream, or the dynamic linker's lock. These locks are invisible from outside, but the processor's position is not.
//
// A signal handler may call `contains` at any time. One thread at a time calls the other functions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preempt/loaded_object.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::preempt {

class code_map {
public:
    static constexpr std::size_t max_ranges = 256;

    /// Type of a function that is called for each added range.
    using range_callback = void (*)(std::uintptr_t begin, std::uintptr_t end) noexcept;
    /// `on_range_added` is called for each added range unless it is null. `ticks_at_calls`: added objects also take
    /// ticks where they call libraries (library_calls.hpp).
    explicit code_map(range_callback on_range_added = nullptr, bool ticks_at_calls = false) noexcept
        : on_range_added_{on_range_added}, ticks_at_calls_{ticks_at_calls} {}

    /// Declares [begin, end) to be application code. Throws std::length_error.
    void add(const void* begin, const void* end);
    /// Adds all code of the shared object or program that contains `address`. So an address of a procedure also covers
    /// its siblings and its template instantiations. Also adds the code of libraries that the object depends on
    /// (application.hpp). Returns false if there is no such object. Throws std::length_error, std::bad_alloc.
    TUTTI_EXPORT bool add_object_of(const void* address);

    [[nodiscard]] bool contains(std::uintptr_t instruction) const noexcept {
        // Acquire: pairs with the release in `add`, which follows the store of the counted range.
        const std::size_t count = count_.load(std::memory_order_acquire);
        for (std::size_t i = 0; i < count; ++i) {
            if (instruction - ranges_[i].begin < ranges_[i].length) return true;
        }
        return false;
    }

private:
    struct range {
        std::uintptr_t begin;
        std::uintptr_t length;
    };
    void add(const loaded_object::range& code);

    range ranges_[max_ranges]{};
    std::atomic<std::size_t> count_{0};
    const range_callback on_range_added_;
    const bool ticks_at_calls_;
};

}  // namespace tutti::preempt
