// The answers of calls with a key (CALL ID key …). A client may fail to get its answer, because its connection broke or
// the call took too long. Then the client sends the call again with the same key, and gets the answer of the first
// call. The second call does not run.
//
//   unknown -> begin() -> in progress -> store()    answered, for a while
//                                  \-> remove()  unknown again: the call has not run, or its client disconnected
//
// The oldest answers are removed when there are too many answers, when they use too many bytes, or after a while. Calls
// in progress are never removed.
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

class reply_cache {
public:
    struct limits {
        std::size_t answers;
        std::size_t bytes;
        std::chrono::milliseconds time;
    };
    explicit reply_cache(const limits& bounds) noexcept : limits_{bounds} {}

    enum class state : std::uint8_t { fresh, in_progress, answered, another_call };
    /// Looks up a key, and returns its state. A key belongs to one call: `call` identifies the procedure, its arguments
    /// and the form of the answer. If the state is `answered`, `answer` receives the answer.
    [[nodiscard]] state begin(std::string_view key, std::size_t call, std::string& answer, instant now);
    /// Stores the answer. REQUIRES: begin() has returned `fresh`. @throws std::bad_alloc  then the key is removed
    void store(std::string_view key, std::string_view answer, instant now);
    void remove(std::string_view key) noexcept;
    /// Adds an answer that another server has given, or that this server gave before its start. Replaces an earlier
    /// answer with the same key.
    /// REQUIRES: answers are added in the order in which they were given. @throws std::bad_alloc
    void restore(std::string_view key, std::size_t call, std::string_view answer, instant since);

private:
    struct cached_reply {
        std::string key, answer;
        std::size_t call;
        instant since;
        bool answered = false;
    };
    using iterator = std::list<cached_reply>::iterator;
    // REQUIRES: mutex_ is locked.
    iterator add(std::string_view key, std::size_t call, instant now);
    void finish(iterator which, std::string_view answer, instant now);
    void trim(instant now) noexcept;
    void erase(iterator which) noexcept;

    const limits limits_;
    std::mutex mutex_;
    std::list<cached_reply> in_progress_;
    std::list<cached_reply> answered_;  // oldest first
    std::size_t bytes_ = 0;             // bytes of the answered calls
    std::unordered_map<std::string_view, iterator> by_key_;
};

}  // namespace tutti::server
