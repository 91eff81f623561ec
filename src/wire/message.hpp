// The schemas of all messages that nodes exchange, and of the header before each message. docs/cluster-protocol.md
// describes what the messages mean.
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
    watch,           ///< like validate, but the sender sleeps until an object changes; answered by validate_reply
    object_changed,  ///< to each watching node, once; not answered
    prepare,         ///< answered by prepare_reply
    decide,          ///< not answered
    withdraw,        ///< the sender no longer needs the answer yes; answered by prepare_reply
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
    invalidate,        ///< to nodes with a copy of an object; answered by invalidate_reply; the sender does not wait
    invalidate_reply,  ///< also sent without a request
    rejoin_request,    ///< from a process that replaces a lost one; ownership_report answers immediately, or never
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

/// Returns true if the message is about a process that rejoins. Nodes that have lost each other exchange these
/// messages.
[[nodiscard]] constexpr bool is_rejoin_message(message_type k) noexcept {
    return k == message_type::rejoin_request || k == message_type::ownership_report || k == message_type::rejoin_done ||
           k == message_type::rejoin_ack;
}

/// Returns true if participants exchange the message to find out what a lost node has decided.
[[nodiscard]] constexpr bool is_in_doubt_message(message_type k) noexcept {
    return k == message_type::fate_query || k == message_type::fate_report;
}

/// Returns true if the message answers a block's request. Its header repeats the request's number. (`run_reply` answers
/// a server's request.)
[[nodiscard]] constexpr bool is_reply(message_type k) noexcept {
    return k == message_type::fetch_reply || k == message_type::prepare_reply || k == message_type::validate_reply ||
           k == message_type::claim_reply;
}

/// The number that an observer uses instead of a node's number. An observer is not a node. It may only request the
/// status, the node's timeline, and the transactions in doubt, which it may have the node resolve.
inline constexpr node_number observer_number = 0xffff;
/// A bit of a hello's `call`: all nodes have joined the sender, so for the sender the cluster has begun.
inline constexpr std::uint64_t has_begun = 1;
/// A bit of the hello to a calling process: another process with the caller's number is not lost yet, so the caller has
/// to call again.
inline constexpr std::uint64_t has_another = 2;
/// The maximum number of observers that a node answers at a time.
inline constexpr std::uint32_t max_observers = 8;
/// The pause between an answer and the next request of the same observer. The pause keeps an observer from occupying
/// the thread that reads the nodes' messages. An observer that compares clocks makes a longer pause.
inline constexpr std::chrono::milliseconds observer_pause{5};
/// The largest number of threads of one node.
inline constexpr std::uint16_t max_slots = 4096;

/// The header before every message. Its size is fixed. `length` counts the bytes that follow the header.
struct header {
    std::uint32_t length = 0;
    wire::message_type type{};
    std::uint8_t version = protocol_version;
    node_number from = 0;
    std::uint64_t call = 0;    ///< the number that the answer repeats; 0: the sender waits for no answer
    std::uint64_t clock = 0;   ///< the sender's clock
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
    /// Returns a number for the thread that runs the attempt, unique among all nodes.
    [[nodiscard]] std::uint32_t thread() const noexcept { return std::uint32_t{node} << 16 | slot; }
    template <class V>
    void fields(V& v) {
        v(node), v(slot), v(sequence);
    }
};

/// The order of two transactions that conflict on an object. The transaction with the higher rank precedes. With equal
/// ranks, the older transaction precedes, and with equal ages, the transaction of the node with the lower number.
struct precedence {
    std::int64_t rank = 0;
    std::uint64_t age = 0;  ///< the clock when the execution drew it, unique on its node; 0: younger than all
    template <class V>
    void fields(V& v) {
        v(rank), v(age);
    }
};

/// The value of a requested time that stands for the current state.
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
    elsewhere,  ///< the node `owner` has the object: ask that node
    busy,       ///< a commit of `owner` has locked the object, or an irrevocable block waits for the object
    in_doubt,   ///< a commit of `owner` has locked the object, and that node is lost
    too_old,    ///< no node has kept the value of the requested time
    later,      ///< the answer has no room for the object: ask again
    too_large,  ///< the object is too large for any answer
};
constexpr lookup_result last(lookup_result) noexcept { return lookup_result::too_large; }

struct object_view {
    lookup_result where{};
    node_number owner = 0;
    bool exists = false;
    bool shared = false;  ///< the node that asked may keep a copy until an invalidation; `valid_at` is the grant
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

/// Reserves objects that an irrevocable block, or a block with precedence, opens. Sent to the owners of the objects.
/// `who` is a hold, as for abstract locks. The hold's release also releases its reservations.
struct reserve {
    transaction_name who;
    precedence as{};
    bool irrevocable = false;   ///< for an irrevocable block: excludes even transactions with precedence
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

/// The answer to the messages `validate` and `watch`.
struct validate_reply {
    std::uint32_t current = 0;  ///< number of reads before the first one that is not current
    template <class V>
    void fields(V& v) {
        v(current);
    }
};

/// Sent to a node that watches the object: the object has changed or moved, or is no longer watched for lack of space.
struct object_changed {
    object_id id;
    template <class V>
    void fields(V& v) {
        v(id);
    }
};

/// The effect of the decision on a written object.
enum class action : std::uint8_t {
    put,    ///< the object stays at its node, with the new bytes
    erase,  ///< the object stays at its node, and does not exist any more
    leave,  ///< the object moves to the writer
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

/// Specifies which node decides a prepared transaction.
enum class decider : std::uint8_t {
    sender,             ///< the sender, once it has all answers, by decide
    sender_of_several,  ///< as `sender`, with more than one other node, which the prepare names
    all_of_several,     ///< all participants together: the transaction has committed once each of them has said yes
    receiver,           ///< a yes is the commit, which the receiver carries out before it sends the yes
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
    std::vector<node_number> others{};  ///< participants other than the sender and the receiver
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

/// Sent by the node that runs the transaction if an answer to its prepare is missing. The answer `no` means that the
/// receiver has not answered yes, or has undone its part. From then on, the receiver never answers yes.
struct withdraw {
    transaction_name who;
    template <class V>
    void fields(V& v) {
        v(who);
    }
};

/// Sent to another participant. The sender has prepared the transaction, has lost the node that decides, and does not
/// know the decision.
struct fate_query {
    transaction_name who;
    template <class V>
    void fields(V& v) {
        v(who);
    }
};

/// A participant's knowledge about a transaction, if the participant knows the decision or has lost the node that
/// decides.
enum class transaction_fate : std::uint8_t {
    unknown,    ///< the participant never got the decision, or forgot it; `version`: clock at the prepare, or 0
    aborted,    ///< the participant got this decision, or has not said yes and never will
    committed,  ///< the participant got this decision
    prepared,   ///< as unknown, but the participant said yes to an all_of_several prepare; `version`: clock then
};
constexpr transaction_fate last(transaction_fate) noexcept { return transaction_fate::prepared; }

struct fate_report {
    transaction_name who;
    wire::transaction_fate fate{};
    std::uint64_t version = 0;  ///< version of the commit, or the clock at the prepare
    bool by_hand = false;       ///< an operator has resolved it, because the decision was unknown
    template <class V>
    void fields(V& v) {
        v(who), v(fate), v(version), v(by_hand);
    }
};

/// The sender has lost `node`, and none of the sender's running commits has read copies of that node's objects.
struct lost_node {
    node_number node = 0;
    /// The first sequence number of the lost node's transactions. A process that rejoins uses higher numbers.
    std::uint64_t first = 0;
    /// The sender relays that `node` has lost the receiver.
    bool relayed = false;
    template <class V>
    void fields(V& v) {
        v(node), v(first), v(relayed);
    }
};

/// From an owner to a node with a copy: a request to stop reading the copy. As the answer: the copy is not read now,
/// and will not be read later.
struct invalidation {
    object_id id;
    std::uint64_t grant = 0;
    std::uint32_t looks = 0;  ///< how many reads the copy has answered
    template <class V>
    void fields(V& v) {
        v(id), v(grant), v(looks);
    }
};

/// Sent to the home of an object that has moved.
struct owner_update {
    object_id id;
    node_number owner = 0;
    std::uint64_t version = 0;
    template <class V>
    void fields(V& v) {
        v(id), v(owner), v(version);
    }
};

/// The processes that the sender is connected with, indexed by node; 0: none. Each node states its process in its
/// hello.
struct rejoin_request {
    std::uint64_t round = 0;
    std::vector<std::uint64_t> processes;
    template <class V>
    void fields(V& v) {
        v(round), v(processes);
    }
};

/// One part of a list that may need several messages.
struct list_part {
    std::uint32_t part = 0;   ///< from 0 on
    std::uint32_t parts = 1;  ///< number of all parts
    std::vector<owner_update> places;
    template <class V>
    void fields(V& v) {
        v(part), v(parts), v(places);
    }
};

/// The sender's knowledge about objects whose home is another node.
struct ownership_report {
    std::uint64_t round = 0;   ///< the round of the rejoin_request
    std::uint64_t number = 0;  ///< number among the sender's ownership reports, which may differ in content
    std::uint64_t era = 0;     ///< the highest era of processes that came back with the receiver's or the sender's
                               ///< number
    list_part list;
    template <class V>
    void fields(V& v) {
        v(round), v(number), v(era), v(list);
    }
};

/// The sender serves requests from now on. All objects that former processes with the sender's number owned have ended,
/// at `version`.
struct rejoin_done {
    std::uint64_t era = 0;
    std::uint64_t version = 0;
    list_part list;  ///< of the ownership reports' objects, those with their home at the receiver
    template <class V>
    void fields(V& v) {
        v(era), v(version), v(list);
    }
};

/// From now on, the sender and the receiver may send requests to each other.
struct rejoin_ack {
    std::uint64_t era = 0;  ///< of the receiver
    bool serves = false;    ///< false: the sender itself is about to rejoin
    template <class V>
    void fields(V& v) {
        v(era), v(serves);
    }
};

/// The reason why a lock is refused. Later values are worse for the transaction.
enum class lock_refusal : std::uint8_t {
    none,
    outranked,  ///< the object is reserved for a block with precedence
    shared,     ///< nodes have copies of the object, and were told to drop them
    locked,     ///< a running commit has a lock
    stale,      ///< the object has changed since it was read
};
constexpr lock_refusal last(lock_refusal) noexcept { return lock_refusal::stale; }

struct prepare_reply {
    bool yes = false;
    std::uint64_t version = 0;  ///< version of the commit, if the receiver decides
    lock_refusal why{};         ///< if the answer is no: the reason of the first refused lock
    std::uint64_t clock = 0;    ///< if a yes decides nothing: the receiver's clock once it had all locks
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

/// Sent to the home of the names. Holds are numbered separately from transactions.
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
    std::uint32_t granted = 0;  ///< number of names before the first one that another hold has
    bool older = false;         ///< that other hold is older than this one
    bool is_full = false;       ///< the holder already has the maximum number of names
    template <class V>
    void fields(V& v) {
        v(granted), v(older), v(is_full);
    }
};

/// Releases all names and objects that the hold has at the receiver. The hold acquires nothing afterwards.
struct release {
    transaction_name who;
    template <class V>
    void fields(V& v) {
        v(who);
    }
};

/// No thread waits any more for the call with the number in the header.
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

/// An observer's order about a recording. A node makes one recording at a time. The recording ends when its observer
/// disconnects.
enum class timeline_order : std::uint8_t {
    read_clock,  ///< report the node's clock
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
    /// The maximum number of events in one answer. The number is limited because the thread that reads the nodes'
    /// messages makes the answer.
    static constexpr std::size_t max_events = 10'000;

    bool granted = true;      ///< false: another observer records, or memory is lacking
    std::int64_t now_ns = 0;  ///< by the steady clock
    bool more = false;        ///< more events are left
    std::uint64_t left_out = 0;
    std::vector<cluster::timeline_event> events{};
    template <class V>
    void fields(V& v) {
        v(granted), v(now_ns), v(more), v(left_out), v(events);
    }
};

}  // namespace tutti::wire
