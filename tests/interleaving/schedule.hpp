// Which thread runs next: the situation, the strategy that chooses, and how a sequence of choices is written down.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace interleaving {

/// Threads of a program are numbered from 0; a set of them is a bit mask.
using thread_set = std::uint32_t;
constexpr thread_set only(int thread) noexcept { return thread_set{1} << thread; }

/// A moment at which more than one thread could go on.
struct situation {
    std::uint32_t point = 0;  ///< counts the chances to switch of this execution, from 1
    int usual = 0;            ///< the thread that goes on by itself: the running thread if it can, else the next one
    bool preempting = false;  ///< whether taking anybody else interrupts a thread that could go on
    thread_set ready = 0;     ///< the threads that could go on
    thread_set timeouts = 0;  ///< the threads that sleep with a time limit that could run out now
    [[nodiscard]] thread_set all() const noexcept { return ready | timeouts; }
};

class strategy {
public:
    virtual ~strategy() = default;
    /// A thread out of `now.all()`. Called on a program's own stack: it must not throw.
    virtual int choose(const situation& now) noexcept = 0;
};

/// A choice that was not the usual one.
struct decision {
    std::uint32_t point;
    int thread;
    friend bool operator==(const decision&, const decision&) = default;
};

/// Written "12@1,40@0": at point 12 thread 1 went on, at point 40 thread 0, and the usual one everywhere else; "-" if
/// there was no decision.
using schedule = std::vector<decision>;
[[nodiscard]] std::string to_string(const schedule& decisions);
/// Throws std::invalid_argument for anything that to_string does not write.
[[nodiscard]] schedule parse_schedule(std::string_view text);

}  // namespace interleaving
