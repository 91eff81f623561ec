// One thread of one simulated node: runs transactions one after the other, and counts.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/block.hpp"
#include "cluster/patterns.hpp"
#include "cluster/plan.hpp"
#include "cluster/processors.hpp"
#include "cluster/simulation/mesh.hpp"
#include "tests/interleaving/fiber.hpp"

namespace bench::cluster {

/// What all threads count, in the time that counts.
struct tally {
    bool counts = false, over = false;
    std::uint64_t attempts = 0, rewinds = 0, round_trips = 0;
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

    /// One attempt of the operations from `first` to `last`, without `last`. False: it has to start over.
    bool attempt_once(std::size_t first, std::size_t last);
    bool run_operations(std::size_t first, std::size_t last);
    /// A conflict while operation `at` ran.
    void count_conflict(std::size_t first, std::size_t at);
    /// Where the attempt goes on after a conflict in the operation `at`, or nothing.
    std::optional<std::size_t> way_back(std::size_t first, std::size_t at) const;
    [[nodiscard]] mark mark_here() const;
    void go_back(const mark& to);
    bool commit();

    const plan& plan_;
    const pattern& pattern_;
    processors& processors_;
    tally& tally_;
    interleaving::fiber& main_;
    interleaving::fiber fiber_;
    tutti::cluster::transaction work_;
    block block_;
    dice dice_;
    bool reads_ = false;                     // the transaction that runs
    unsigned part_ = 0;                      // of its operation
    std::vector<std::uint64_t> operations_;  // what each of its operations draws from
    std::vector<mark> marks_;
};

}  // namespace bench::cluster
