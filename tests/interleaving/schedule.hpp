// The choice of the next thread: the situation, the strategy that chooses, and the text form of a sequence of choices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace interleaving {

/// Threads of a program are numbered from 0; a set of them is a bit mask.
using thread_set = std::uint32_t;
constexpr thread_set only(int thread) noexcept { return thread_set{1} << thread; }

/// A point at which more than one thread could continue.
struct situation {
    std::uint32_t point = 0;  ///< counts the switch points of this execution, from 1
    int usual = 0;            ///< the default choice: the running thread if it can continue, otherwise the next one
    bool preempting = false;  ///< true if any other choice interrupts a thread that could continue
    thread_set ready = 0;     ///< the threads that can continue
    thread_set timeouts = 0;  ///< the threads that sleep with a time limit that could expire now
    [[nodiscard]] thread_set all() const noexcept { return ready | timeouts; }
};

class strategy {
public:
    virtual ~strategy() = default;
    /// Returns a thread in `now.all()`. Runs on a program's own stack and must not throw.
    virtual int choose(const situation& now) noexcept = 0;
};

/// A choice that differs from the default.
struct decision {
    std::uint32_t point;
    int thread;
    friend bool operator==(const decision&, const decision&) = default;
};

/// A schedule has the text form "12@1,40@0": thread 1 continues at point 12, thread 0 at point 40, and the default one
/// everywhere else. "-" means that there are no decisions.
using schedule = std::vector<decision>;
[[nodiscard]] std::string to_string(const schedule& decisions);
/// Parses a schedule. Throws std::invalid_argument for text that to_string does not produce.
[[nodiscard]] schedule parse_schedule(std::string_view text);

}  // namespace interleaving
