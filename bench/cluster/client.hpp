// One thread of one simulated node. Runs transactions one after the other, and counts.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/block.hpp"
#include "cluster/patterns.hpp"
#include "cluster/plan.hpp"
#include "cluster/processors.hpp"
#include "cluster/protocol/named_lock_client.hpp"
#include "cluster/simulation/simulated_cluster.hpp"
#include "tests/interleaving/fiber.hpp"

namespace bench::cluster {

/// The counts of all threads, during the measured time.
struct run_counts {
    bool measuring = false, over = false;
    std::uint64_t attempts = 0, partial_rollbacks = 0, round_trips = 0;
    std::uint64_t to_the_first = 0;  ///< partial roll-backs to the first operation
    std::uint64_t refused = 0, undone = 0;
    split<std::uint64_t> spent;
    std::uint64_t at_commit = 0, running = 0, inside = 0;  ///< conflicts, as in `figures`
    std::uint64_t parts = 0;               ///< transactions beyond the first, in operations with several
    std::vector<std::uint64_t> latencies;  ///< of each transaction
};

class client final : public tutti::cluster::simulation::simulated_thread {
public:
    client(tutti::cluster::simulation::simulated_cluster& in, tutti::cluster::node_number at, std::uint16_t slot,
           const plan& how, const pattern& what, processors& runs_on, run_counts& counts, interleaving::fiber& main);

    void resume() override { interleaving::fiber::change(main_, fiber_); }
    void exchange(std::span<tutti::cluster::call> calls) override;
    void post(tutti::cluster::node_number to, tutti::wire::message_type kind, std::string body) override;
    void pause(unsigned turn) override;

private:
    void suspend() override { interleaving::fiber::change(fiber_, main_); }
    static void start(void* self);
    void live();
    /// Occupies a processor of the node for this time, once one is free.
    void work(std::uint64_t nanoseconds);
    void sleep(std::uint64_t nanoseconds);

    struct written {
        tutti::cluster::object_entry* what;
        bool will_exist;
        std::string bytes;
    };
    /// The state before an operation. A partial roll-back to that operation restores this state.
    struct mark {
        std::size_t opened;
        std::vector<written> writes;
    };

    [[nodiscard]] std::uint64_t now() { return cluster_.network().now(); }
    /// Runs `what`, and adds its time to a part of the split.
    template <class What>
    void spend(std::uint64_t split<std::uint64_t>::* part, What&& what);

    /// Runs the operations from `first` up to, but excluding, `last` as one transaction until it commits.
    void run_as_one(std::size_t first, std::size_t last);
    /// Runs each operation as a separate transaction, under the abstract lock of its key, held until all have ended.
    void run_under_locks();
    /// Runs the next operation. Returns false if its lock cannot be acquired.
    bool run_next_under_lock();
    /// Undoes the operations that have changed something, the last one first.
    void take_back();
    /// The outcome and the times of an attempt.
    struct trial {
        bool good;
        std::uint64_t running, committing;
    };
    /// Runs one attempt of `body`, which returns false if it has to restart.
    template <class Body>
    trial attempt(Body&& body);
    /// Returns false if the transaction has to restart.
    bool attempt_once(std::size_t first, std::size_t last);
    bool run_operations(std::size_t first, std::size_t last);
    /// Counts a conflict in operation `at`.
    void count_conflict(std::size_t first, std::size_t at);
    /// Returns the operation from which the attempt continues after a conflict in operation `at`, or nothing.
    std::optional<std::size_t> way_back(std::size_t first, std::size_t at) const;
    /// Returns true if a checkpoint or a closed nested block begins with the operation.
    [[nodiscard]] bool begins_part(std::size_t operation) const noexcept;
    [[nodiscard]] mark mark_here() const;
    void go_back(const mark& to);
    bool commit();

    const plan& plan_;
    const pattern& pattern_;
    const keyed* const keys_;  // for operations under locks
    processors& processors_;
    run_counts& counts_;
    interleaving::fiber& main_;
    interleaving::fiber fiber_;
    tutti::cluster::distributed_transaction work_;
    tutti::cluster::named_lock_client claims_;
    block block_;
    dice dice_;
    bool reads_ = false;                     // of the running transaction
    unsigned part_ = 0;                      // of the current operation
    std::vector<std::uint64_t> operations_;  // the random number that each operation draws from
    std::vector<mark> marks_;
    bool changed_ = false;            // by the latest operation: whether it has changed something
    std::vector<char> have_changed_;  // for the ended operations under locks: whether each has changed something
};

}  // namespace bench::cluster
