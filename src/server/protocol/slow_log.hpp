// The latest calls that took long to run, as SLOWLOG shows them. Each call is cut to a few kilobytes.
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
    struct entry {
        std::uint64_t id = 0;
        std::int64_t noted = 0;  ///< seconds since 1970
        std::chrono::nanoseconds ran{}, waited{};
        int priority = 0;
        unsigned interruptions = 0;
        ending how = ending::ok;
        std::vector<std::string> words{};
        std::string address{}, client{};
    };

    /// Keeps the latest `most` calls that run for longer than `slower_than`. Keeps nothing if `slower_than` is
    /// negative, or `most` is 0.
    slow_log(std::chrono::microseconds slower_than, std::size_t most) noexcept
        : slower_than_{slower_than.count() < 0 || most == 0 || slower_than > longest ? longest : slower_than},
          most_{most} {}

    [[nodiscard]] bool takes(std::chrono::nanoseconds ran) const noexcept { return ran > slower_than_; }
    /// Records a call that has ended after running for `ran`. @throws std::bad_alloc
    void note(const timed_call& c, std::chrono::nanoseconds ran, instant now, std::string address, std::string client);

    /// Writes the newest `count` calls, in the format of SLOWLOG GET.
    void show(std::size_t count, reply& to) const;
    [[nodiscard]] std::size_t size() const;
    void reset() noexcept;

private:
    /// Returns the words of a call, limited in number and length. Omitted words and bytes are counted, as in Redis.
    [[nodiscard]] static std::vector<std::string> cut(std::span<const std::string_view> words);
    /// The longest duration that nanoseconds can hold. No call runs for that long.
    static constexpr auto longest =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::nanoseconds::max());

    const std::chrono::nanoseconds slower_than_;
    const std::size_t most_;
    mutable std::mutex mutex_;
    std::deque<entry> newest_first_;
    std::uint64_t next_id_ = 0;
};

}  // namespace tutti::server
