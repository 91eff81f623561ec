// The latest calls that ran for long, which SLOWLOG shows. Long calls are truncated to a few kilobytes.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/calls/timed_call.hpp"
#include "tutti/server/reply.hpp"

namespace tutti::server {

class slow_log {
public:
    struct slow_call {
        std::uint64_t id = 0;
        std::int64_t time = 0;  ///< seconds since 1970
        std::chrono::nanoseconds ran{}, waited{};
        int priority = 0;
        unsigned interruptions = 0;
        call_outcome how = call_outcome::ok;
        std::vector<std::string> words{};
        std::string address{}, client{};
    };

    /// Keeps the latest `max_calls` calls that run for longer than `slower_than`. Keeps nothing if `slower_than` is
    /// negative, or `max_calls` is 0.
    slow_log(std::chrono::microseconds slower_than, std::size_t max_calls) noexcept
        : slower_than_{slower_than.count() < 0 || max_calls == 0 || slower_than > max_duration ? max_duration
                                                                                               : slower_than},
          max_calls_{max_calls} {}

    [[nodiscard]] bool is_slow(std::chrono::nanoseconds ran) const noexcept { return ran > slower_than_; }
    /// Records a call that has ended after running for `ran`. @throws std::bad_alloc
    void add(const timed_call& c, std::chrono::nanoseconds ran, instant now, std::string address, std::string client);

    /// Writes the newest `count` calls, in the format of SLOWLOG GET.
    void write(std::size_t count, reply& to) const;
    [[nodiscard]] std::size_t size() const;
    void reset() noexcept;

private:
    /// Returns the words of a call, limited in number and length. As in Redis, the result states the number of omitted
    /// words and bytes.
    [[nodiscard]] static std::vector<std::string> cut(std::span<const std::string_view> words);
    /// The longest duration that nanoseconds can hold. No call runs for that long.
    static constexpr auto max_duration =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::nanoseconds::max());

    const std::chrono::nanoseconds slower_than_;
    const std::size_t max_calls_;
    mutable std::mutex mutex_;
    std::deque<slow_call> newest_first_;
    std::uint64_t next_id_ = 0;
};

}  // namespace tutti::server
