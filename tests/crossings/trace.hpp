// The actions and results of a thread of a program, event by event.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "failing.hpp"
#include "program.hpp"

namespace crossings {

enum class happening : std::uint8_t {
    enters,     ///< a body begins; a: the call that runs it, b: its `enclosure`
    asks,       ///< a body is about to end; a: the call, b: its `wish`, c: the exception
    caught,     ///< the body has caught the exception of one of its steps, and continues
    leaves,     ///< the call has ended; a: the call, b: its `outcome`, c: the exception
    did,        ///< a data step; c: its result
    is_strict,  ///< a: the call whose body asked, c: tx::irrevocable
    strict,     ///< tx::become_irrevocable has returned
    hooked,     ///< a hook is being registered, or, if c is 1, has been; a: its number, b: its `point`
    runs,       ///< a hook begins; a: its number, b: its `point`
    has_run,    ///< a hook ends; a: its number, c: its exception, or 0
    told,       ///< a participant was called; a: its number, b: its `telling`
};

/// The kind of a body within its parent.
enum class enclosure : std::uint8_t { outermost, closed, flat, apart, first_alternative, last_alternative, undo };
enum class wish : std::uint8_t { to_end, to_cancel, to_throw, to_restart, to_retry };
enum class outcome : std::uint8_t { done, cancelled, threw };
enum class point : std::uint8_t { before_commit, at_commit, on_commit, on_abort, participant, undo };
enum class telling : std::uint8_t { prepare, commit, abort, rolled_back };

/// Identifies an exception. A `fail` step throws a number from `planned` on.
enum thrown : long {
    nothing_thrown,
    cancelled_thrown,
    usage_error_thrown,
    interrupted_thrown,
    missed_thrown,
    other_thrown,
    planned
};

struct event {
    happening what{};
    step of{};
    int a = 0;
    int b = 0;
    int first = 0;
    int second = 0;
    unsigned options = 0;
    long c = 0;
    std::uint32_t when = 0;
};

/// The events of one thread. All threads share one time.
class trace {
public:
    explicit trace(std::atomic<std::uint32_t>& clock) : clock_{clock} {}
    void note(event e) {
        const undisturbed nothing_fails;
        e.when = clock_.fetch_add(1);
        events_.push_back(e);
    }
    [[nodiscard]] const std::vector<event>& events() const { return events_; }

private:
    std::atomic<std::uint32_t>& clock_;
    std::vector<event> events_;
};

[[nodiscard]] std::string print(const event& e);

}  // namespace crossings
