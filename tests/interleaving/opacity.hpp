// Whether a history of transaction attempts is opaque.
//
// Guerraoui & Kapalka, "On the Correctness of Transactional Memory", PPoPP 2008: there is one serial order of all
// attempts, committed or not, that respects real time (an attempt that ended before another began comes first), and in
// which every attempt reads what the latest committed attempt before it wrote, or what it wrote itself. The writes of
// an attempt that did not commit are visible to no other.
//
// The definition asks this of every prefix of the history, too. Given that written values are unique, it is enough to
// ask it of the whole, and in addition that no value is read before its writer has asked to commit: take the serial
// order of the whole and leave out what the prefix does not contain. A read's source has asked to commit within the
// prefix, so it may count as committed there; leaving out other writers cannot put one between a read and its source;
// and the order still respects real time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace interleaving {

using value = std::int64_t;
/// Time is the number of an event. Two events never happen at once.
using instant = std::uint32_t;
inline constexpr instant never = ~instant{0};

struct operation {
    enum class kind : std::uint8_t {
        read,
        write,
        open,   ///< a nested block begins
        close,  ///< the innermost nested block ends and becomes part of its parent
        undo,   ///< the innermost nested block is rolled back: its writes are gone, its reads still count
    };
    kind what;
    int place = 0;
    value v = 0;
    instant when = 0;
};

struct attempt {
    int thread = 0;
    instant begin = 0;      ///< not later than the first thing that it did
    instant asked = never;  ///< when its body had ended and the commit began
    instant end = never;    ///< not earlier than the last thing that it did; `never` while it runs
    bool committed = false;
    std::vector<operation> operations;
    instant irrevocable = never;  ///< since when no other may abort it
    bool gave_up = false;         ///< it was left by a cancel or an exception of its own
    bool doomed = false;          ///< another was told that it will not commit a write
};

/// REQUIRES: no value is written twice to a place, nor its initial one; those of one thread are in their order.
struct history {
    std::vector<value> initial;  ///< of each place
    std::vector<attempt> attempts;
};

/// "B2": the second attempt of thread 1.
[[nodiscard]] std::string name_of(const history& h, std::size_t index);

/// What is wrong with it; nothing if it is opaque.
[[nodiscard]] std::optional<std::string> find_violation(const history& h);

/// Which promise of the engine was broken: two attempts irrevocable at once, one aborted against its will, or one that
/// committed what it wrote although its killer was told that it would not. (A reader that was killed too late to notice
/// is still a reader of a legal state.)
[[nodiscard]] std::optional<std::string> find_broken_promise(const history& h);

}  // namespace interleaving
