// The stack of a context, and what lies below it for the case that it does not suffice.
//
//   mapping | brink | last resort | reserves | the stack itself | top
//
//   reserves     fault until they are opened: the stack has been run over,
//                and what was being called must be able to return
//   last resort  faults until it is opened: a context is ended on it, whose frames above are still looked at
//   brink        faults for ever
//
// Memory is taken page by page as it is touched; `close` gives back what was opened. What opens is async-signal-safe.
// overrun.hpp says when.
#pragma once

#include <cstddef>

namespace tutti::preempt {

class stack {
public:
    /// At least `bytes` long. Throws std::bad_alloc.
    explicit stack(std::size_t bytes);
    ~stack();
    stack(const stack&) = delete;
    stack& operator=(const stack&) = delete;

    [[nodiscard]] char* bottom() const noexcept { return top() - bytes_; }
    [[nodiscard]] char* top() const noexcept { return mapping_ + mapping_bytes_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    /// Where the mapping begins, below all that may be opened, and its size.
    [[nodiscard]] const char* mapping() const noexcept { return mapping_; }
    [[nodiscard]] std::size_t mapping_bytes() const noexcept { return mapping_bytes_; }

    /// Where what may be used begins now.
    [[nodiscard]] const char* edge() const noexcept { return bottom() - open_reserves_ * reserve_bytes; }
    /// Whether an access to it faults because it is too far down.
    [[nodiscard]] bool is_beyond(const char* address) const noexcept { return address >= mapping_ && address < edge(); }

    /// Where it would begin with one reserve more.
    [[nodiscard]] const char* next_edge() const noexcept { return edge() - reserve_bytes; }
    [[nodiscard]] unsigned open_reserves() const noexcept { return open_reserves_; }
    /// One more. False if there is none, or the system refuses.
    bool open_reserve() noexcept;
    /// Its top, or null if the system refuses.
    char* open_last_resort() noexcept;
    /// REQUIRES: no context runs on it.
    void close() noexcept;

    static constexpr unsigned reserves = 3;                   // for a signal, for an exception to leave, to step on
    static constexpr std::size_t reserve_bytes = 256 * 1024;  // of each
    static constexpr std::size_t last_resort_bytes = 64 * 1024;
    static constexpr std::size_t brink_bytes = 64 * 1024;

private:
    std::size_t bytes_;
    std::size_t mapping_bytes_;
    char* mapping_;
    unsigned open_reserves_ = 0;
    bool last_resort_is_open_ = false;
};

}  // namespace tutti::preempt
