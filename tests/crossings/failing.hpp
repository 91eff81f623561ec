// Allocations and copies that fail on request.
#pragma once

#include <cstdint>

#include "support/heap.hpp"

namespace crossings {

/// What the copy of a value throws. It does not derive from std::exception.
struct copy_failure {};

/// While positive, copies of values on this thread run blocks and count it down. The copy that reaches zero fails.
inline thread_local std::uint64_t fail_at_copy = 0;
/// Whether copies of values on this thread run blocks.
inline thread_local bool copies_run_blocks = false;

/// While it lives, an allocation or a copy of this thread fails: the n-th from now.
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

/// While it lives, nothing fails on this thread. The interpreter's own notes and destructors need that.
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
