// The modes of the snapshot's transaction that the program compares (Maldonado et al., section 6, figure 6). The
// physics is optimistic in all of them.
#pragma once

#include <array>
#include <chrono>
#include <string_view>

#include <tutti/tutti.hpp>

namespace swarm {

/// The renderer's deadline for snapshots, and the share that should meet it.
struct deadline_goal {
    std::chrono::nanoseconds deadline{1'000'000'000 / 180};  ///< from the start of the transaction
    double qos = 0.99;                                       ///< the share of snapshots that should meet the deadline
};

struct render_mode {
    std::string_view name;
    tutti::options (*options)(const deadline_goal&);
};

/// With these factors a deadline never makes an attempt stricter before the deadline is missed.
inline constexpr tutti::deadline_tuning never_strict{.visible_factor = 1, .irrevocable_factor = 1};

/// To add a mode, add an entry. The modes of the paper do not promise to be read-only, because a block with this
/// promise reads a snapshot after two restarts.
inline constexpr std::array render_modes{
    render_mode{
        "optimistic",
        [](const deadline_goal&) { return tutti::options{.name = "snapshot", .mode = tutti::mode::optimistic}; }},
    render_mode{"visible",
                [](const deadline_goal&) { return tutti::options{.name = "snapshot", .mode = tutti::mode::visible}; }},
    render_mode{
        "irrevocable",
        [](const deadline_goal&) { return tutti::options{.name = "snapshot", .mode = tutti::mode::irrevocable}; }},
    render_mode{"adaptive",
                [](const deadline_goal& p) {
                    return tutti::options{.name = "snapshot", .deadline = p.deadline, .qos = p.qos};
                }},
    render_mode{"unhurried",
                [](const deadline_goal& p) {
                    return tutti::options{
                        .name = "snapshot", .deadline = p.deadline, .qos = p.qos, .tuning = &never_strict};
                }},
    render_mode{"snapshot",
                [](const deadline_goal&) { return tutti::options{.name = "snapshot", .mode = tutti::mode::snapshot}; }},
};

}  // namespace swarm
