// A request of a client, from its last byte to its answer. Made, kept and used again by its receiver; between `submit`
// and `give_back` it is the executor's and its worker's.
//
//   R1  A request is in the order of its connection until it is answered, or until the connection is gone.
//   R2  One that was submitted is in its receiver's list of those under way until it is given back, whatever becomes of
//       its connection: an accepted call runs, also for a client that has left.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "server/invocation.hpp"
#include "server/probes.hpp"

namespace tutti::server {

class connection;
class request;

/// Whom a worker hands a request back to. Any thread.
class giver {
public:
    virtual void give_back(request& done) noexcept = 0;

protected:
    ~giver() = default;
};

class request final : public job {
public:
    explicit request(giver& home) noexcept : home_{home} {}

    void run() noexcept override {
        const instant start = std::chrono::steady_clock::now();
        began.store(start.time_since_epoch().count(), std::memory_order_relaxed);
        TUTTI_PROBE3(dispatch, what.which->what.name.c_str(), priority, (start - arrived).count());
        how_it_ended = server::run(what, arguments, answer);
        hand_back();
    }

    void cut_off() noexcept override {
        how_it_ended = server::run_over(what, answer);
        hand_back();
    }

    /// Copies the arguments, whose bytes will be gone when it runs.
    void keep(std::span<const std::string_view> words) {
        std::size_t bytes = 0;
        for (const std::string_view w : words) bytes += w.size();
        text_.clear();
        text_.reserve(bytes);
        arguments.clear();
        for (const std::string_view w : words) {
            arguments.emplace_back(text_.data() + text_.size(), w.size());
            text_.append(w);
        }
    }

    /// As new, but for its memory, of which it keeps little.
    void recycle() {
        constexpr std::size_t kept = 4096;
        what = {};
        priority = 0;
        due = no_deadline;
        if (answer.capacity() > kept) answer = {};
        if (text_.capacity() > kept) text_ = {};
        answer.clear();
        arguments.clear();
        began.store(0, std::memory_order_relaxed);
        how_it_ended = ending::ok;
        answered = over_limit = false;
        from = nullptr;
        behind = previous = next = nullptr;
    }

    invocation what;
    std::vector<std::string_view> arguments;
    std::string answer;
    instant arrived;
    /// When run() began, as the steady clock counts; 0: not yet.
    std::atomic<std::chrono::steady_clock::rep> began{0};
    ending how_it_ended = ending::ok;

    bool answered = false;            // `answer` may go out
    bool over_limit = false;          // its time limit has passed once
    connection* from = nullptr;       // null: nobody waits for the answer
    request* behind = nullptr;        // the next of its connection
    request* behind_given = nullptr;  // the one given back before it
    request* previous = nullptr;      // among those under way
    request* next = nullptr;

private:
    void hand_back() noexcept {
        TUTTI_PROBE3(answer, what.which->what.name.c_str(), priority, static_cast<int>(how_it_ended));
        home_.give_back(*this);
    }

    giver& home_;
    std::string text_;
};

}  // namespace tutti::server
