// Hardware transactions in software, for tests: an implementation of the port core/ports/hardware.hpp. Tests use it
// where the processor has no hardware transactions, or does not behave as a test demands.
//
// It gives the guarantees of a processor. An attempt logs its reads with their values, and checks the whole log again
// at each read. Its stores wait in d.writes, and `commit` makes them after a last check. Each of these is one step
// (`atomic_step`): no access of another context comes between its parts, not even one of the engine's software half
// (`strong isolation`). So the values that an attempt has read belong to one instant at all times, and its commit is
// atomic.
//   in the interleaving build   the scheduler does not switch within a step
//   in the library with faults  every access to a shared<T>, and every load and store of the engine, takes turns with
//                               the steps (detail::interleaving_lock)
// It cannot watch accesses that bypass the engine. Those are to private memory, and to all memory while a transaction
// runs alone. Before them the engine waits for all attempts, including those of the simulation.
//
// In one way it differs from a processor: a word that was changed and changed back is no conflict. That helps to find
// mistakes. `failure_conditions` produce conflicts without a cause, a full cache, interrupts, breakpoints and nesting.
#pragma once

#include <cstdint>

#include "core/ports/hardware.hpp"

namespace tutti::hardware {

/// The failures to produce. One step in `one_in`, drawn from `seed`, ends its attempt for a reason of the processor (0:
/// no step). An attempt reads at most `reads` words and writes at most `writes`. `commits_only`: only commits fail. A
/// read that finds the value `missing` is interrupted, as by a page that is not present (0: no read is).
struct failure_conditions {
    std::uint64_t seed = 1;
    std::uint32_t one_in = 0;
    std::uint32_t reads = ~std::uint32_t{0};
    std::uint32_t writes = ~std::uint32_t{0};
    std::uint32_t missing = 0;
    bool commits_only = false;
};

/// The simulation. Thread safety: each context runs its own attempts; call `set_conditions` while no attempt runs.
class software_htm {
public:
    /// Sets the conditions from here on, and forgets every attempt. The library with faults begins with those of
    /// TUTTI_SOFTWARE_HTM, as in "seed=7 one_in=50 reads=64 writes=16".
    static void set_conditions(const failure_conditions& conditions);
    /// Returns how many attempts have committed since `set_conditions`, except those that only read.
    [[nodiscard]] static std::uint64_t commits() noexcept;

    [[nodiscard]] static bool exists() noexcept;
    [[nodiscard]] static bool begin(core::descriptor& d);

    template <class Location>
    [[nodiscard]] static core::word read(core::descriptor& d, const Location& location) {
        return read_and_check(d, location.location(), location.size());
    }
    [[nodiscard]] static core::word watch(core::descriptor& d, const detail::shared<core::word>& w) {
        return read_and_check(d, &w.raw(), sizeof(core::word));
    }
    template <class Last>
    [[nodiscard]] static bool commit(core::descriptor& d, Last&& last) {
        const atomic_step step;
        core::hardware_verdict against = check_commit(d);
        if (!against) against = last();
        end_attempt(d, against);
        return !against;
    }
    static void leave(core::descriptor& d) noexcept;
    [[noreturn]] static void abort(core::descriptor& d, hardware_abort why);
    static void refresh(core::descriptor& d);

private:
    /// A step: while it lives, no other context accesses memory that the engine shares. Steps nest.
    class atomic_step {
    public:
        atomic_step() noexcept;
        ~atomic_step();
        atomic_step(const atomic_step&) = delete;
        atomic_step& operator=(const atomic_step&) = delete;
    };
    [[nodiscard]] static core::word read_and_check(core::descriptor& d, const void* from, unsigned size);
    /// Returns why the commit of d must fail, as far as the processor knows.
    [[nodiscard]] static core::hardware_verdict check_commit(core::descriptor& d);
    /// Ends the attempt: committed, or for a reason, which it records.
    static void end_attempt(core::descriptor& d, core::hardware_verdict why) noexcept;
};
static_assert(core::hardware<software_htm>);

/// Returns true if a step is in progress. For the interleaving build, where one thread runs everything.
[[nodiscard]] bool is_within_step() noexcept;

}  // namespace tutti::hardware
