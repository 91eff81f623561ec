// Several groups, the programs that use them, and faults: one seed determines everything.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/replica/crossing_client.hpp"
#include "cluster/replica/moving_client.hpp"

namespace tutti::cluster::replica::testing {

struct groups_plan {
    std::uint64_t seed = 1;
    conditions how;
    unsigned groups = 2;
    unsigned clients = 3;
    crossing_client::habits habits;
    unsigned movers = 0;          ///< number of programs that move slots
    unsigned moves = 10;          ///< moves of each such program until it is killed and starts anew
    instant trouble = 3000 * ms;  ///< the period with occasional faults
    unsigned kills_of_100 = 40;   ///< percentage of faults that hit a program: kill -9, or SIGSTOP for a while
};

[[nodiscard]] groups_plan groups_of_seed(std::uint64_t seed);

/// The prefix of an error that says that a transaction was left prepared.
inline constexpr const char* left_prepared = "a transaction is still prepared";

class groups_world {
public:
    explicit groups_world(const groups_plan& p);

    /// Runs the plan. Returns a description of the error, or an empty string.
    [[nodiscard]] std::string run();

    struct counts {
        std::size_t attempts = 0, good = 0, conflicts = 0, unreachable = 0, unknown = 0, crossings = 0, killed = 0,
                    moved = 0, moves_lost = 0, copied_again = 0, movers_killed = 0, stopped = 0, upset_clocks = 0,
                    aborted = 0, finished_by_others = 0;
        group::counts groups;
    };
    [[nodiscard]] counts happened() const;

private:
    void trouble();
    crossing_client& a_client();
    void hurt_mover(moving_client& one);
    [[nodiscard]] bool run_until(instant when, const std::function<bool()>& done);
    [[nodiscard]] std::string noticed() const;
    /// Checks the writes of each attempt in all groups: all or nothing, once, and as the program was informed.
    [[nodiscard]] std::string judge_writes();

    const groups_plan plan_;
    event_queue events_;
    std::vector<std::unique_ptr<history_checker>> pasts_;
    std::vector<std::unique_ptr<group>> groups_;
    cluster::testing::history history_;
    std::vector<std::unique_ptr<crossing_client>> clients_;
    std::vector<std::unique_ptr<moving_client>> movers_;
    std::size_t movers_killed_ = 0;
    std::size_t killed_ = 0, stopped_ = 0, upset_clocks_ = 0;
};

/// Runs the plan of a seed. Returns the error, or an empty string. Data that a member refuses to load also counts as an
/// error.
[[nodiscard]] std::string run_seed(std::uint64_t seed);

}  // namespace tutti::cluster::replica::testing
