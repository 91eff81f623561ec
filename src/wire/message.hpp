// The schema: every message that two nodes exchange, and the header in front of each. docs/cluster-protocol.md says
// what they mean.
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

/// Nodes of another version are refused by the hello.
inline constexpr std::uint8_t protocol_version = 14;

enum class kind : std::uint8_t {
    hello,     ///< the first of each connection, from both sides
    fetch,     ///< answered by fetched
    validate,  ///< answered by checked
    watch,     ///< a validate whose sender sleeps until one of them changes; answered by checked
    changed,   ///< to each node that watches, once; not answered
    prepare,   ///< answered by answered
    decide,    ///< not answered
    withdraw,  ///< the sender asks for no yes any more; answered by answered
    place,     ///< not answered
    beat,      ///< no body, not answered: the sender is there, and this is what its clock says
    fetched,
    answered,
    status,       ///< an observer's, no body; answered by status_told
    status_told,  ///< to observers alone
    checked,
    claim,  ///< abstract locks by name; answered by claimed
    claimed,
    release,        ///< not answered
    run,            ///< a call of a procedure, cluster::forwarded_call; answered by ran
    ran,            ///< cluster::forwarded_answer
    recall,         ///< not answered
    reserve,        ///< a fetch that keeps writers out; answered by fetched
    timeline,       ///< an observer's; answered by timeline_told
    timeline_told,  ///< to observers alone
    invalidate,     ///< of copies, to who has them; answered by invalidated, as nobody waits for it
    invalidated,    ///< also without a question
    gather,         ///< of a process that takes the place of one that has gone; answered by surveys, now or never
    survey,
    opened,  ///< it knows what it has to know; answered by admitted
    admitted,
    inquire,      ///< of who has prepared for a node that is gone, to who else has; answered by verdict, now or later
    verdict,      ///< also without a question
    lost_node,    ///< to every node that is left; not answered
    doubts,       ///< an observer's, no body; answered by doubts_told
    doubts_told,  ///< to observers alone
    settle,       ///< an observer's; answered by settled
    settled,      ///< to observers alone
};

/// Whether it is about a process that comes back: these go between nodes that are lost to each other.
[[nodiscard]] constexpr bool is_about_return(kind k) noexcept {
    return k == kind::gather || k == kind::survey || k == kind::opened || k == kind::admitted;
}

/// Whether participants ask each other for what a node that is gone has decided.
[[nodiscard]] constexpr bool is_about_doubt(kind k) noexcept { return k == kind::inquire || k == kind::verdict; }

/// Whether it answers a block's question, whose number its header repeats. (`ran` answers a server's.)
[[nodiscard]] constexpr bool is_answer(kind k) noexcept {
    return k == kind::fetched || k == kind::answered || k == kind::checked || k == kind::claimed;
}

/// In the place of a node's number: who says so is none, and may ask for the status, for what the node records of what
/// goes on, and for transactions in doubt, which it may have the node settle; and for nothing else.
inline constexpr node_number observer_number = 0xffff;
/// Bits of the `call` of a hello. All nodes have joined its sender: each number has been a node there.
inline constexpr std::uint64_t has_begun = 1;
/// To one that calls: another process with that number is not lost yet, so it is to call again.
inline constexpr std::uint64_t has_another = 2;
/// That a node answers at a time.
inline constexpr std::uint32_t most_observers = 8;
/// Between an answer and a look at the next question of the same observer, so that none can keep the thread busy that
/// reads what nodes say. One who compares clocks asks later than that.
inline constexpr std::chrono::milliseconds rest_of_observer{5};
/// Threads of one node.
inline constexpr std::uint16_t most_slots = 4096;

/// In front of every message. Fixed size; `length` counts what follows it.
struct header {
    std::uint32_t length = 0;
    wire::kind kind{};
    std::uint8_t version = protocol_version;
    node_number from = 0;
    std::uint64_t call = 0;    ///< the number that the answer repeats; 0: nobody waits for one
    std::uint64_t clock = 0;   ///< the sender's
    std::uint64_t oldest = 0;  ///< no reader of the sender will ask for an older time; of a hello: which process it is
    template <class V>
    void fields(V& v) {
        v(length), v(kind), v(version), v(from), v(call), v(clock), v(oldest);
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

/// One attempt of one transaction: `slot` is a thread of the node, `sequence` grows from attempt to attempt of it.
struct transaction_name {
    node_number node = 0;
    std::uint16_t slot = 0;
    std::uint64_t sequence = 0;  ///< from 1 on
    friend bool operator==(const transaction_name&, const transaction_name&) = default;
    [[nodiscard]] bool exists() const noexcept { return sequence != 0; }
    /// That runs it, among those of all nodes.
    [[nodiscard]] std::uint32_t thread() const noexcept { return std::uint32_t{node} << 16 | slot; }
    template <class V>
    void fields(V& v) {
        v(node), v(slot), v(sequence);
    }
};

/// Which of two that want one object goes first: the higher rank; of equals the older; of these the lower node.
struct precedence {
    std::int64_t rank = 0;
    std::uint64_t age = 0;  ///< what the clock said when the execution drew it, unique on its node; 0: younger than all
    template <class V>
    void fields(V& v) {
        v(rank), v(age);
    }
};

/// In the place of a time: as it is now.
inline constexpr std::uint64_t newest = ~std::uint64_t{0};

struct fetch {
    std::uint64_t at = newest;  ///< as it was at that time of the logical clock
    bool keeps = false;         ///< the sender may keep copies of what it is told
    std::vector<object_id> ids;
    template <class V>
    void fields(V& v) {
        v(at), v(keeps), v(ids);
    }
};

enum class whereabouts : std::uint8_t {
    here,       ///< the answer holds its value, or that it does not exist
    elsewhere,  ///< ask `owner`
    busy,       ///< a commit of a transaction of `owner` holds it, or an irrevocable block wants it
    in_doubt,   ///< the same, and that node is gone
    too_old,    ///< nobody kept what it was then
    later,      ///< the answer is full: ask again
    too_large,  ///< for any answer
};
constexpr whereabouts last(whereabouts) noexcept { return whereabouts::too_large; }

struct object_view {
    whereabouts where{};
    node_number owner = 0;
    bool exists = false;
    bool shared = false;  ///< who asked may keep a copy, until it is invalidated; `valid_at` is the grant
    std::uint64_t version = 0;
    std::uint64_t valid_at = 0;  ///< the version was current when the owner's clock said so, or more
    std::string bytes;
    template <class V>
    void fields(V& v) {
        v(where), v(owner), v(exists), v(shared), v(version), v(valid_at), v(bytes);
    }
};

struct fetched {
    std::vector<object_view> objects;  ///< in the order of the ids
    template <class V>
    void fields(V& v) {
        v(objects);
    }
};

/// To the owners of what an irrevocable block, or one that asserts itself, opens. `who` is a hold, as of abstract
/// locks, and its release frees all.
struct reserve {
    transaction_name who;
    precedence as{};
    bool firm = false;    ///< of an irrevocable block: whoever goes first
    bool alone = false;   ///< no commit that has read it takes a lock any more: it is about to be written
    bool values = false;  ///< the answer holds them
    std::vector<object_id> ids;
    template <class V>
    void fields(V& v) {
        v(who), v(as), v(firm), v(alone), v(values), v(ids);
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

/// To validate and watch.
struct checked {
    std::uint32_t current = 0;  ///< so many of the reads, from the first on, are current; the next one is not
    template <class V>
    void fields(V& v) {
        v(current);
    }
};

/// To a node that watches the object: it has changed, or moved, or is watched no more for want of room.
struct changed {
    object_id id;
    template <class V>
    void fields(V& v) {
        v(id);
    }
};

/// What becomes of a written object at the decision.
enum class action : std::uint8_t {
    put,    ///< it stays where it is, with the new bytes
    erase,  ///< it stays, and does not exist any more
    leave,  ///< it moves to the writer
};
constexpr action last(action) noexcept { return action::leave; }

struct write_item {
    object_id id;
    std::uint64_t version = 0;  ///< that was read
    wire::action action{};
    std::string bytes;
    template <class V>
    void fields(V& v) {
        v(id), v(version), v(action), v(bytes);
    }
};

/// Who decides what a prepare is about.
enum class decider : std::uint8_t {
    sender,             ///< once it has all answers; it says so by decide
    sender_of_several,  ///< the same, and more than one other node takes part: the prepare names them
    all_of_several,     ///< nobody: several other nodes hold all of it, and once each has said yes, it has committed
    receiver,           ///< a yes is the commit, and is carried out before it is sent
    receiver_held,  ///< a yes is the commit; the locks stay until the sender, which has a part of its own, says decide
};
constexpr decider last(decider) noexcept { return decider::receiver_held; }
/// Whether the prepare names the other participants.
constexpr bool takes_several(decider d) noexcept {
    return d == decider::sender_of_several || d == decider::all_of_several;
}

struct prepare {
    transaction_name who;
    precedence as{};
    decider decides{};
    std::vector<read_item> reads;
    std::vector<write_item> writes;
    std::vector<node_number> others{};  ///< that take part beside its sender and its receiver, if several do
    template <class V>
    void fields(V& v) {
        v(who), v(as), v(decides), v(reads), v(writes);
        if (takes_several(decides)) v(others);
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

/// The sender runs that transaction, and misses an answer to its prepare. A no says that the receiver has not said yes,
/// or has undone its part, and never says yes from now on.
struct withdraw {
    transaction_name who;
    template <class V>
    void fields(V& v) {
        v(who);
    }
};

/// To another participant: its sender has prepared that transaction, has lost the node that decides, and knows no
/// decision.
struct inquire {
    transaction_name who;
    template <class V>
    void fields(V& v) {
        v(who);
    }
};

/// What is known of a transaction by a participant which has a decision, or has lost the node that decides.
enum class fate : std::uint8_t {
    unknown,  ///< that decision never reached it, or it has forgotten what it was; with its clock at the prepare, or 0
    aborted,  ///< it was told so, or has not said yes and never will
    committed,  ///< it was told so
    prepared,   ///< unknown, and it has said yes to a prepare that all_of_several decide; with its clock at the prepare
};
constexpr fate last(fate) noexcept { return fate::prepared; }

struct verdict {
    transaction_name who;
    wire::fate fate{};
    std::uint64_t version = 0;  ///< if it has committed; or that clock
    bool by_hand = false;       ///< an operator has settled it, and nobody knew it
    template <class V>
    void fields(V& v) {
        v(who), v(fate), v(version), v(by_hand);
    }
};

/// The sender has lost that node, and none of its commits that have read copies of that node's objects is under way.
struct lost_node {
    node_number node = 0;
    /// Its transactions have names from this one on; a process that comes back has higher ones.
    std::uint64_t first = 0;
    /// The other way round: that node has told the sender that it has lost the receiver.
    bool relayed = false;
    template <class V>
    void fields(V& v) {
        v(node), v(first), v(relayed);
    }
};

/// An owner to who has a copy: it is not to be read any more. And the answer: it is not, and will not be.
struct invalidation {
    object_id id;
    std::uint64_t grant = 0;
    std::uint32_t looks = 0;  ///< that the copy has answered
    template <class V>
    void fields(V& v) {
        v(id), v(grant), v(looks);
    }
};

/// To the home of an object that has moved.
struct place {
    object_id id;
    node_number owner = 0;
    std::uint64_t version = 0;
    template <class V>
    void fields(V& v) {
        v(id), v(owner), v(version);
    }
};

/// Which processes the sender is connected to, by number; 0: none. Each node says in its hello which one it is.
struct gather {
    std::uint64_t round = 0;
    std::vector<std::uint64_t> processes;
    template <class V>
    void fields(V& v) {
        v(round), v(processes);
    }
};

/// Of a list that may take several messages.
struct part_of_list {
    std::uint32_t part = 0;   ///< from 0 on
    std::uint32_t parts = 1;  ///< of all
    std::vector<place> places;
    template <class V>
    void fields(V& v) {
        v(part), v(parts), v(places);
    }
};

/// What the sender knows of objects that have their home elsewhere.
struct survey {
    std::uint64_t round = 0;   ///< of the gather
    std::uint64_t number = 0;  ///< of the sender's surveys: another one may say something else
    std::uint64_t era = 0;     ///< the highest of processes that have come back with that number or the sender's
    part_of_list list;
    template <class V>
    void fields(V& v) {
        v(round), v(number), v(era), v(list);
    }
};

/// The sender serves from now on. What former processes with its number owned ended with them, at that version.
struct opened {
    std::uint64_t era = 0;
    std::uint64_t version = 0;
    part_of_list list;  ///< of others' surveys, what has its home at the receiver
    template <class V>
    void fields(V& v) {
        v(era), v(version), v(list);
    }
};

/// The receiver may ask the sender from now on, and is asked.
struct admitted {
    std::uint64_t era = 0;  ///< of the receiver
    bool serves = false;    ///< false: it is about to come back itself
    template <class V>
    void fields(V& v) {
        v(era), v(serves);
    }
};

/// Why a lock is not given, the later the worse.
enum class obstacle : std::uint8_t {
    none,
    outranked,  ///< it is reserved for a block that goes first
    shared,     ///< nodes have copies of it, which have been told to drop them
    locked,     ///< a commit that is under way has a lock
    stale,      ///< it is not what was read
};
constexpr obstacle last(obstacle) noexcept { return obstacle::stale; }

struct answered {
    bool yes = false;
    std::uint64_t version = 0;  ///< of the commit, where the receiver decides
    obstacle why{};             ///< of a no, that of the first lock that was not given
    std::uint64_t clock = 0;    ///< of a yes that decides nothing: the receiver's, once it had all locks
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

/// To the home of the names. Holds have a count of their own, beside that of transactions.
struct claim {
    transaction_name who;
    transaction_name family;  ///< holds of the same one are not in each other's way
    std::uint64_t age = 0;    ///< the smaller is the older
    std::vector<claim_item> names;
    template <class V>
    void fields(V& v) {
        v(who), v(family), v(age), v(names);
    }
};

struct claimed {
    std::uint32_t granted = 0;  ///< so many, from the first on; the next one is held by another
    bool older = false;         ///< which is older
    bool full = false;          ///< or the holder has as many as it may
    template <class V>
    void fields(V& v) {
        v(granted), v(older), v(full);
    }
};

/// All that the hold has at this node, names and objects, for good.
struct release {
    transaction_name who;
    template <class V>
    void fields(V& v) {
        v(who);
    }
};

/// Nobody waits for the call of the header's number any more.
struct recall {
    bool stranded = false;
    template <class V>
    void fields(V& v) {
        v(stranded);
    }
};

struct status_told {
    bool admitted = true;  ///< false: there are too many observers, and the facts are none
    cluster::node_facts facts;
    template <class V>
    void fields(V& v) {
        v(admitted), v(facts);
    }
};

/// What an observer wants of the recording, of which a node has one at a time; it ends with its observer.
enum class timeline_order : std::uint8_t {
    look,   ///< what the node's clock says
    start,  ///< from nothing
    take,   ///< no more is recorded; the next ones of what was
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

/// An operator's word on a transaction that is in doubt.
struct settle {
    transaction_name who;
    bool commits = false;
    template <class V>
    void fields(V& v) {
        v(who), v(commits);
    }
    static constexpr std::size_t size = 13;
};

struct doubts_told {
    std::vector<cluster::doubt> all{};
    template <class V>
    void fields(V& v) {
        v(all);
    }
};

struct timeline_told {
    /// In one answer: it is made by the thread that reads what nodes say.
    static constexpr std::size_t most_events = 10'000;

    bool granted = true;      ///< false: another observer records, or there is no memory for it
    std::int64_t now_ns = 0;  ///< of the steady clock
    bool more = false;        ///< is left to take
    std::uint64_t left_out = 0;
    std::vector<cluster::timeline_event> events{};
    template <class V>
    void fields(V& v) {
        v(granted), v(now_ns), v(more), v(left_out), v(events);
    }
};

}  // namespace tutti::wire
