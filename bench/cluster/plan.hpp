// What a simulated run is of: the cluster, the workload, and what things cost.
#pragma once

#include <cstdint>
#include <string>

namespace bench::cluster {

/// Nanoseconds of a processor, apart from `latency` and `spread`, which nobody's processor spends. The defaults are
/// fitted to runs of real processes; docs/cluster-performance.md says to which.
struct costs {
    std::uint64_t attempt = 620;   ///< of one attempt of a transaction: its begin, its end, its tries to commit
    std::uint64_t object = 180;    ///< for each object that it opens, wherever that is
    std::uint64_t send = 6100;     ///< a message
    std::uint64_t receive = 6100;  ///< a message, and serving it
    std::uint64_t byte = 1;        ///< of a message that is received
    std::uint64_t latency = 0;     ///< from one node to another
    std::uint64_t spread = 0;      ///< at most, on top: each message draws
};

/// What the operations of one transaction are to each other.
enum class nesting : std::uint8_t {
    flat,        ///< one block
    closed,      ///< each a block inside it
    checkpoint,  ///< each with all that follow it in the rest of a checkpoint
    open,        ///< each commits by itself
};

struct plan {
    std::string workload = "bank";
    unsigned nodes = 2;
    unsigned threads = 1;     ///< of each node
    unsigned processors = 1;  ///< of each node
    unsigned reads = 20;      ///< of 100 operations
    unsigned objects = 0;     ///< as the workload takes it; 0: as many as in the paper
    unsigned inner = 1;       ///< operations of one transaction
    bench::cluster::nesting nesting = nesting::flat;
    unsigned checkpoints = 0;  ///< of a transaction, spread evenly over its operations; 0: one for each
    bool locks = false;  ///< open operations hold the abstract lock of their key until their transaction's end, and are
                         ///< taken back where one cannot be had
    bool singly = false;  ///< objects are opened one after the other, as in HyflowCPP
    bool moves = false;   ///< objects move to the node that writes them
    /// Looks of other nodes at an object before they first keep copies; 0: they never do, as in the paper; -1: as many
    /// as for real nodes.
    int share_after = 0;
    std::uint64_t warm_up = 5'000'000;    ///< nanoseconds of virtual time that do not count
    std::uint64_t duration = 50'000'000;  ///< that do
    std::uint64_t seed = 1;
    costs each;
};

/// What time goes into.
template <class Time>
struct split {
    Time steps{};    ///< what operations that committed did, or the only attempt of all of them,
    Time commits{};  ///< and their commits; releasing abstract locks
    Time lost{};     ///< attempts that were rolled back
    Time pauses{};   ///< between attempts
    Time locks{};    ///< until abstract locks were had, or not
    Time undoing{};  ///< operations taken back
    friend bool operator==(const split&, const split&) = default;
};

/// Of all nodes, in the time that counts.
struct figures {
    double per_second = 0;  ///< transactions, or of open nesting those that its blocks make up
    std::uint64_t transactions = 0;
    std::uint64_t operations = 0;  ///< of which they consist
    double aborts = 0;             ///< attempts that came to nothing, by transactions
    double rewinds = 0;            ///< partial roll-backs, by transactions
    double anew = 0;               ///< times that one began again with its first operation, by transactions
    double at_commit = 0;          ///< conflicts found by a commit, by transactions,
    double running = 0;            ///< and those that a body met, by transactions: of these
    double inside = 0;             ///< over nothing that an earlier operation of the transaction had opened
    double refused = 0;            ///< abstract locks that could not be had, by transactions,
    double undone = 0;             ///< and operations that were taken back for it
    double round_trips = 0, messages = 0, bytes = 0;  ///< by transactions
    double median = 0, of_99 = 0;                     ///< microseconds from a transaction's first attempt to its end
    split<double> spent;                              ///< of a transaction, in microseconds
    double busy = 0, busiest = 0;                     ///< of a processor's time: on average, and on the busiest node
    double directory = 0;     ///< messages by transactions that only say where an object is, or that it is elsewhere
    std::uint64_t clock = 0;  ///< the highest of a node at the end
    double clock_apart = 0;   ///< the highest by the lowest
    double entries = 0;       ///< of objects and pointers to them, each node's on average
    double old_values = 0;    ///< that are kept for readers, each node's on average
    friend bool operator==(const figures&, const figures&) = default;
};

/// Runs it; one plan has one result. @throws std::invalid_argument if the plan makes no sense.
[[nodiscard]] figures run(const plan& p);

}  // namespace bench::cluster
