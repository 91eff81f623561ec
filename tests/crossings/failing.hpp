// Allocations and copies that fail on request.
#pragma once

#include <cstdint>

#include "support/heap.hpp"

namespace crossings {

/// Thrown by the copy of a value. It does not derive from std::exception.
struct copy_failure {};

/// While this count is positive, copies of values on this thread run blocks and decrement it. The copy that reaches
/// zero fails.
inline thread_local std::uint64_t fail_at_copy = 0;
/// true if copying a value on this thread runs a block
inline thread_local bool copies_run_blocks = false;

/// Makes the n-th allocation or copy of this thread from now fail, during its lifetime.
class failing {
public:
    failing(bool allocation, bool copy, std::uint64_t n) {
        copies_run_blocks = copy;
        fail_at_copy = copy ? n : 0;
        tutti::support::refuse_after = allocation ? n : 0;
    }
    ~failing() {
        tutti::support::refuse_after = fail_at_copy = 0;
        copies_run_blocks = false;
    }
    failing(const failing&) = delete;
    failing& operator=(const failing&) = delete;
};

/// Prevents failures on this thread during its lifetime, for the interpreter's own records and destructors.
class undisturbed {
public:
    undisturbed() {
        tutti::support::refuse_after = fail_at_copy = 0;
        copies_run_blocks = false;
    }
    ~undisturbed() {
        tutti::support::refuse_after = allocation_;
        fail_at_copy = copy_;
        copies_run_blocks = blocks_;
    }
    undisturbed(const undisturbed&) = delete;
    undisturbed& operator=(const undisturbed&) = delete;

private:
    std::uint64_t allocation_ = tutti::support::refuse_after;
    std::uint64_t copy_ = fail_at_copy;
    bool blocks_ = copies_run_blocks;
};

}  // namespace crossings
