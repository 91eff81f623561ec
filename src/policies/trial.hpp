// Decides whether it pays to serialise a site: measured contention raises the question, and a trial answers it.
//
// The question: a moving average of the attempts between two defeats. It is the inverse of the contention intensity of
// Yoo and Lee, "Adaptive Transaction Scheduling for Transactional Memory Systems" (SPAA 2008). Only defeats update it,
// so a transaction that is not defeated pays nothing for it.
//
// The answer: a high rate of aborts does not mean that serialising pays. So short windows with and without it
// alternate, and the trial compares how many executions ended per time in the two. Windows are short and systems noisy,
// so serialising must win each round.
//
//              contended                       it won all rounds
//     resting ----------> without <-> within ----------> serial
//        ^                   | it lost one      term over | -> without, and so on
//        +-------------------+-- none came ---------------+
//
// A trial that finds that serialising does not pay doubles the rest after it.
//
// Thread safety: any thread may call anything. The thread that changes the phase holds `changing_`; no thread waits for
// that lock.
#pragma once

#include "base/clock.hpp"
#include "base/lock.hpp"
#include "core/lifecycle/ends.hpp"

namespace tutti::policies {

class contention_intensity {
public:
    /// Notes a defeat of a context's `attempts`th attempt since its previous defeat. Concurrent updates may be lost.
    void note_defeat(std::uint64_t attempts) noexcept;
    [[nodiscard]] bool is_high() const noexcept;

private:
    static constexpr std::uint32_t unit = 16;
    detail::shared<std::uint32_t> spacing_{64 * unit};  // attempts per defeat, in 16ths; at first: low contention
};

class trial {
public:
    enum class phase : std::uint32_t { resting, unserialised, serialised, serial };

    static constexpr std::chrono::milliseconds window{8};  ///< the shortest window
    static constexpr std::uint64_t min_executions = 32;    ///< executions; a window with fewer lasts longer
    static constexpr int max_windows = 16;                 ///< windows after which it ends in any case
    static constexpr int rounds = 3;                       ///< windows of each kind in a trial, at most
    /// The gain from which serialising begins; it continues from 1 on.
    static constexpr double gain = 1.1;
    static constexpr std::chrono::milliseconds term{400};  ///< the time until serialising has to prove itself again
    static constexpr std::chrono::milliseconds min_rest{200};
    static constexpr std::chrono::milliseconds max_rest{12800};

    [[nodiscard]] phase current_phase() const noexcept { return phase_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool is_resting() const noexcept { return current_phase() == phase::resting; }
    [[nodiscard]] bool is_serialising() const noexcept { return current_phase() >= phase::serialised; }

    /// Returns true if no trial is running, and it is not too early for the next.
    [[nodiscard]] bool may_begin(base::deadline now) const noexcept;
    /// Begins a trial, if that is allowed. Returns false otherwise, or if another thread begins one at the same time.
    bool begin(base::deadline now) noexcept;
    /// Counts the end of an execution. Returns true if that ended the trial, and the site rests from now on.
    bool count_end(base::deadline now) noexcept;
    /// Ends the trial if there were no executions for a long time. Returns true if it did, and the site rests from now
    /// on.
    bool end_if_idle(base::deadline now) noexcept;
    /// Ends the trial at once. Returns false if no trial is running.
    bool abandon() noexcept;

private:
    void enter(phase next, base::deadline now, std::chrono::nanoseconds lasting) noexcept;
    void begin_rest(base::deadline now) noexcept;
    void leave_window(base::deadline now) noexcept;

    detail::shared<phase> phase_{phase::resting};
    detail::shared<std::uint64_t> ended_{0};
    detail::shared<std::int64_t> due_{0};  // when the phase may end; resting: when a trial may begin

    // Under `changing_`.
    base::lock changing_;
    base::deadline entered_;
    std::uint64_t ended_before_ = 0;
    double rate_without_ = 0;  // of the previous window
    int rounds_won_ = 0;
    bool proven_ = false;
    std::chrono::milliseconds rest_ = min_rest;
};

}  // namespace tutti::policies
