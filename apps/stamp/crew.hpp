// Threads that start together and may wait for each other.
#pragma once

#include <cstddef>
#include <functional>

namespace stamp {

/// One thread of a crew, as its work sees it.
class crew_member {
public:
    virtual ~crew_member() = default;
    /// Waits until all members that have not failed have come here.
    virtual void meet() = 0;

    unsigned index = 0;
    unsigned crew = 1;  ///< how many there are

    /// The part of `all` items that is this member's: [first, last).
    struct part {
        std::size_t first, last;
    };
    [[nodiscard]] part share(std::size_t all) const noexcept { return {all * index / crew, all * (index + 1) / crew}; }
};

/// Runs `work` on so many threads, and returns the seconds from their start to the end of the last one.
/// Throws what the first one to fail has thrown, once all have ended.
[[nodiscard]] double run_crew(unsigned threads, const std::function<void(crew_member&)>& work);

}  // namespace stamp
