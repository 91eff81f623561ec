// Answers of calls that came with a key (CALL ID key …): a client that has not got its answer, because its connection
// broke or the call took too long for it, asks again with the same key. It gets the answer of the first call, which is
// the only one that has run.
//
//   unknown -> begin() -> under way -> keep()    answered, for a while
//                                  \-> forget()  unknown again: it has not run, or ended because its client had gone
//
// The oldest answers are forgotten when there are too many, when they take too many bytes, or after a while; what is
// under way never is.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "server/calls/executor.hpp"
#include "tutti/server/reply.hpp"

namespace tutti::server {

class remembered {
public:
    struct bounds {
        std::size_t answers;
        std::size_t bytes;
        std::chrono::milliseconds time;
    };
    explicit remembered(const bounds& most) noexcept : most_{most} {}

    enum class state : std::uint8_t { fresh, under_way, answered, another_call };
    /// `call` stands for what is called and how it is answered: a key belongs to one. If the state is `answered`,
    /// `answer` gets it.
    [[nodiscard]] state begin(std::string_view key, std::size_t call, std::string& answer, instant now);
    /// REQUIRES: begin() has said `fresh`. @throws std::bad_alloc  then it is forgotten
    void keep(std::string_view key, std::string_view answer, instant now);
    void forget(std::string_view key) noexcept;
    /// The answer that another server, or this one before its start, has given; it takes the place of an earlier one.
    /// REQUIRES: in the order in which they were given. @throws std::bad_alloc
    void learn(std::string_view key, std::size_t call, std::string_view answer, instant since);

private:
    struct entry {
        std::string key, answer;
        std::size_t call;
        instant since;
        bool answered = false;
    };
    using place = std::list<entry>::iterator;
    // REQUIRES: the lock.
    place add(std::string_view key, std::size_t call, instant now);
    void settle(place which, std::string_view answer, instant now);
    void trim(instant now) noexcept;
    void drop(place which) noexcept;

    const bounds most_;
    std::mutex mutex_;
    std::list<entry> under_way_;
    std::list<entry> answered_;  // the oldest first
    std::size_t bytes_ = 0;      // of those answered
    std::unordered_map<std::string_view, place> by_key_;
};

}  // namespace tutti::server
