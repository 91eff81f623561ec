// The schema: every message that two nodes exchange, and the header before each. docs/cluster-protocol.md describes
// their meaning.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/cluster/calls.hpp"
#include "tutti/cluster/doubts.hpp"
#include "tutti/cluster/id.hpp"
#include "tutti/cluster/status.hpp"
#include "tutti/cluster/timeline.hpp"

namespace tutti::wire {

using cluster::object_id;
using node_number = std::uint16_t;

/// The version of the protocol. A node refuses a hello of another version.
inline constexpr std::uint8_t protocol_version = 14;

enum class message_type : std::uint8_t {
    hello,           ///< the first message of each connection, from both sides
    fetch,           ///< answered by fetch_reply
    validate,        ///< answered by validate_reply
    watch,           ///< a validate whose sender sleeps until an object changes; answered by validate_reply
    object_changed,  ///< to each watching node, once; not answered
    prepare,         ///< answered by prepare_reply
    decide,          ///< not answered
    withdraw,        ///< the sender needs no yes any more; answered by prepare_reply
    owner_update,    ///< not answered
    heartbeat,       ///< no body, not answered: reports the sender's clock, and that it runs
    fetch_reply,
    prepare_reply,
    status,        ///< from an observer, no body; answered by status_reply
    status_reply,  ///< only to observers
    validate_reply,
    claim,  ///< abstract locks by name; answered by claim_reply
    claim_reply,
    release,           ///< not answered
    run,               ///< a call of a procedure, cluster::forwarded_call; answered by run_reply
    run_reply,         ///< cluster::forwarded_reply
    cancel_run,        ///< not answered
    reserve,           ///< a fetch that excludes writers; answered by fetch_reply
    timeline,          ///< from an observer; answered by timeline_reply
    timeline_reply,    ///< only to observers
    invalidate,        ///< to the sharers of an object; answered by invalidate_reply, but the sender does not wait
    invalidate_reply,  ///< also sent without a request
    rejoin_request,    ///< of a process that replaces a lost one; answered by ownership_report, now or never
    ownership_report,
    rejoin_done,  ///< the returning process knows all that it needs; answered by rejoin_ack
    rejoin_ack,
    fate_query,     ///< between participants whose coordinator is lost; answered by fate_report, now or later
    fate_report,    ///< also sent without a request
    lost_node,      ///< to every remaining node; not answered
    doubts,         ///< from an observer, no body; answered by doubts_reply
    doubts_reply,   ///< only to observers
    resolve_doubt,  ///< from an observer; answered by resolve_reply
    resolve_reply,  ///< only to observers
};

/// Returns true if the message is about a process that comes back. These messages go between nodes that have lost each
/// other.
[[nodiscard]] constexpr bool is_rejoin_message(message_type k) noexcept {
    return k == message_type::rejoin_request || k == message_type::ownership_report || k == message_type::rejoin_done ||
           k == message_type::rejoin_ack;
}

/// Returns true if participants exchange the message to find the decision of a lost node.
[[nodiscard]] constexpr bool is_in_doubt_message(message_type k) noexcept {
    return k == message_type::fate_query || k == message_type::fate_report;
}

/// Returns true if it answers a block's request, whose number its header repeats. (`run_reply` answers a server's.)
[[nodiscard]] constexpr bool is_reply(message_type k) noexcept {
    return k == message_type::fetch_reply || k == message_type::prepare_reply || k == message_type::validate_reply ||
           k == message_type::claim_reply;
}

/// The number of an observer, instead of a node's. An observer is not a node. An observer may only ask for the status,
/// for the node's timeline, and for transactions in doubt, which it may have the node resolve.
inline constexpr node_number observer_number = 0xffff;
/// A bit of a hello's `call`: all nodes have joined the sender, so every number has had a node there.
inline constexpr std::uint64_t has_begun = 1;
/// A bit of the hello to a calling process: another process with its number is not lost yet, so it has to call again.
inline constexpr std::uint64_t has_another = 2;
/// How many observers a node answers at a time.
inline constexpr std::uint32_t max_observers = 8;
/// The pause between an answer and the next request of the same observer. The pause keeps an observer from occupying
/// the thread that reads the nodes' messages. An observer that compares clocks asks after a longer pause.
inline constexpr std::chrono::milliseconds observer_pause{5};
/// The largest number of threads of one node.
inline constexpr std::uint16_t max_slots = 4096;

/// The header before every message, of a fixed size. `length` counts the bytes that follow the header.
struct header {
    std::uint32_t length = 0;
    wire::message_type type{};
    std::uint8_t version = protocol_version;
    node_number from = 0;
    std::uint64_t call = 0;    ///< the number that the answer repeats; 0: the sender waits for no answer
    std::uint64_t clock = 0;   ///< the sender's
    std::uint64_t oldest = 0;  ///< no reader of the sender will ask for an older time; in a hello: the sender's process
    template <class V>
    void fields(V& v) {
        v(length), v(type), v(version), v(from), v(call), v(clock), v(oldest);
    }
    static constexpr std::size_t size = 32;
};

struct hello {
    std::uint64_t cluster = 0;  ///< hash of the cluster's name and of its list of nodes
    std::uint16_t nodes = 0;
    template <class V>
    void fields(V& v) {
        v(cluster), v(nodes);
    }
};

/// The name of one attempt of one transaction. `slot` is a thread of the node; `sequence` grows with each attempt of
/// that thread.
struct transaction_name {
    node_number node = 0;
    std::uint16_t slot = 0;
    std::uint64_t sequence = 0;  ///< from 1 on
    friend bool operator==(const transaction_name&, const transaction_name&) = default;
    [[nodiscard]] bool exists() const noexcept { return sequence != 0; }
    /// Returns the thread that runs it, unique among all nodes.
    [[nodiscard]] std::uint32_t thread() const noexcept { return std::uint32_t{node} << 16 | slot; }
    template <class V>
    void fields(V& v) {
        v(node), v(slot), v(sequence);
    }
};

/// The order of two transactions that want one object: the higher rank goes first, then the older one, then the lower
/// node.
struct precedence {
    std::int64_t rank = 0;
    std::uint64_t age = 0;  ///< the clock when the execution drew it, unique on its node; 0: younger than all
    template <class V>
    void fields(V& v) {
        v(rank), v(age);
    }
};

/// Instead of a time: the state as it is now.
inline constexpr std::uint64_t newest = ~std::uint64_t{0};

struct fetch {
    std::uint64_t at = newest;  ///< the time of the logical clock that is asked for
    bool keeps = false;         ///< the sender may keep copies of the objects
    std::vector<object_id> ids;
    template <class V>
    void fields(V& v) {
        v(at), v(keeps), v(ids);
    }
};

enum class lookup_result : std::uint8_t {
    here,       ///< the answer has the value, or says that the object does not exist
    elsewhere,  ///< ask `owner`
    busy,       ///< a commit of `owner` holds it, or an irrevocable block waits for it
    in_doubt,   ///< a commit of `owner` holds it, and that node is lost
    too_old,    ///< no node has kept the value of that time
    later,      ///< the answer is full: ask again
    too_large,  ///< too large for any answer
};
constexpr lookup_result last(lookup_result) noexcept { return lookup_result::too_large; }

struct object_view {
    lookup_result where{};
    node_number owner = 0;
    bool exists = false;
    bool shared = false;  ///< the asking node may keep a copy, until it is invalidated; `valid_at` is the grant
    std::uint64_t version = 0;
    std::uint64_t valid_at = 0;  ///< the version was current when the owner's clock said this or more
    std::string bytes;
    template <class V>
    void fields(V& v) {
        v(where), v(owner), v(exists), v(shared), v(version), v(valid_at), v(bytes);
    }
};

struct fetch_reply {
    std::vector<object_view> objects;  ///< in the order of the ids
    template <class V>
    void fields(V& v) {
        v(objects);
    }
};

/// To the owners of objects that an irrevocable block, or a block that asserts itself, opens. `who` is a hold, as for
/// abstract locks. The hold's release frees all.
struct reserve {
    transaction_name who;
    precedence as{};
    bool irrevocable = false;   ///< of an irrevocable block: excludes even transactions that go first
    bool before_write = false;  ///< the object is about to be written: no commit that has read it gets a lock any more
    bool values = false;        ///< the answer has the values
    std::vector<object_id> ids;
    template <class V>
    void fields(V& v) {
        v(who), v(as), v(irrevocable), v(before_write), v(values), v(ids);
    }
};

struct read_item {
    object_id id;
    std::uint64_t version = 0;
    template <class V>
    void fields(V& v) {
        v(id), v(version);
    }
};

struct validate {
    std::vector<read_item> reads;
    template <class V>
    void fields(V& v) {
        v(reads);
    }
};

/// The answer to validate and watch.
struct validate_reply {
    std::uint32_t current = 0;  ///< number of current reads, from the first on; the next one is not current
    template <class V>
    void fields(V& v) {
        v(current);
    }
};

/// To a node that watches the object. The object has changed or moved, or is no longer watched for lack of space.
struct object_changed {
    object_id id;
    template <class V>
    void fields(V& v) {
        v(id);
    }
};

/// What the decision does to a written object.
enum class action : std::uint8_t {
    put,    ///< it stays where it is, with the new bytes
    erase,  ///< it stays, and does not exist any more
    leave,  ///< it moves to the writer
};
constexpr action last(action) noexcept { return action::leave; }

struct write_item {
    object_id id;
    std::uint64_t version = 0;  ///< the version that was read
    wire::action action{};
    std::string bytes;
    template <class V>
    void fields(V& v) {
        v(id), v(version), v(action), v(bytes);
    }
};

/// Which node decides a prepared transaction.
enum class decider : std::uint8_t {
    sender,             ///< the sender, once it has all answers, by decide
    sender_of_several,  ///< as `sender`, with more than one other node, which the prepare names
    all_of_several,     ///< all together: several other nodes hold all of it. It has committed once each has said yes
    receiver,           ///< a yes is the commit, and is carried out before it is sent
    receiver_held,      ///< a yes is the commit; the locks stay until the sender, which has a part, sends decide
};
constexpr decider last(decider) noexcept { return decider::receiver_held; }
/// Returns true if the prepare names the other participants.
constexpr bool names_participants(decider d) noexcept {
    return d == decider::sender_of_several || d == decider::all_of_several;
}

struct prepare {
    transaction_name who;
    precedence as{};
    decider decides{};
    std::vector<read_item> reads;
    std::vector<write_item> writes;
    std::vector<node_number> others{};  ///< participants beside its sender and its receiver, if there are several
    template <class V>
    void fields(V& v) {
        v(who), v(as), v(decides), v(reads), v(writes);
        if (names_participants(decides)) v(others);
    }
};

struct decide {
    transaction_name who;
    bool commit = false;
    std::uint64_t version = 0;
    template <class V>
    void fields(V& v) {
        v(who), v(commit), v(version);
    }
};

/// Sent by the node that runs the transaction if an answer to its prepare is missing. A no says that the receiver has
/// not said yes, or has undone its part. The receiver never says yes from then on.
struct withdraw {
    transaction_name who;
    template <class V>
    void fields(V& v) {
        v(who);
    }
};

/// To another participant. The sender has prepared the transaction, has lost the node that decides, and knows no
/// decision.
struct fate_query {
    transaction_name who;
    template <class V>
    void fields(V& v) {
        v(who);
    }
};

/// What a participant knows of a transaction if it has the decision, or has lost the node that decides.
enum class transaction_fate : std::uint8_t {
    unknown,    ///< the decision never reached it, or was forgotten; with its clock at the prepare, or 0
    aborted,    ///< it was told so, or has not said yes and never will
    committed,  ///< it was told so
    prepared,   ///< unknown, and it has said yes to an all_of_several prepare; with its clock at the prepare
};
constexpr transaction_fate last(transaction_fate) noexcept { return transaction_fate::prepared; }

struct fate_report {
    transaction_name who;
    wire::transaction_fate fate{};
    std::uint64_t version = 0;  ///< of the commit, or that clock
    bool by_hand = false;       ///< an operator has resolved it, because the decision was unknown
    template <class V>
    void fields(V& v) {
        v(who), v(fate), v(version), v(by_hand);
    }
};

/// The sender has lost that node, and none of its running commits has read copies of that node's objects.
struct lost_node {
    node_number node = 0;
    /// The first name of its transactions. A process that comes back has higher ones.
    std::uint64_t first = 0;
    /// The sender relays that `node` has lost the receiver.
    bool relayed = false;
    template <class V>
    void fields(V& v) {
        v(node), v(first), v(relayed);
    }
};

/// From an owner to a sharer: do not read the copy any more. As an answer: the copy is not read, and will not be.
struct invalidation {
    object_id id;
    std::uint64_t grant = 0;
    std::uint32_t looks = 0;  ///< how many reads the copy has answered
    template <class V>
    void fields(V& v) {
        v(id), v(grant), v(looks);
    }
};

/// To the home of an object that has moved.
struct owner_update {
    object_id id;
    node_number owner = 0;
    std::uint64_t version = 0;
    template <class V>
    void fields(V& v) {
        v(id), v(owner), v(version);
    }
};

/// The processes that the sender is connected with, by node; 0: none. Each node names its process in its hello.
struct rejoin_request {
    std::uint64_t round = 0;
    std::vector<std::uint64_t> processes;
    template <class V>
    void fields(V& v) {
        v(round), v(processes);
    }
};

/// One part of a list that may take several messages.
struct list_part {
    std::uint32_t part = 0;   ///< from 0 on
    std::uint32_t parts = 1;  ///< number of all parts
    std::vector<owner_update> places;
    template <class V>
    void fields(V& v) {
        v(part), v(parts), v(places);
    }
};

/// What the sender knows of objects that have their home elsewhere.
struct ownership_report {
    std::uint64_t round = 0;   ///< of the rejoin_request
    std::uint64_t number = 0;  ///< of the sender's ownership reports: another report may have other content
    std::uint64_t era = 0;     ///< the highest era of processes that came back with the receiver's or the sender's
                               ///< number
    list_part list;
    template <class V>
    void fields(V& v) {
        v(round), v(number), v(era), v(list);
    }
};

/// The sender serves from now on. All objects that former processes with its number owned have ended, at that version.
struct rejoin_done {
    std::uint64_t era = 0;
    std::uint64_t version = 0;
    list_part list;  ///< of the ownership reports' objects, those with their home at the receiver
    template <class V>
    void fields(V& v) {
        v(era), v(version), v(list);
    }
};

/// The receiver may send requests to the sender from now on, and the sender to it.
struct rejoin_ack {
    std::uint64_t era = 0;  ///< of the receiver
    bool serves = false;    ///< false: the sender is about to come back itself
    template <class V>
    void fields(V& v) {
        v(era), v(serves);
    }
};

/// Why a lock is refused. Later values are worse.
enum class lock_refusal : std::uint8_t {
    none,
    outranked,  ///< it is reserved for a block that goes first
    shared,     ///< nodes have copies of it, and were told to drop them
    locked,     ///< a running commit has a lock
    stale,      ///< it has changed since it was read
};
constexpr lock_refusal last(lock_refusal) noexcept { return lock_refusal::stale; }

struct prepare_reply {
    bool yes = false;
    std::uint64_t version = 0;  ///< of the commit, if the receiver decides
    lock_refusal why{};         ///< of a no: the reason of the first refused lock
    std::uint64_t clock = 0;    ///< of a yes that decides nothing: the receiver's clock once it had all locks
    template <class V>
    void fields(V& v) {
        v(yes), v(version), v(why), v(clock);
    }
};

/// An abstract lock.
struct claim_item {
    object_id name;
    bool shared = false;
    template <class V>
    void fields(V& v) {
        v(name), v(shared);
    }
};

/// To the home of the names. Holds are numbered separately from transactions.
struct claim {
    transaction_name who;
    transaction_name root_execution;  ///< holds of the same family do not conflict
    std::uint64_t age = 0;            ///< the smaller age is older
    std::vector<claim_item> names;
    template <class V>
    void fields(V& v) {
        v(who), v(root_execution), v(age), v(names);
    }
};

struct claim_reply {
    std::uint32_t granted = 0;  ///< number of granted names, from the first on; another hold has the next one
    bool older = false;         ///< that other hold is older
    bool is_full = false;       ///< the holder has as many names as it may
    template <class V>
    void fields(V& v) {
        v(granted), v(older), v(is_full);
    }
};

/// Releases all names and objects that the hold has at this node. The hold takes nothing more.
struct release {
    transaction_name who;
    template <class V>
    void fields(V& v) {
        v(who);
    }
};

/// No thread waits for the call of the header's number any more.
struct cancel_run {
    bool stranded = false;
    template <class V>
    void fields(V& v) {
        v(stranded);
    }
};

struct status_reply {
    bool admitted = true;  ///< false: there are too many observers, and the status is empty
    cluster::node_status status;
    template <class V>
    void fields(V& v) {
        v(admitted), v(status);
    }
};

/// An observer's order about the recording. A node makes one recording at a time, which ends with its observer.
enum class timeline_order : std::uint8_t {
    read_clock,  ///< tell the node's clock
    start,       ///< start an empty recording
    take,        ///< end the recording, and send its next events
};
constexpr timeline_order last(timeline_order) noexcept { return timeline_order::take; }

struct timeline {
    timeline_order order{};
    template <class V>
    void fields(V& v) {
        v(order);
    }
    static constexpr std::size_t size = 1;
};

/// An operator's decision about a transaction in doubt.
struct resolve_doubt {
    transaction_name who;
    bool commits = false;
    template <class V>
    void fields(V& v) {
        v(who), v(commits);
    }
    static constexpr std::size_t size = 13;
};

struct doubts_reply {
    std::vector<cluster::doubt> all{};
    template <class V>
    void fields(V& v) {
        v(all);
    }
};

struct timeline_reply {
    /// The most events in one answer. The thread that reads the nodes' messages makes the answer.
    static constexpr std::size_t max_events = 10'000;

    bool granted = true;      ///< false: another observer records, or memory is lacking
    std::int64_t now_ns = 0;  ///< by the steady clock
    bool more = false;        ///< more events are left to take
    std::uint64_t left_out = 0;
    std::vector<cluster::timeline_event> events{};
    template <class V>
    void fields(V& v) {
        v(granted), v(now_ns), v(more), v(left_out), v(events);
    }
};

}  // namespace tutti::wire
