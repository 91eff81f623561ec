// A cluster in one thread: protocol nodes, a simulated network between them, and clients on fibers that run
// transactions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/history.hpp"
#include "cluster/simulation/simulated_cluster.hpp"
#include "interleaving/fiber.hpp"

namespace tutti::cluster::testing {

/// The clients' behaviour in a conflict. With `mixed`, each client has its own. A client that has lost too often uses
/// its age.
enum class conduct : std::uint8_t { patient, hasty, age, work, priority, all, mixed };

struct plan {
    std::uint64_t seed = 1;
    node_number nodes = 3;
    unsigned clients_of_node = 1;
    unsigned objects = 4;
    unsigned transactions = 6;  ///< number for each client
    object_placement how = object_placement::writer;
    cluster::testing::conduct conduct = cluster::testing::conduct::patient;
    wire::network_conditions network;
    object_directory::limits directory;
    unsigned copy_threshold = 0;   ///< reads before a reader gets a copy; 0: nodes keep no copies
    std::size_t cache = 1u << 20;  ///< size of the cache of copies, in bytes
    bool one_ends = false;         ///< a node ends in the middle, and is started again
    std::uint64_t ends_at = 0;     ///< in virtual time
    node_number which_ends = 0;
    std::uint64_t notice = 200;  ///< limit for the time until each of the others notices the end
    bool rejoins = false;        ///< the ended node is admitted again
    bool another_ends = false;   ///< a second node also ends, at any time, and rejoins
    std::uint64_t other_ends_at = 0;
    node_number other_that_ends = 0;
    bool erases = true;  ///< some writes are erasures
};

inline constexpr const char* never_ends = "it does not end";
inline constexpr const char* sleeps_on = "a sleeping block is not told of a change";
inline constexpr const char* two_have_a_name = "two hold one abstract lock";
inline constexpr const char* name_is_left = "an abstract lock is held by no running transaction";
inline constexpr const char* object_is_left = "an object is reserved for no running transaction";
inline constexpr const char* irrevocable_starts_over = "an irrevocable block starts over";
inline constexpr const char* two_are_irrevocable = "two blocks are irrevocable";
inline constexpr const char* one_starves = "a transaction starves";
inline constexpr const char* reader_starts_over = "a snapshot reader starts over";
inline constexpr const char* out_of_reach_for_nothing = "an object is out of reach that no transaction has locked";
inline constexpr const char* on_several = "an object is on several nodes";
inline constexpr const char* stays_out = "a rejoining node is not admitted";
inline constexpr const char* runs_and_is_lost = "a running node is treated as lost";

/// Returns the plan that `seed` determines; the clients' actions also follow from the seed.
[[nodiscard]] plan of_seed(std::uint64_t seed);
/// Returns a plan that `seed` determines, with two or more nodes, one of which ends. Readers of the ended node's writes
/// show whether an unfinished attempt of that node has committed. An erased object cannot show this, so the plan has no
/// erasures.
[[nodiscard]] plan with_an_end(std::uint64_t seed);
/// Returns a plan as `with_an_end` does, in which the ended node rejoins. For some seeds, a second node also ends, at
/// any time, and rejoins.
[[nodiscard]] plan with_a_rejoin(std::uint64_t seed);

class seeded_cluster final : private simulation::simulated_cluster {
public:
    explicit seeded_cluster(const plan& p);
    ~seeded_cluster() override;

    /// Runs the plan. Returns a description of the first error, or an empty string.
    [[nodiscard]] std::string run();
    [[nodiscard]] const history& past() const noexcept { return history_; }
    /// Returns the number of snapshot readers that ran to their end.
    [[nodiscard]] std::size_t snapshots() const noexcept { return snapshots_; }
    /// Return the number of times that a conflict rolled a client back to a block, and the number of steps that it did
    /// not repeat.
    [[nodiscard]] std::size_t partial_rollbacks() const noexcept { return partial_rollbacks_; }
    [[nodiscard]] std::size_t steps_kept() const noexcept { return steps_kept_; }
    /// Returns the number of sleepers that were woken.
    [[nodiscard]] std::size_t wakes() const noexcept { return wakes_; }
    /// Return how often a client got all the abstract locks that it wanted, and how often it gave them up.
    [[nodiscard]] std::size_t names_acquired() const noexcept { return names_acquired_; }
    [[nodiscard]] std::size_t names_refused() const noexcept { return names_refused_; }
    /// Return the numbers of attempts that reserved the objects they opened, of waits, and of locks refused and
    /// reservations passed on because another transaction has precedence.
    [[nodiscard]] std::size_t reserving_attempts() const noexcept { return reserving_attempts_; }
    [[nodiscard]] std::size_t waits() const noexcept { return waits_; }
    [[nodiscard]] object_directory::statistics object_statistics();
    /// Returns the largest number of attempts of one transaction.
    [[nodiscard]] unsigned max_attempts() const noexcept { return max_attempts_; }
    /// Returns the number of times that a directory told an object's home and then evicted the entry.
    using simulated_cluster::evictions_reported;
    /// Return the numbers of irrevocable blocks that committed: all, and those that had opened objects before they
    /// became irrevocable.
    [[nodiscard]] std::size_t irrevocable_blocks() const noexcept { return irrevocable_blocks_; }
    [[nodiscard]] std::size_t late_irrevocable_blocks() const noexcept { return late_irrevocable_blocks_; }
    /// Return the number of transactions that were told that a node is lost, and the number of those whose outcome is
    /// unknown.
    [[nodiscard]] std::size_t errors() const noexcept { return errors_; }
    [[nodiscard]] std::size_t uncertain() const noexcept { return uncertain_; }
    /// Return the number of objects that a node could read at the end, and of those that were unreadable because a node
    /// is lost.
    [[nodiscard]] std::size_t still_there() const noexcept { return still_there_; }
    [[nodiscard]] std::size_t out_of_reach() const noexcept { return out_of_reach_; }
    /// Counts transactions of a lost node: commits and aborts that another participant knew, and objects that stay in
    /// doubt.
    [[nodiscard]] commit_participant::statistics doubts();
    /// Returns the number of reads that found a copy.
    [[nodiscard]] std::uint64_t copy_reads();
    /// Returns the number of reads that found a copy, in processes that have rejoined.
    [[nodiscard]] std::uint64_t copy_reads_after_rejoin();
    /// Return the numbers of: nodes admitted again; transactions that their new clients have committed; snapshot
    /// readers that asked for a time before a rejoin; reads of objects that have ended with a node.
    [[nodiscard]] std::size_t rejoined_nodes() const noexcept { return rejoined_nodes_; }
    [[nodiscard]] std::size_t committed_after() const noexcept { return committed_after_; }
    [[nodiscard]] std::size_t readers_too_late() const noexcept { return readers_too_late_; }

private:
    class client;

    void on_change(node_number at, const object_id& id) override;
    void on_node_lost(node_number at, node_number gone) override;
    void on_rejoined(node_number n) override;
    void on_new_node(protocol_node& fresh) override;
    void fail(const char* what) override { wrong_ = what; }
    void resume(client& c);
    client& add_client(node_number at, unsigned slot);
    void start(client& c);
    void end_one(node_number n);
    [[nodiscard]] bool is_on_several();
    /// Runs until no event is left. Returns an empty string or never_ends.
    [[nodiscard]] std::string run_to_the_end();
    /// Lets every remaining node read every object, to check that acknowledged commits are visible.
    void audit();
    [[nodiscard]] bool is_miscounted();
    [[nodiscard]] bool is_held_by_two() const;

    const plan plan_;
    history history_;
    interleaving::fiber main_;
    std::vector<std::unique_ptr<client>> clients_;
    std::string wrong_;
    std::size_t snapshots_ = 0, wakes_ = 0, partial_rollbacks_ = 0, steps_kept_ = 0, names_acquired_ = 0,
                names_refused_ = 0, irrevocable_blocks_ = 0, late_irrevocable_blocks_ = 0, reserving_attempts_ = 0,
                waits_ = 0, errors_ = 0, uncertain_ = 0, still_there_ = 0, out_of_reach_ = 0, rejoined_nodes_ = 0,
                committed_after_ = 0, readers_too_late_ = 0;
    unsigned max_attempts_ = 0;
    const client* irrevocable_ = nullptr;
};

}  // namespace tutti::cluster::testing
