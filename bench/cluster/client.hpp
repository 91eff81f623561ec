// One thread of one simulated node: runs transactions one after the other, and counts.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/block.hpp"
#include "cluster/patterns.hpp"
#include "cluster/plan.hpp"
#include "cluster/processors.hpp"
#include "cluster/protocol/claims.hpp"
#include "cluster/simulation/mesh.hpp"
#include "tests/interleaving/fiber.hpp"

namespace bench::cluster {

/// What all threads count, in the time that counts.
struct tally {
    bool counts = false, over = false;
    std::uint64_t attempts = 0, rewinds = 0, round_trips = 0;
    std::uint64_t to_the_first = 0;  ///< of the rewinds
    std::uint64_t refused = 0, undone = 0;
    split<std::uint64_t> spent;
    std::uint64_t at_commit = 0, running = 0, inside = 0;  ///< conflicts, as figures have them
    std::uint64_t parts = 0;               ///< beyond the first of each operation that is several transactions
    std::vector<std::uint64_t> latencies;  ///< one for each transaction
};

class client final : public tutti::cluster::simulation::caller {
public:
    client(tutti::cluster::simulation::mesh& in, tutti::cluster::node_number at, std::uint16_t slot, const plan& how,
           const pattern& what, processors& runs_on, tally& counts, interleaving::fiber& main);

    void resume() override { interleaving::fiber::change(main_, fiber_); }
    void exchange(std::span<tutti::cluster::call> calls) override;
    void post(tutti::cluster::node_number to, tutti::wire::kind kind, std::string body) override;
    void pause(unsigned turn) override;

private:
    void suspend() override { interleaving::fiber::change(fiber_, main_); }
    static void start(void* self);
    void live();
    /// A processor of the node is busy for so long, once it is free.
    void work(std::uint64_t nanoseconds);
    void sleep(std::uint64_t nanoseconds);

    struct written {
        tutti::cluster::entry* what;
        bool will_exist;
        std::string bytes;
    };
    /// What a partial roll-back puts back: the operation that begins here, and what there was before it.
    struct mark {
        std::size_t opened;
        std::vector<written> writes;
    };

    [[nodiscard]] std::uint64_t now() { return mesh_.network().now(); }
    /// Runs it, and adds the time that it takes to a part of the split.
    template <class What>
    void spend(std::uint64_t split<std::uint64_t>::* part, What&& what);

    /// The operations from `first` to `last`, without `last`, until they have committed.
    void run_as_one(std::size_t first, std::size_t last);
    /// Each operation by itself, under the abstract lock of its key until all have ended.
    void run_under_locks();
    /// The next one. False: its lock cannot be had.
    bool run_next_under_lock();
    /// Those that have changed something, the last one first.
    void take_back();
    /// What an attempt came to, and took.
    struct trial {
        bool good;
        std::uint64_t running, committing;
    };
    /// Of what the body does, which returns false where it has to start over.
    template <class Body>
    trial attempt(Body&& body);
    /// False: it has to start over.
    bool attempt_once(std::size_t first, std::size_t last);
    bool run_operations(std::size_t first, std::size_t last);
    /// A conflict while operation `at` ran.
    void count_conflict(std::size_t first, std::size_t at);
    /// Where the attempt goes on after a conflict in the operation `at`, or nothing.
    std::optional<std::size_t> way_back(std::size_t first, std::size_t at) const;
    /// Whether a checkpoint begins with it, or a closed nested block.
    [[nodiscard]] bool begins_part(std::size_t operation) const noexcept;
    [[nodiscard]] mark mark_here() const;
    void go_back(const mark& to);
    bool commit();

    const plan& plan_;
    const pattern& pattern_;
    const keyed* const keys_;  // of operations that are run under locks
    processors& processors_;
    tally& tally_;
    interleaving::fiber& main_;
    interleaving::fiber fiber_;
    tutti::cluster::transaction work_;
    tutti::cluster::claims claims_;
    block block_;
    dice dice_;
    bool reads_ = false;                     // the transaction that runs
    unsigned part_ = 0;                      // of its operation
    std::vector<std::uint64_t> operations_;  // what each of its operations draws from
    std::vector<mark> marks_;
    bool changed_ = false;            // by the operation that ran last
    std::vector<char> have_changed_;  // something, of those that have ended under locks
};

}  // namespace bench::cluster
