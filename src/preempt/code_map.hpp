// The instructions that belong to the application. A tick may interrupt a context for another context only at these
// instructions.
//
// Any other code may hold a lock that the next context needs, such as malloc's lock of an arena, stdio's lock of a
// stream, or the dynamic linker's lock. The scheduler cannot see these locks, but it can see the processor's position.
//
// Thread safety: a signal handler may call `contains` at any time. Only one thread at a time may call the other
// functions.
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

    /// The type of a function that is called for each added range.
    using range_callback = void (*)(std::uintptr_t begin, std::uintptr_t end) noexcept;
    /// `on_range_added` is called for each added range unless it is null. `ticks_at_calls`: in added objects, calls of
    /// libraries also check for ticks (library_calls.hpp).
    explicit code_map(range_callback on_range_added = nullptr, bool ticks_at_calls = false) noexcept
        : on_range_added_{on_range_added}, ticks_at_calls_{ticks_at_calls} {}

    /// Adds the range [begin, end) of application code. Throws std::length_error.
    void add(const void* begin, const void* end);
    /// Adds all code of the shared object or program that contains `address`. So the address of one procedure suffices
    /// for all procedures of the object and its template instantiations. Also adds the code of libraries on which the
    /// object depends (application.hpp). Returns false if there is no such object. Throws std::length_error,
    /// std::bad_alloc.
    TUTTI_EXPORT bool add_object_of(const void* address);

    [[nodiscard]] bool contains(std::uintptr_t instruction) const noexcept {
        // Acquire, partner: the release in `add`, which follows the store of the counted range.
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
