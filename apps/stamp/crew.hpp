// Threads that start together and may wait for each other.
#pragma once

#include <barrier>
#include <cstddef>
#include <functional>

namespace stamp {

/// One thread of a crew, as its work sees it.
class crew_member {
public:
    crew_member(std::barrier<>& where, unsigned number, unsigned of) : index{number}, crew{of}, where_{where} {}

    /// Waits until all members have come here.
    void meet() { where_.arrive_and_wait(); }

    const unsigned index;
    const unsigned crew;  ///< how many there are

    /// The part of `all` items that is this member's: [first, last).
    struct part {
        std::size_t first, last;
    };
    [[nodiscard]] part share(std::size_t all) const noexcept { return {all * index / crew, all * (index + 1) / crew}; }

private:
    std::barrier<>& where_;
};

/// Runs `work` on so many threads, and returns the seconds from their start to the end of the last one.
///
/// An exception that leaves `work`, or a thread that cannot be made, ends the program with a message and status 1: the
/// other threads may be waiting for what this one has not done.
[[nodiscard]] double run_crew(unsigned threads, const std::function<void(crew_member&)>& work);

}  // namespace stamp
