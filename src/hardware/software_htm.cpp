#include "hardware/software_htm.hpp"

// This file is empty in the library that users install.
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
#include "memory/location.hpp"

namespace tutti::hardware {
namespace {

using core::descriptor;
using core::word;

struct logged_read {
    const void* from;
    unsigned size;
    word value;
};

struct attempt {
    std::vector<logged_read> log;
    bool is_running = false;
};

/// The state of the simulation. Code accesses it only inside a step.
struct simulated_processor {
    failure_conditions conditions;
    std::uint64_t random = 1;
    std::uint64_t commits = 0;
    std::unordered_map<std::uint32_t, attempt> attempts;  // by the number of the descriptor
};

simulated_processor& processor() {
    static simulated_processor instance;
    return instance;
}

attempt& attempt_of(const descriptor& d) { return processor().attempts[d.id]; }

bool is_current(const attempt& a) noexcept {
    return std::ranges::all_of(a.log,
                               [](const logged_read& s) { return memory::load_bytes(s.from, s.size) == s.value; });
}

std::uint64_t next_random(simulated_processor& m) noexcept {
    m.random ^= m.random << 13;
    m.random ^= m.random >> 7;
    m.random ^= m.random << 17;
    return m.random;
}

/// Decides at random whether the step fails, and returns the reason.
core::hardware_verdict draw_failure() noexcept {
    simulated_processor& m = processor();
    if (m.conditions.one_in == 0 || next_random(m) % m.conditions.one_in != 0) return std::nullopt;
    constexpr hardware_abort of_processors[] = {
        hardware_abort::conflict, hardware_abort::conflict, hardware_abort::interrupt, hardware_abort::interrupt,
        hardware_abort::capacity, hardware_abort::debug,    hardware_abort::nested};
    return of_processors[next_random(m) % std::size(of_processors)];
}

#if defined(TUTTI_INTERLEAVE)

constinit unsigned steps_open = 0;
void enter() noexcept { ++steps_open; }
void exit() noexcept { --steps_open; }

#else

// The simulated memory bus. A step, and each access of another thread, acquires the bus.
constinit std::atomic<bool> bus{false};
constinit std::atomic<bool> simulation_is_used{
    false};  // accesses need not take turns before the hardware is first used
thread_local constinit unsigned steps_open = 0;

void acquire_bus() noexcept {
    for (unsigned turns = 1; bus.exchange(true, std::memory_order_acquire); ++turns) {
        if (turns % 64 == 0) base::yield();  // the holder of the bus may need this processor
        else base::spin_turn();
    }
}
void enter() noexcept {
    if (steps_open++ == 0) acquire_bus();
}
void exit() noexcept {
    if (--steps_open == 0) bus.store(false, std::memory_order_release);
}

/// Parses the text of `failure_conditions`, such as "seed=7 one_in=50 reads=64 writes=16".
failure_conditions parse(std::string_view text) {
    failure_conditions all;
    while (!text.empty()) {
        const std::string_view setting = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(setting.size() + 1, text.size()));
        const std::size_t equals = setting.find('=');
        const std::string_view name = setting.substr(0, equals);
        if (equals == std::string_view::npos) base::panic("TUTTI_SOFTWARE_HTM: a setting without a value");
        const auto value = static_cast<std::uint32_t>(std::strtoul(setting.data() + equals + 1, nullptr, 10));
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

bool is_within_step() noexcept { return steps_open != 0; }

software_htm::atomic_step::atomic_step() noexcept { enter(); }
software_htm::atomic_step::~atomic_step() { exit(); }

void software_htm::set_conditions(const failure_conditions& conditions) {
    const atomic_step step;
    simulated_processor& m = processor();
    m.conditions = conditions;
    m.random = conditions.seed * 0x9e3779b97f4a7c15U | 1;
    m.commits = 0;
    m.attempts.clear();
}

std::uint64_t software_htm::commits() noexcept {
    const atomic_step step;
    return processor().commits;
}

bool software_htm::exists() noexcept {
#if defined(TUTTI_FAULTS)
    static const bool is_set_up = [] {
        const char* const given = std::getenv("TUTTI_SOFTWARE_HTM");
        set_conditions(parse(given != nullptr ? given : ""));
        simulation_is_used.store(true, std::memory_order_seq_cst);
        return true;
    }();
    return is_set_up;
#else
    return true;
#endif
}

bool software_htm::begin(descriptor& d) {
    const atomic_step step;
    attempt& a = attempt_of(d);
    if (a.is_running) base::panic("a hardware attempt begins inside another of the same context");
    a.log.clear();
    a.is_running = true;
    if (processor().conditions.commits_only) return true;
    if (const core::hardware_verdict why = draw_failure()) {
        end_attempt(d, why);
        return false;
    }
    return true;
}

word software_htm::read_and_check(descriptor& d, const void* from, unsigned size) {
    core::hardware_verdict why;
    {
        const atomic_step step;
        attempt& a = attempt_of(d);
        if (!a.is_running) base::panic("a read in hardware outside of a hardware attempt");
        const word value = memory::load_bytes(from, size);
        a.log.push_back({from, size, value});
        simulated_processor& m = processor();
        if (a.log.size() > m.conditions.reads) why = hardware_abort::capacity;
        else if (m.conditions.missing != 0 && value == m.conditions.missing) why = hardware_abort::interrupt;
        else if (!is_current(a)) why = hardware_abort::conflict;
        else if (!m.conditions.commits_only) why = draw_failure();
        if (!why) return value;
    }
    abort(d, *why);
}

core::hardware_verdict software_htm::check_commit(descriptor& d) {
    attempt& a = attempt_of(d);
    if (!a.is_running) base::panic("a commit in hardware outside of a hardware attempt");
    if (!is_current(a)) return hardware_abort::conflict;
    if (d.writes.size() > processor().conditions.writes) return hardware_abort::capacity;
    return draw_failure();
}

void software_htm::end_attempt(descriptor& d, core::hardware_verdict why) noexcept {
    attempt_of(d).is_running = false;
    if (why) record_abort(d, *why);
    else ++processor().commits;
}

void software_htm::leave(descriptor& d) noexcept {
    const atomic_step step;
    attempt_of(d).is_running = false;
}

void software_htm::abort(descriptor& d, hardware_abort why) {
    {
        const atomic_step step;
        end_attempt(d, why);
    }
    core::attempt_abort(d, abort_cause::hardware);
}

void software_htm::refresh(descriptor& d) {
    bool current = false;
    {
        const atomic_step step;
        current = is_current(attempt_of(d));
    }
    if (!current) abort(d, hardware_abort::conflict);
}

}  // namespace tutti::hardware

#if defined(TUTTI_FAULTS)

namespace tutti::detail {

interleaving_lock::interleaving_lock() noexcept
    : holds_{hardware::simulation_is_used.load(std::memory_order_relaxed) && hardware::steps_open == 0} {
    if (holds_) hardware::acquire_bus();
}
interleaving_lock::~interleaving_lock() {
    if (holds_) hardware::bus.store(false, std::memory_order_release);
}

}  // namespace tutti::detail

#endif

#endif
