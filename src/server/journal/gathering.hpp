// How long a group of calls waits for others where each answer waits for its fsync. One fsync costs as much for fifty
// calls as for one, and clients that were answered together ask again one after the other: the first one's call alone
// would be a group, and the others would wait for its fsync and then for their own. (Group commit: DeWitt, Katz, Olken,
// Shapiro, Stonebraker, Wood, "Implementation techniques for main memory database systems", SIGMOD 1984; a wait for
// others that is measured by the fsync: `commit_delay` of PostgreSQL.)
//
// Thread safety: none; the journal's thread owns it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tutti::server::journal {

class gathering {
public:
    using duration = std::chrono::nanoseconds;
    /// However slow the disk is.
    static constexpr duration longest{1'000'000};
    /// An fsync for so many calls is cheap enough to be worth no wait for one more.
    static constexpr std::uint64_t many = 16;
    /// And for so many, not even where others are there: those are run while it is written.
    static constexpr std::uint64_t plenty = 64;

    /// Where a group took so long.
    [[nodiscard]] static constexpr duration patience_of(duration took) noexcept { return std::min(took / 8, longest); }

    /// A group of so many calls took so long, and so many have come meanwhile: the next one may have all of them. Who
    /// calls alone waits for nobody, but for the first time.
    void note(std::uint64_t calls, std::uint64_t meanwhile, duration took) noexcept {
        expected_ = calls + meanwhile;
        patience_ = patience_of(took);
    }
    /// So many calls are worth no further wait.
    [[nodiscard]] std::uint64_t expected() const noexcept { return expected_; }
    /// So long it waits for them.
    [[nodiscard]] duration patience() const noexcept { return patience_; }

private:
    std::uint64_t expected_ = 1;
    duration patience_{0};
};

}  // namespace tutti::server::journal
