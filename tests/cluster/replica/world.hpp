// A group, its clients, and faults: one seed determines everything.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/replica/client.hpp"

namespace tutti::cluster::replica::testing {

struct plan {
    std::uint64_t seed = 1;
    conditions how;
    unsigned clients = 3;
    client::habits habits;
    instant trouble = 4000 * ms;  ///< the period with occasional faults
    bool membership = false;      ///< members join and leave
    enum class troubles : std::uint8_t { all, cuts, cuts_and_clocks } hurts = troubles::all;
};

[[nodiscard]] plan of_seed(std::uint64_t seed);

class world {
public:
    explicit world(const plan& p);

    /// Runs the plan. Returns a description of the error, or an empty string.
    [[nodiscard]] std::string run();
    [[nodiscard]] const history_checker& what_was() const noexcept { return past_; }
    [[nodiscard]] group::counts happened() const noexcept { return group_.happened(); }
    /// Returns the sum over all clients.
    [[nodiscard]] std::size_t sum(std::size_t (client::*of)() const noexcept) const;

private:
    void trouble();
    [[nodiscard]] bool read_all();
    [[nodiscard]] bool run_until(instant when, const std::function<bool()>& done);

    const plan plan_;
    event_queue events_;
    history_checker past_;
    group group_;
    std::vector<std::unique_ptr<client>> clients_;
};

}  // namespace tutti::cluster::replica::testing
