// A stack that ends in a page that faults: running over it is a fault of its own procedure, never a neighbour's.
#pragma once

#include <cstddef>

namespace tutti::preempt {

class stack {
public:
    /// At least `bytes` long; memory is taken page by page as it is touched. Throws std::bad_alloc.
    explicit stack(std::size_t bytes);
    ~stack();
    stack(const stack&) = delete;
    stack& operator=(const stack&) = delete;

    [[nodiscard]] char* bottom() const noexcept { return mapping_ + guard_bytes_; }
    [[nodiscard]] char* top() const noexcept { return mapping_ + mapping_bytes_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return mapping_bytes_ - guard_bytes_; }
    [[nodiscard]] bool is_guard(const void* address) const noexcept {
        const auto* const a = static_cast<const char*>(address);
        return a >= mapping_ && a < bottom();
    }

private:
    std::size_t guard_bytes_;
    std::size_t mapping_bytes_;
    char* mapping_;
};

}  // namespace tutti::preempt
