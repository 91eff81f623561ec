// A program as data: what a seed makes, the interpreter and the model run, and the shrinker cuts down.
//
// In writing a step is `(name first second body)`, and an `either` has its second body behind `(or ...)`. Options of a
// block follow its name: `(closed:read_only:visible 0 0 (word_get 1 0))`.
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
    swallows = 1,          ///< the caller catches what the body throws, and goes on
    read_only = 2,         ///< options::read_only
    as_visible = 4,        ///< options::mode
    as_irrevocable = 8,    ///< options::mode
    timed = 16,            ///< options::deadline, so many microseconds as the first number says
    refuses = 32,          ///< missed_deadline::refuse
    strictly_option = 64,  ///< by `atomically` instead of `try_atomically`: a cancel is an exception
    holds_block = 128,     ///< of a hook: it captures an object whose destructor runs a block
    starved = 256,         ///< of a data step or hook: allocations fail, the first, the second, ... until it succeeds
    fragile = 512,         ///< of a data step: copies of its values run blocks, and fail in the same way
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
    int copies = 1;  ///< so many threads run the one there is
};

/// Takes out of a program what has no meaning where it is: a write in a block that only reads, `give_way` outside a
/// first alternative, and so on. What is left is well formed.
void prune(program& p);

[[nodiscard]] std::string print(const program& p);
/// Throws std::invalid_argument.
[[nodiscard]] program parse(std::string_view text);
/// How many steps it has.
[[nodiscard]] std::size_t size_of(const program& p);
/// The names of the steps and options that it has; options begin with a colon. More than one thread, and more than
/// three, are an ingredient each.
[[nodiscard]] std::set<std::string> ingredients(const program& p);

}  // namespace crossings
