// The stack of a context, and the memory below the stack that is used after an overflow.
//
//   mapping | guard | termination area | reserves | the stack itself | top
//
//   reserves          fault until they are opened. They are opened after an overflow, so that the called function can
//                     return
//   termination area  faults until it is opened. Used to terminate a context while the frames above are still needed
//   guard             always faults
//
// The system allocates memory page by page when it is touched. `close` releases the opened parts. The functions that
// open a part are async-signal-safe. See stack_overflow.hpp for when they are called.
#pragma once

#include <cstddef>

namespace tutti::preempt {

class stack {
public:
    /// Makes a stack of at least `bytes`. Throws std::bad_alloc.
    explicit stack(std::size_t bytes);
    ~stack();
    stack(const stack&) = delete;
    stack& operator=(const stack&) = delete;

    [[nodiscard]] char* bottom() const noexcept { return top() - bytes_; }
    [[nodiscard]] char* top() const noexcept { return mapping_ + mapping_bytes_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    /// Return the start and the size of the mapping, which includes everything that may be opened.
    [[nodiscard]] const char* mapping() const noexcept { return mapping_; }
    [[nodiscard]] std::size_t mapping_bytes() const noexcept { return mapping_bytes_; }

    /// Returns the current lower end of the usable stack.
    [[nodiscard]] const char* lower_end() const noexcept { return bottom() - open_reserves_ * reserve_bytes; }
    /// Returns true if an access to the address faults because the address is below the usable stack.
    [[nodiscard]] bool is_below(const char* address) const noexcept {
        return address >= mapping_ && address < lower_end();
    }

    /// Returns what the lower end would be with one more open reserve.
    [[nodiscard]] const char* next_lower_end() const noexcept { return lower_end() - reserve_bytes; }
    [[nodiscard]] unsigned open_reserves() const noexcept { return open_reserves_; }
    /// Opens one more reserve. Returns false if all reserves are open, or the system rejects the request.
    bool open_reserve() noexcept;
    /// Opens the termination area. Returns the area's top, or null if the system rejects the request.
    char* open_termination_area() noexcept;
    /// Closes the opened parts. REQUIRES: no context runs on the stack.
    void close() noexcept;

    static constexpr unsigned reserves = 3;                   // for a signal, an exception, and single steps
    static constexpr std::size_t reserve_bytes = 256 * 1024;  // size of each reserve
    static constexpr std::size_t termination_area_bytes = 64 * 1024;
    static constexpr std::size_t guard_bytes = 64 * 1024;

private:
    std::size_t bytes_;
    std::size_t mapping_bytes_;
    char* mapping_;
    unsigned open_reserves_ = 0;
    bool termination_area_is_open_ = false;
};

}  // namespace tutti::preempt
