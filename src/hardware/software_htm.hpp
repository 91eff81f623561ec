// Hardware transactions simulated in software, for tests: an implementation of the port core/ports/hardware.hpp. Tests
// use it if the processor has no hardware transactions, or if a test needs a certain behavior.
//
// The simulation gives the guarantees of a processor. An attempt logs its reads with their values, and checks the whole
// log again at each read. Its stores are kept in d.writes, and `commit` makes them after a last check. Each read and
// each commit is one step (`atomic_step`): no access of another context comes between the parts of a step, not even an
// access by the engine's software half (strong isolation). So the values that an attempt has read belong to one
// instant at all times, and its commit is atomic. Two builds make steps atomic:
//   in the interleaving build   the scheduler does not switch within a step
//   in the library with faults  every access to a shared<T>, and every load and store of the engine, takes turns with
//                               the steps (detail::interleaving_lock)
// The simulation cannot watch accesses that bypass the engine. Such accesses are those to private memory, and all
// accesses while a transaction runs alone. Before them, the engine waits for all attempts, including simulated ones.
//
// The simulation differs from a processor in one way: a word that was changed and changed back is no conflict. This
// difference helps to find mistakes. `failure_conditions` produce conflicts without a cause, a full cache, interrupts,
// breakpoints and nesting.
#pragma once

#include <cstdint>

#include "core/ports/hardware.hpp"

namespace tutti::hardware {

/// The failures that the simulation produces. One step in `one_in`, drawn from `seed`, ends its attempt with an abort
/// reason of the processor (0: never). An attempt can read at most `reads` words and write at most `writes`. If
/// `commits_only`, only commits fail. A read that finds the value `missing` is interrupted, as if the page were not
/// present (0: never).
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
    /// Sets the conditions for all later steps, and forgets every attempt. The library with faults starts with the
    /// conditions in TUTTI_SOFTWARE_HTM, such as "seed=7 one_in=50 reads=64 writes=16".
    static void set_conditions(const failure_conditions& conditions);
    /// Returns how many attempts have committed since `set_conditions`, except attempts that only read.
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
    /// A step of the simulation. While a step object lives, no other context accesses memory that the engine shares.
    /// Steps nest.
    class atomic_step {
    public:
        atomic_step() noexcept;
        ~atomic_step();
        atomic_step(const atomic_step&) = delete;
        atomic_step& operator=(const atomic_step&) = delete;
    };
    [[nodiscard]] static core::word read_and_check(core::descriptor& d, const void* from, unsigned size);
    /// Returns the reason why the simulated processor must reject the commit of d, if there is a reason.
    [[nodiscard]] static core::hardware_verdict check_commit(core::descriptor& d);
    /// Ends the attempt, either by its commit or for a reason that the function records.
    static void end_attempt(core::descriptor& d, core::hardware_verdict why) noexcept;
};
static_assert(core::hardware<software_htm>);

/// Returns true if a step is in progress. Only the interleaving build, where one thread runs everything, uses this
/// function.
[[nodiscard]] bool is_within_step() noexcept;

}  // namespace tutti::hardware
