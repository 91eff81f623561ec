// Hardware transactions in software, for tests: the port core/ports/hardware.hpp where there is no such processor, and
// where there is one that does not do what a test asks for.
//
// It keeps what a processor promises. An attempt logs what it reads, with the value, and looks at the whole log again
// with each read; its stores wait in d.writes and are made by `commit`, after a last look. Each of these is one step
// (`one_step`): no access of another context comes between its parts, be it one of the engine's software half
// (`strong isolation`). So what an attempt has read is of one instant at all times, and its commit is atomic.
//   in the interleaving build   the scheduler does not switch within a step
//   in the library with faults  every access to a shared<T> and every load and store of the engine's takes a turn with
//                               the steps (detail::access_turn)
// What it cannot do is watch accesses that pass by the engine. Those happen to private memory, and to all memory while
// a transaction runs alone; the engine waits before them for all attempts, of which the stand-in's are.
//
// It is stricter in one way than a processor, which helps to find mistakes: a word that was changed and changed back is
// no conflict. Conflicts without a cause, a full cache, interrupts, breakpoints and nesting come by `conditions`.
#pragma once

#include <cstdint>

#include "core/ports/hardware.hpp"

namespace tutti::hardware {

/// What goes wrong: one step in `one_in`, drawn from `seed`, ends its attempt for a reason of the processor's (0:
/// none); an attempt reads `reads` words and writes `writes` at most. `last_only`: only commits go wrong. A read that
/// finds the value `missing` is interrupted, as by a page that is not there (0: none is).
struct conditions {
    std::uint64_t seed = 1;
    std::uint32_t one_in = 0;
    std::uint32_t reads = ~std::uint32_t{0};
    std::uint32_t writes = ~std::uint32_t{0};
    std::uint32_t missing = 0;
    bool last_only = false;
};

/// Thread safety: each context runs its own attempts; `set` while none runs.
class software_htm {
public:
    /// The conditions from here on; forgets every attempt. The library with faults begins with those of
    /// TUTTI_SOFTWARE_HTM, as in "seed=7 one_in=50 reads=64 writes=16".
    static void set(const conditions& now);
    /// How many attempts have been committed since `set`, but for those that only read.
    [[nodiscard]] static std::uint64_t commits() noexcept;

    [[nodiscard]] static bool exists() noexcept;
    [[nodiscard]] static bool begin(core::descriptor& d);

    template <class Place>
    [[nodiscard]] static core::word read(core::descriptor& d, const Place& place) {
        return look(d, place.location(), place.size());
    }
    [[nodiscard]] static core::word watch(core::descriptor& d, const detail::shared<core::word>& w) {
        return look(d, &w.raw(), sizeof(core::word));
    }
    template <class Last>
    [[nodiscard]] static bool commit(core::descriptor& d, Last&& last) {
        const one_step together;
        core::hardware_verdict against = last_look(d);
        if (!against) against = last();
        close(d, against);
        return !against;
    }
    static void leave(core::descriptor& d) noexcept;
    [[noreturn]] static void abort(core::descriptor& d, hardware_abort why);
    static void refresh(core::descriptor& d);

private:
    /// While it lives no other context accesses what the engine shares. Nests.
    class one_step {
    public:
        one_step() noexcept;
        ~one_step();
        one_step(const one_step&) = delete;
        one_step& operator=(const one_step&) = delete;
    };
    [[nodiscard]] static core::word look(core::descriptor& d, const void* from, unsigned size);
    /// Why the commit of d must fail, as far as the processor knows.
    [[nodiscard]] static core::hardware_verdict last_look(core::descriptor& d);
    /// The attempt is over: committed, or ended for a reason, which is noted.
    static void close(core::descriptor& d, core::hardware_verdict why) noexcept;
};
static_assert(core::hardware<software_htm>);

/// Whether a step is under way: in the interleaving build, where one thread runs everything.
[[nodiscard]] bool within_a_step() noexcept;

}  // namespace tutti::hardware
