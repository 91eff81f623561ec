// Which instructions belong to the application: the only ones that a tick may interrupt for another context.
//
// Everything else is out of bounds, because it may hold what the next context needs: malloc a lock of its arena, stdio
// one of its stream, the dynamic linker its own. Neither can be seen from outside, but where the processor is can.
//
// `contains` may be called from a signal handler at any time; the others from one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preempt/loaded_object.hpp"
#include "tutti/detail/config.hpp"

namespace tutti::preempt {

class code_map {
public:
    static constexpr std::size_t most_ranges = 256;

    /// `tell`, if not null, is called for each range that is added.
    using told = void (*)(std::uintptr_t begin, std::uintptr_t end) noexcept;
    /// `ticks_at_calls`: objects that are added take ticks where they call libraries (library_calls.hpp).
    explicit code_map(told tell = nullptr, bool ticks_at_calls = false) noexcept
        : tell_{tell}, ticks_at_calls_{ticks_at_calls} {}

    /// [begin, end) is application code. Throws std::length_error.
    void add(const void* begin, const void* end);
    /// All code of the shared object or program that `address` lies in: where a procedure is, its siblings and what
    /// the compiler has instantiated for it are. The code of libraries that it depends on as well (application.hpp).
    /// False if there is no such object. Throws std::length_error, std::bad_alloc.
    TUTTI_EXPORT bool add_object_of(const void* address);

    [[nodiscard]] bool contains(std::uintptr_t instruction) const noexcept {
        // Acquire; partner: the release in `add`, after the range that is counted.
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

    range ranges_[most_ranges]{};
    std::atomic<std::size_t> count_{0};
    const told tell_;
    const bool ticks_at_calls_;
};

}  // namespace tutti::preempt
