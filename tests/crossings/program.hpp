// A program as data. A seed generates it, the interpreter and the model run it, and the shrinker reduces it.
//
// In text form, a step is `(name first second body)`. The second body of an `either` follows the first one, in `(or
// ...)`. The options of a block follow its name: `(closed:read_only:visible 0 0 (word_get 1 0))`.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace crossings {

enum class step : std::uint8_t {
#define CROSSINGS_STEP(name, group, writes) name,
#include "steps.def"
#undef CROSSINGS_STEP
};
enum class group : std::uint8_t { block, ending, data, hook, mode };

#define CROSSINGS_STEP(name, group, writes) +1
inline constexpr int step_count = 0
#include "steps.def"
    ;
#undef CROSSINGS_STEP

[[nodiscard]] const char* name_of(step s) noexcept;
[[nodiscard]] group group_of(step s) noexcept;
[[nodiscard]] bool writes(step s) noexcept;

/// Options of a block.
enum option : unsigned {
    swallows = 1,          ///< the caller catches the body's exception, and continues
    read_only = 2,         ///< options::read_only
    as_visible = 4,        ///< options::mode
    as_irrevocable = 8,    ///< options::mode
    timed = 16,            ///< options::deadline; the first number gives the microseconds
    refuses = 32,          ///< missed_deadline::refuse
    strictly_option = 64,  ///< uses `atomically` instead of `try_atomically`: a cancel is an exception
    holds_block = 128,     ///< for a hook: it captures an object whose destructor runs a block
    starved = 256,  ///< for a data step or hook: allocations fail, the first, the second, ... until the step succeeds
    fragile = 512,  ///< for a data step: copies of its values run blocks, and fail in the same way
};

struct node {
    step what;
    unsigned options = 0;
    int first = 0;
    int second = 0;
    std::vector<node> body{};
    std::vector<node> other{};  ///< the second alternative
};

struct program {
    std::vector<std::vector<node>> threads;
    int copies = 1;  ///< number of threads that run the only body
};

/// Removes parts of a program that are meaningless in their place: a write in a read-only block, `retry` outside a
/// first alternative, and so on. The result is well formed.
void prune(program& p);

[[nodiscard]] std::string print(const program& p);
/// Parses a program. Throws std::invalid_argument.
[[nodiscard]] program parse(std::string_view text);
/// Returns the number of steps.
[[nodiscard]] std::size_t size_of(const program& p);
/// Returns the names of its steps and options; options begin with a colon. "More than one thread" and "more than three"
/// are ingredients as well.
[[nodiscard]] std::set<std::string> ingredients(const program& p);

}  // namespace crossings
