// Checks whether a history of transaction attempts is opaque.
//
// Guerraoui & Kapalka, "On the Correctness of Transactional Memory", PPoPP 2008: there is one serial order of all
// attempts, committed or not. It respects real time: an attempt that ended before another began comes first. In it,
// every attempt reads the writes of the latest committed attempt before it, or its own. The writes of an uncommitted
// attempt are invisible to others.
//
// The definition also covers every prefix of the history. Because written values are unique, it suffices to check the
// whole history, and that no value is read before its writer has asked to commit. Proof: take the serial order of the
// whole, and remove the events outside of the prefix. The source of a read has asked to commit within the prefix, so it
// may count as committed there. Removing other writers cannot put one between a read and its source. The order still
// respects real time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace interleaving {

using value = std::int64_t;
/// Time is the number of an event. Two events never happen at the same time.
using instant = std::uint32_t;
inline constexpr instant never = ~instant{0};

struct operation {
    enum class kind : std::uint8_t {
        read,
        write,
        open,   ///< a nested block begins
        close,  ///< the innermost nested block ends and becomes part of its parent
        undo,   ///< the innermost nested block is rolled back: its writes are undone, its reads still count
    };
    kind what;
    int place = 0;
    value v = 0;
    instant when = 0;
};

struct attempt {
    int thread = 0;
    instant begin = 0;      ///< not later than its first action
    instant asked = never;  ///< when its body had ended and the commit began
    instant end = never;    ///< not earlier than its last action; `never` while it runs
    bool committed = false;
    std::vector<operation> operations;
    instant irrevocable = never;  ///< from here on, no other transaction may abort it
    bool gave_up = false;         ///< it ended by its own cancel or exception
    bool doomed = false;          ///< another transaction was told that this one will not commit a write
};

/// REQUIRES: no value is written twice to a place, nor the initial one; the values of one thread are in order.
struct history {
    std::vector<value> initial;  ///< for each place
    std::vector<attempt> attempts;
};

/// Returns the attempt's name: "B2" is the second attempt of thread 1.
[[nodiscard]] std::string name_of(const history& h, std::size_t index);

/// Returns the violation, or nothing if the history is opaque.
[[nodiscard]] std::optional<std::string> find_violation(const history& h);

/// Returns the broken promise of the engine, if any: two attempts were irrevocable at once; or one was aborted against
/// its will; or one committed its writes although its killer was told that it would not. (A reader that was killed too
/// late to notice still reads a legal state.)
[[nodiscard]] std::optional<std::string> find_broken_promise(const history& h);

}  // namespace interleaving
