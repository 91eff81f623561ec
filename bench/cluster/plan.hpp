// The plan of a simulated run: the cluster, the workload, and the costs.
#pragma once

#include <cstdint>
#include <string>

namespace bench::cluster {

/// Nanoseconds of processor time, except `latency` and `spread`, which use no processor. The defaults are fitted to
/// runs of real processes; docs/cluster-performance.md names these runs.
struct costs {
    std::uint64_t attempt = 620;   ///< one attempt of a transaction: its begin, its end, its tries to commit
    std::uint64_t object = 180;    ///< each object that a transaction opens, local or remote
    std::uint64_t send = 6100;     ///< sending a message
    std::uint64_t receive = 6100;  ///< receiving a message, and serving it
    std::uint64_t byte = 1;        ///< each byte of a received message
    std::uint64_t latency = 0;     ///< from one node to another
    std::uint64_t spread = 0;      ///< maximum additional latency, drawn for each message
};

/// The relation between the operations of one transaction.
enum class nesting : std::uint8_t {
    flat,        ///< one block
    closed,      ///< each is a block inside the transaction
    checkpoint,  ///< each checkpoint covers several operations
    open,        ///< each commits separately
};

struct plan {
    std::string workload = "bank";
    unsigned nodes = 2;
    unsigned threads = 1;     ///< of each node
    unsigned processors = 1;  ///< of each node
    unsigned reads = 20;      ///< of 100 operations
    unsigned objects = 0;     ///< 0: the paper's default
    unsigned inner = 1;       ///< operations of one transaction
    bench::cluster::nesting nesting = nesting::flat;
    unsigned checkpoints = 0;  ///< checkpoints in a transaction, spread evenly over its operations; 0: one for each
    bool locks = false;  ///< open operations hold the abstract lock of their key until their transaction's end, and are
                         ///< undone if a lock cannot be acquired
    bool singly = false;  ///< objects are opened one after the other, as in HyflowCPP
    bool moves = false;   ///< objects move to the node that writes them
    /// How often other nodes read an object before they start to keep copies. 0: they never do, as in the paper; -1:
    /// the default of real nodes.
    int share_after = 0;
    std::uint64_t warm_up = 5'000'000;    ///< nanoseconds of virtual time before the measurement
    std::uint64_t duration = 50'000'000;  ///< nanoseconds of virtual time that are measured
    std::uint64_t seed = 1;
    costs each;
};

/// The parts of a run's time.
template <class Time>
struct split {
    Time steps{};    ///< operations that committed, or the only attempt of all of them
    Time commits{};  ///< commits, and releasing abstract locks
    Time lost{};     ///< attempts that were rolled back
    Time pauses{};   ///< between attempts
    Time locks{};    ///< waiting for abstract locks, successful or not
    Time undoing{};  ///< undoing operations
    friend bool operator==(const split&, const split&) = default;
};

/// The results over all nodes, during the measured time.
struct figures {
    double per_second = 0;  ///< transactions; with open nesting, complete blocks
    std::uint64_t transactions = 0;
    std::uint64_t operations = 0;  ///< operations of these transactions
    double aborts = 0;             ///< rolled-back attempts, per transaction
    double partial_rollbacks = 0;  ///< partial roll-backs, per transaction
    double anew = 0;               ///< restarts from the first operation, per transaction
    double at_commit = 0;          ///< conflicts found by a commit, per transaction
    double running = 0;            ///< conflicts found by a body, per transaction
    double inside = 0;             ///< of `running`: those on objects that no earlier operation had opened
    double refused = 0;            ///< abstract locks that could not be acquired, per transaction
    double undone = 0;             ///< operations undone because a lock could not be acquired, per transaction
    double round_trips = 0, messages = 0, bytes = 0;  ///< per transaction
    double median = 0, of_99 = 0;                     ///< microseconds from a transaction's first attempt to its end
    split<double> spent;                              ///< per transaction, in microseconds
    double busy = 0, busiest = 0;                     ///< fraction of processor time: average, and on the busiest node
    double directory = 0;     ///< messages per transaction that only say where an object is, or that it is elsewhere
    std::uint64_t clock = 0;  ///< highest clock of a node at the end
    double clock_apart = 0;   ///< ratio of the highest clock to the lowest
    double directory_entries = 0;  ///< entries of objects and pointers to them, average per node
    double old_versions = 0;       ///< old values kept for readers, average per node
    friend bool operator==(const figures&, const figures&) = default;
};

/// Runs the plan. Equal plans have equal results. @throws std::invalid_argument for an invalid plan
[[nodiscard]] figures run(const plan& p);

}  // namespace bench::cluster
