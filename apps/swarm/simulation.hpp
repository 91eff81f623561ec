// A run: physics threads that step the objects as fast as they can, and a renderer. The renderer takes a snapshot of
// all objects at fixed instants, each within a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "swarm/modes.hpp"
#include "swarm/snapshot.hpp"

namespace swarm {

struct run_settings {
    unsigned threads = 1;  ///< physics threads, in addition to the renderer
    int objects = 500;
    std::chrono::duration<double> time{5};
    double fps = 30;
    deadline_goal wanted;
    std::uint64_t seed = 7;
    bool record = false;  ///< keeps all snapshots
};

struct run_result {
    const render_mode* mode = nullptr;
    unsigned threads = 0;
    int radius = 0;      ///< of the objects
    double seconds = 0;  ///< from the start until the last frame was drawn, or the run's time if that is longer

    std::vector<std::chrono::nanoseconds> snapshot_times;  ///< including restarts; ascending
    std::uint64_t in_time = 0;                             ///< snapshots that met the deadline
    std::uint64_t snapshot_restarts = 0;
    std::uint64_t steps = 0;          ///< commits of the physics
    std::uint64_t step_restarts = 0;  ///< attempts of the physics beyond the first

    std::string violation;            ///< violation that ended the run early; empty if all snapshots were consistent
    std::vector<snapshot> recording;  ///< by frame

    /// Returns the share of snapshots that met the deadline.
    [[nodiscard]] double success() const;
    [[nodiscard]] double frames_per_second() const;
    /// Returns the shortest time within which a share q in (0, 1] of the snapshots was taken.
    [[nodiscard]] std::chrono::nanoseconds percentile(double q) const;
    [[nodiscard]] double restarts_per_snapshot() const;
    /// Returns the share of the physics' attempts that were rolled back.
    [[nodiscard]] double retry_rate() const;
};

/// Draws every frame, at least one, into memory. A snapshot that misses its deadline is still finished, and the frames
/// that were due meanwhile are skipped. Rethrows the exceptions of threads, except `inconsistency`.
[[nodiscard]] run_result simulate(const run_settings& settings, const render_mode& mode);

}  // namespace swarm
