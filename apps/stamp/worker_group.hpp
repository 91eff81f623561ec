// Threads that start together and may wait for each other.
#pragma once

#include <barrier>
#include <cstddef>
#include <functional>

namespace stamp {

/// One thread of a worker group, as its work sees it.
class group_worker {
public:
    group_worker(std::barrier<>& where, unsigned number, unsigned of) : index{number}, group_size{of}, where_{where} {}

    /// Waits until all members have called this.
    void wait_for_all() { where_.arrive_and_wait(); }

    const unsigned index;
    const unsigned group_size;  ///< number of members

    /// This member's part of `all` items: [first, last).
    struct part {
        std::size_t first, last;
    };
    [[nodiscard]] part share(std::size_t all) const noexcept {
        return {all * index / group_size, all * (index + 1) / group_size};
    }

private:
    std::barrier<>& where_;
};

/// Runs `work` on `threads` threads, and returns the seconds from their start to the end of the last thread.
///
/// If an exception leaves `work`, or a thread cannot be created, the program ends with a message and status 1: the
/// other threads may be waiting for this one.
[[nodiscard]] double run_worker_group(unsigned threads, const std::function<void(group_worker&)>& work);

}  // namespace stamp
