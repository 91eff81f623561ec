// Decides whether it pays to serialise a site. Measured contention starts a trial, and the trial decides.
//
// When a trial starts. A moving average of the number of attempts between two defeats decides. This average is the
// inverse of the contention intensity of Yoo and Lee, "Adaptive Transaction Scheduling for Transactional Memory
// Systems" (SPAA 2008). Only defeats update the average, so a transaction that is not defeated has no cost.
//
// How a trial decides. A high rate of aborts does not prove that serialising pays. So short windows with and without
// serialising alternate, and the trial compares how many executions per time have ended in each kind. Windows are short
// and systems noisy, so serialising must win each round.
//
//              contended                       it won all rounds
//     resting ----------> without <-> within ----------> serial
//        ^                   | it lost one      term over | -> without, and so on
//        +-------------------+-- none came ---------------+
//
// Each rest is twice as long as the previous one, up to `max_rest`. When serialising has won all rounds, the next rest
// is `min_rest` again.
//
// Thread safety: any thread may call any function. The thread that changes the phase holds `changing_`; no thread waits
// for that lock.
#pragma once

#include "base/clock.hpp"
#include "base/lock.hpp"
#include "core/lifecycle/ends.hpp"

namespace tutti::policies {

class contention_intensity {
public:
    /// Records a defeat. `attempts` is the number of the context's attempts since its previous defeat. Concurrent
    /// updates may be lost.
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
    static constexpr std::uint64_t min_executions = 32;    ///< with fewer executions, a window lasts longer
    static constexpr int max_windows = 16;                 ///< number of windows after which the trial ends in any case
    static constexpr int rounds = 3;                       ///< maximum number of windows of each kind in a trial
    /// The gain that is required to begin serialising. To continue, a gain of 1 suffices.
    static constexpr double gain = 1.1;
    static constexpr std::chrono::milliseconds term{400};  ///< the time until serialising has to prove itself again
    static constexpr std::chrono::milliseconds min_rest{200};
    static constexpr std::chrono::milliseconds max_rest{12800};

    [[nodiscard]] phase current_phase() const noexcept { return phase_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool is_resting() const noexcept { return current_phase() == phase::resting; }
    [[nodiscard]] bool is_serialising() const noexcept { return current_phase() >= phase::serialised; }

    /// Returns true if no trial is running and the rest after the previous trial is over.
    [[nodiscard]] bool may_begin(base::deadline now) const noexcept;
    /// Begins a trial. Returns false if no trial may begin now, or if another thread begins a trial at the same time.
    bool begin(base::deadline now) noexcept;
    /// Counts the end of an execution. Returns true if this call has ended the trial, and the site is resting now.
    bool count_end(base::deadline now) noexcept;
    /// Ends the trial if there were no executions for a long time. Returns true if the trial has ended, and the site is
    /// resting now.
    bool end_if_idle(base::deadline now) noexcept;
    /// Ends the trial at once. Returns false if no trial is running.
    bool abandon() noexcept;

private:
    void enter(phase next, base::deadline now, std::chrono::nanoseconds lasting) noexcept;
    void begin_rest(base::deadline now) noexcept;
    void leave_window(base::deadline now) noexcept;

    detail::shared<phase> phase_{phase::resting};
    detail::shared<std::uint64_t> ended_{0};
    detail::shared<std::int64_t> due_{0};  // when the phase may end; while resting: when a trial may begin

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
