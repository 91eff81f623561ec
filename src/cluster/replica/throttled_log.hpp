// Log lines about rejected connections. At most a few lines a minute are logged, however many connections are rejected.
//
// Not thread-safe: a throttled_log belongs to the loop's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tutti::cluster::replica {

class throttled_log {
public:
    /// Counts one more rejected connection. Returns the line to log, or nothing if the same line or too many lines were
    /// logged within the last minute.
    [[nodiscard]] std::string reject(std::string why, std::uint64_t now_ms) {
        ++all_;
        // Cleans the text, because an unknown client may have chosen some of the words. The client must not be able to
        // write lines of its own.
        std::ranges::replace_if(why, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
        std::erase_if(logged_, [now_ms](const log_line& l) { return now_ms - l.at >= minute_ms; });
        if (logged_.size() >= max_lines || std::ranges::find(logged_, why, &log_line::text) != logged_.end()) {
            ++suppressed_;
            return {};
        }
        logged_.push_back({now_ms, why});
        if (const std::uint64_t n = std::exchange(suppressed_, 0); n != 0)
            why += " (" + std::to_string(n) + " more were rejected since the line before)";
        return why;
    }
    [[nodiscard]] std::uint64_t count() const noexcept { return all_; }

private:
    static constexpr std::uint64_t minute_ms = 60'000;
    static constexpr std::size_t max_lines = 10;  // per minute
    struct log_line {
        std::uint64_t at = 0;
        std::string text;
    };
    std::vector<log_line> logged_;
    std::uint64_t all_ = 0, suppressed_ = 0;
};

}  // namespace tutti::cluster::replica
