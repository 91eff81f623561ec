#include "hardware/software_htm.hpp"

// The library for users contains nothing of this file.
#if defined(TUTTI_INTERLEAVE) || defined(TUTTI_FAULTS)

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/futex.hpp"
#include "base/panic.hpp"
#include "base/scheduling.hpp"
#include "core/rollback/signal.hpp"
#include "hardware/aborts.hpp"
#include "memory/place.hpp"

namespace tutti::hardware {
namespace {

using core::descriptor;
using core::word;

struct seen {
    const void* from;
    unsigned size;
    word value;
};

struct attempt {
    std::vector<seen> log;
    bool runs = false;
};

/// The state of the stand-in. All accesses to it are inside a step.
struct machine {
    conditions now;
    std::uint64_t random = 1;
    std::uint64_t commits = 0;
    std::unordered_map<std::uint32_t, attempt> attempts;  // by the number of the descriptor
};

machine& the_machine() {
    static machine it;
    return it;
}

attempt& attempt_of(const descriptor& d) { return the_machine().attempts[d.id]; }

bool is_current(const attempt& a) noexcept {
    return std::ranges::all_of(a.log, [](const seen& s) { return memory::load_bytes(s.from, s.size) == s.value; });
}

std::uint64_t draw(machine& m) noexcept {
    m.random ^= m.random << 13;
    m.random ^= m.random >> 7;
    m.random ^= m.random << 17;
    return m.random;
}

/// Draws a random failure, or none.
core::hardware_verdict mishap() noexcept {
    machine& m = the_machine();
    if (m.now.one_in == 0 || draw(m) % m.now.one_in != 0) return std::nullopt;
    constexpr hardware_abort of_processors[] = {
        hardware_abort::conflict, hardware_abort::conflict, hardware_abort::interrupt, hardware_abort::interrupt,
        hardware_abort::capacity, hardware_abort::debug,    hardware_abort::nested};
    return of_processors[draw(m) % std::size(of_processors)];
}

#if defined(TUTTI_INTERLEAVE)

constinit unsigned steps_open = 0;
void enter() noexcept { ++steps_open; }
void exit() noexcept { --steps_open; }

#else

// A step, or an access of another thread, holds the bus.
constinit std::atomic<bool> bus{false};
constinit std::atomic<bool> in_use{false};  // accesses need not take turns before the hardware is first used
thread_local constinit unsigned steps_open = 0;

void take_bus() noexcept {
    for (unsigned turns = 1; bus.exchange(true, std::memory_order_acquire); ++turns) {
        if (turns % 64 == 0) base::yield();  // the holder of the bus may need this processor
        else base::spin_turn();
    }
}
void enter() noexcept {
    if (steps_open++ == 0) take_bus();
}
void exit() noexcept {
    if (--steps_open == 0) bus.store(false, std::memory_order_release);
}

/// Parses a setting such as "seed=7 one_in=50 reads=64 writes=16".
conditions parse(std::string_view text) {
    conditions all;
    while (!text.empty()) {
        const std::string_view wish = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(wish.size() + 1, text.size()));
        const std::size_t equals = wish.find('=');
        const std::string_view name = wish.substr(0, equals);
        if (equals == std::string_view::npos) base::panic("TUTTI_SOFTWARE_HTM: a wish without a value");
        const auto value = static_cast<std::uint32_t>(std::strtoul(wish.data() + equals + 1, nullptr, 10));
        if (name == "seed") all.seed = value;
        else if (name == "one_in") all.one_in = value;
        else if (name == "reads") all.reads = value;
        else if (name == "writes") all.writes = value;
        else if (name == "missing") all.missing = value;
        else base::panic("TUTTI_SOFTWARE_HTM: valid are seed, one_in, reads, writes, missing");
    }
    return all;
}

#endif

}  // namespace

bool within_a_step() noexcept { return steps_open != 0; }

software_htm::one_step::one_step() noexcept { enter(); }
software_htm::one_step::~one_step() { exit(); }

void software_htm::set(const conditions& now) {
    const one_step together;
    machine& m = the_machine();
    m.now = now;
    m.random = now.seed * 0x9e3779b97f4a7c15U | 1;
    m.commits = 0;
    m.attempts.clear();
}

std::uint64_t software_htm::commits() noexcept {
    const one_step together;
    return the_machine().commits;
}

bool software_htm::exists() noexcept {
#if defined(TUTTI_FAULTS)
    static const bool made = [] {
        const char* const given = std::getenv("TUTTI_SOFTWARE_HTM");
        set(parse(given != nullptr ? given : ""));
        in_use.store(true, std::memory_order_seq_cst);
        return true;
    }();
    return made;
#else
    return true;
#endif
}

bool software_htm::begin(descriptor& d) {
    const one_step together;
    attempt& a = attempt_of(d);
    if (a.runs) base::panic("a hardware attempt begins inside another of the same context");
    a.log.clear();
    a.runs = true;
    if (the_machine().now.last_only) return true;
    if (const core::hardware_verdict why = mishap()) {
        close(d, why);
        return false;
    }
    return true;
}

word software_htm::look(descriptor& d, const void* from, unsigned size) {
    core::hardware_verdict why;
    {
        const one_step together;
        attempt& a = attempt_of(d);
        if (!a.runs) base::panic("a read in hardware outside of a hardware attempt");
        const word value = memory::load_bytes(from, size);
        a.log.push_back({from, size, value});
        machine& m = the_machine();
        if (a.log.size() > m.now.reads) why = hardware_abort::capacity;
        else if (m.now.missing != 0 && value == m.now.missing) why = hardware_abort::interrupt;
        else if (!is_current(a)) why = hardware_abort::conflict;
        else if (!m.now.last_only) why = mishap();
        if (!why) return value;
    }
    abort(d, *why);
}

core::hardware_verdict software_htm::last_look(descriptor& d) {
    attempt& a = attempt_of(d);
    if (!a.runs) base::panic("a commit in hardware outside of a hardware attempt");
    if (!is_current(a)) return hardware_abort::conflict;
    if (d.writes.size() > the_machine().now.writes) return hardware_abort::capacity;
    return mishap();
}

void software_htm::close(descriptor& d, core::hardware_verdict why) noexcept {
    attempt_of(d).runs = false;
    if (why) note_abort(d, *why);
    else ++the_machine().commits;
}

void software_htm::leave(descriptor& d) noexcept {
    const one_step together;
    attempt_of(d).runs = false;
}

void software_htm::abort(descriptor& d, hardware_abort why) {
    {
        const one_step together;
        close(d, why);
    }
    core::attempt_abort(d, abort_cause::hardware);
}

void software_htm::refresh(descriptor& d) {
    bool current = false;
    {
        const one_step together;
        current = is_current(attempt_of(d));
    }
    if (!current) abort(d, hardware_abort::conflict);
}

}  // namespace tutti::hardware

#if defined(TUTTI_FAULTS)

namespace tutti::detail {

access_turn::access_turn() noexcept
    : holds_{hardware::in_use.load(std::memory_order_relaxed) && hardware::steps_open == 0} {
    if (holds_) hardware::take_bus();
}
access_turn::~access_turn() {
    if (holds_) hardware::bus.store(false, std::memory_order_release);
}

}  // namespace tutti::detail

#endif

#endif
