// What strangers did, for the operator: however many there are, and whatever they try, a few lines a minute.
//
// Thread safety: none; the loop's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tutti::cluster::replica {

class notes {
public:
    /// One more was turned away. The line to say, or nothing: the same was said less than a minute ago, or enough has
    /// been said in that minute.
    [[nodiscard]] std::string turned_away(std::string why, std::uint64_t now_ms) {
        ++all_;
        // A stranger may have chosen some of the words: it must not write lines of its own.
        std::ranges::replace_if(why, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
        std::erase_if(said_, [now_ms](const line& l) { return now_ms - l.at >= minute_ms; });
        if (said_.size() >= most_lines || std::ranges::find(said_, why, &line::text) != said_.end()) {
            ++unsaid_;
            return {};
        }
        said_.push_back({now_ms, why});
        if (const std::uint64_t n = std::exchange(unsaid_, 0); n != 0)
            why += " (" + std::to_string(n) + " more were turned away since the line before)";
        return why;
    }
    [[nodiscard]] std::uint64_t count() const noexcept { return all_; }

private:
    static constexpr std::uint64_t minute_ms = 60'000;
    static constexpr std::size_t most_lines = 10;  // in a minute
    struct line {
        std::uint64_t at = 0;
        std::string text;
    };
    std::vector<line> said_;
    std::uint64_t all_ = 0, unsaid_ = 0;
};

}  // namespace tutti::cluster::replica
