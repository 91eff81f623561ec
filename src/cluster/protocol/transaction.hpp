// TFA, the requester's side: reads at a time of the logical clock, forwarding, and commit by locks in at most two
// phases.
//
// Invariants (docs/cluster-protocol.md proves opacity from them):
//   T1  Every read was current, and not locked for writing, at a moment when its owner's clock said `time()` or more.
//       For a read of a copy, this node's clock counts instead (copies.hpp, C1 and C2).
//   T2  No read has a version beyond `time()`.
//   T3  Before prepare, and after a failed prepare, no object is locked.
//   T4  After a conflict, T1 and T2 hold for the first `standing()` entries, at the new `time()`. If T1 and T2 hold for
//       some entries, they hold for every first part of these. So a part of an attempt may be rolled back alone.
//
// A *snapshot reader* reads its first object as it is now, and every other one as it was at `time()`, which the first
// read fixes. A snapshot reader validates nothing, never starts over because of other transactions' commits, and may
// not write.
//
// A *shielded* transaction asserts itself against the transactions that it goes before: objects that it opens are
// reserved for it. Since the reservation may pass to another transaction, all general rules apply to it, too
// (docs/cluster-protocol.md, "Contention").
//
// A *bound* transaction is that of an irrevocable block: objects that it opens are reserved for it. So its reads stay
// current, and its prepare is never refused for long (docs/cluster-protocol.md, "Irrevocable blocks").
//
// A transaction belongs to one thread, which uses it for one attempt after the other.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cluster/protocol/network.hpp"
#include "cluster/protocol/precedence.hpp"
#include "cluster/protocol/site.hpp"
#include "tutti/cluster/light.hpp"
#include "tutti/cluster/status.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {

/// How often a busy or moving object is asked for before the attempt gives up.
inline constexpr unsigned most_looks = 24;

enum class outcome : std::uint8_t {
    good,
    conflict,   ///< another transaction was first: run again
    lost,       ///< a needed node is lost; `lost_node` says which. Nothing has happened
    too_large,  ///< for a message: the block can never commit. Nothing has happened
    uncertain,  ///< a node was lost after it was asked to commit. Whether it has committed is unknown here
};

/// An object in a transaction: its state when it was read (T1: `valid_at`), and the state that it will get.
struct entry : wire::object_view {
    object_id id;
    store::place at;       ///< where this node has found it, if it is here
    bool in_copy = false;  ///< it was read in a copy on this node, and is valid as long as the copy is

    bool written = false;
    bool will_exist = false;
    std::string fresh;       ///< the new value
    detail::image copied{};  ///< the new value if it is copied as it is, and `fresh` is not made yet
    void* user = nullptr;    ///< the caller's data for the object
    void* kept = nullptr;    ///< the caller's data for this entry, whatever its object
};

/// The body's other reads: local variables.
class other_reads {
public:
    virtual ~other_reads() = default;
    /// Returns true if the other reads are valid: all were current at one moment when the node's clock said `at` or
    /// more. Moreover, neither these reads nor later unreported reads were committed when the clock said more than
    /// `at`. May raise `at` to achieve this.
    virtual bool stand(std::uint64_t& at) = 0;
};

class claims;

class transaction {
public:
    transaction(site& here, network& net, std::uint16_t slot, other_reads* beside = nullptr) noexcept
        : site_{here}, network_{net}, beside_{beside}, name_{here.self, slot, here.before_names} {}
    ~transaction() {
        forget_ahead();
        end_snapshot();
        unpin();
        untie();
    }

    /// Begins an attempt at the current clock. Returns false if the other reads are not valid. `alone`: there are no
    /// other reads.
    [[nodiscard]] bool begin(bool snapshot = false, bool alone = false);
    /// Continues a light attempt, as if this one had begun at that attempt's time, alone, and had opened the same
    /// objects.
    /// REQUIRES: is_plain; the entries' slots are those of the light attempt's places.
    void take_over(const detail::light_attempt& from) noexcept;
    /// Returns true if a begin has nothing to clean up, and the next objects may be at hand.
    [[nodiscard]] bool is_plain() const noexcept { return is_plain_; }
    /// Returns the caller's data of entry number i, whatever its object, or null if there is none.
    [[nodiscard]] void* kept_of(std::size_t i) const noexcept { return i < pool_.size() ? pool_[i]->kept : nullptr; }
    /// Sets the attempt's manners until the next begin. A snapshot reader blocks no transaction, so it gets no shield.
    void behave(const manners& how) noexcept;
    [[nodiscard]] bool is_shielded() const noexcept { return manners_.shield != nullptr; }
    /// Returns how often this attempt has waited for another transaction to release an object.
    [[nodiscard]] unsigned waits() const noexcept { return waits_; }
    /// Returns true if the last prepare was refused because of a transaction that goes first.
    [[nodiscard]] bool was_outranked() const noexcept { return obstacle_ == wire::lock_refusal::outranked; }
    /// Allows all nodes to forget the values at a snapshot reader's time, which they keep until then. Values of objects
    /// opened later may be too old.
    void end_snapshot() noexcept {
        if (entered_) leave_snapshot();
    }
    [[nodiscard]] bool is_snapshot() const noexcept { return snapshot_; }
    /// Binds the transaction until the next begin: all open objects, and all that will be opened, are reserved for that
    /// hold. The hold's release must follow. Returns `conflict` if an open object is not current or stays locked; the
    /// transaction is not bound then. In a bound transaction, open conflicts only if an object is busy, and may be
    /// called again then. forward and prepare conflict only because of other reads than objects.
    /// REQUIRES: not a snapshot reader; the hold has the irrevocable token.
    [[nodiscard]] outcome bind(claims& hold);
    [[nodiscard]] bool is_bound() const noexcept { return bound_to_ != nullptr; }
    /// Returns the object's entry if this attempt has opened it, or null. Valid until the next begin.
    [[nodiscard]] TUTTI_ALWAYS_INLINE entry* find(const object_id& id) noexcept {
        if (used_ > scanned) [[unlikely]]
            return find_in_index(id);
        return find_by_scan(id);
    }
    /// Returns true while there are few enough entries to be searched without the index.
    [[nodiscard]] bool scans() const noexcept { return used_ <= scanned; }
    [[nodiscard]] TUTTI_ALWAYS_INLINE entry* find_by_scan(const object_id& id) noexcept {
        for (std::size_t i = used_; i != 0; --i) {
            if (pool_[i - 1]->id == id) return pool_[i - 1].get();
        }
        return nullptr;
    }
    /// Returns true if the next opened object may be *at hand*. An object at hand is here and shown, and opening it
    /// needs neither a forward nor a message.
    [[nodiscard]] bool may_be_at_hand() const noexcept { return used_ < at_hand_; }
    /// Returns the entry for that object.
    [[nodiscard]] entry& next_at_hand() noexcept { return *pool_[used_]; }
    /// Opens the object with that entry if it is at hand and shown in `at`. Copies its value, which must have that
    /// image, to `to`. Returns false if the caller has to use open.
    /// REQUIRES: it is not open; may_be_at_hand; e is next_at_hand
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool open_at_hand(entry& e, const object_id& id, shown* at,
                                                        const detail::image& to) noexcept {
        e.at.seen = at;
        return site_.objects.look_again(e.at, id, to, e) && take_at_hand(e, id);
    }
    /// Notes that the object may be shown in `at`. The next open looks there.
    void expect(const object_id& id, shown& at) noexcept { known_of(id) = &at; }
    /// Opens the objects that are not open, in one round trip if they are where they are expected. After a conflict of
    /// open, forward or watch, the caller has to call begin, or rewind to the valid entries.
    [[nodiscard]] outcome open(std::span<const object_id> ids);
    /// Asks for the objects that are elsewhere and not open, without waiting. The first open of one of them waits, and
    /// opens all that are found where they are expected. Objects that were asked for earlier, and not waited for, are
    /// opened first. A transaction that has objects reserved opens them at once.
    [[nodiscard]] outcome ask_ahead(std::span<const object_id> ids);
    /// Moves `time()` to `to` or more if every read is still current. Asks only for reads that are not known to have
    /// been current then. `anew`: asks for all reads as of now.
    [[nodiscard]] outcome forward(std::uint64_t to, bool anew = false);

    /// Prepares the caller's sleep until one of the objects changes. Checks that all open objects are current, and has
    /// their owners report the next change of each. Returns `conflict` if an object has changed already.
    [[nodiscard]] outcome watch();

    /// Returns how many entries, in the order of opening, are current after the last conflict of open, forward or
    /// watch. The next entry is stale; if all entries are current, the object to be opened was unavailable. Returns
    /// nothing if the other reads are not valid, or the snapshot is too old. Then no entry is known to be current.
    [[nodiscard]] std::optional<std::size_t> standing() const noexcept { return standing_; }
    /// Forgets all entries but the first `kept`, which belong to the blocks that are not rolled back.
    void rewind(std::size_t kept) noexcept;

    /// Takes every lock. `decisive`: only this transaction is decided, so one message may both lock and decide. A
    /// decisive prepare may also wait for transactions that go first, since it holds no locks meanwhile.
    /// After `good`, commit() or abort() must follow. After any other outcome, nothing is held.
    [[nodiscard]] outcome prepare(bool decisive);
    /// Tries a commit in place, which a decisive prepare does first. Returns false if nothing has happened, and another
    /// way may succeed.
    [[nodiscard]] bool prepare_in_place() noexcept;
    void commit();
    void abort();

    [[nodiscard]] const wire::transaction_name& name() const noexcept { return name_; }
    [[nodiscard]] std::uint64_t time() const noexcept { return time_; }
    [[nodiscard]] bool writes() const noexcept;
    /// Returns true between a successful prepare and commit or abort.
    [[nodiscard]] bool holds() const noexcept { return prepared_; }
    [[nodiscard]] bool empty() const noexcept { return used_ == 0; }
    [[nodiscard]] std::span<const std::unique_ptr<entry>> entries() const noexcept { return {pool_.data(), used_}; }
    /// Returns true if the answer to prepare was the decision. Then abort() may not follow.
    [[nodiscard]] bool decided() const noexcept { return decided_; }
    [[nodiscard]] node_number lost_node() const noexcept { return lost_; }
    /// Returns the reason of the last outcome that was not good.
    [[nodiscard]] rollback_reason why() const noexcept { return why_; }
    /// Returns the version of the last commit, or of the prepared one.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

private:
    static constexpr std::size_t scanned = 16;  // the most entries that are searched without the index
    struct wanted {
        object_id id;
        node_number at;
        unsigned hops = 0;
        bool busy = false;        ///< at the latest look
        bool guessed = false;     ///< a pointer of this node has named `owner`, and no answer has confirmed it yet
        node_number owner = 0;    ///< the latest owner that was named
        std::uint64_t since = 0;  ///< the version at which that owner got the object
        store::place found{};     ///< by the latest look here
        bool in_copy = false;     ///< the latest look was at a copy
        std::uint64_t invalidations = 0;  ///< before its owner was asked (C3)
        std::uint64_t losses = 0;         ///< before another node was asked (S13)
    };

    /// Returns the ids that are not open, each once, with this node as the first place to look. O(ids).
    [[nodiscard]] std::vector<wanted> not_open(std::span<const object_id> ids);
    outcome look_around(std::vector<wanted>& wants);
    /// Returns where to look first for an object that is not here, by this node's directory.
    [[nodiscard]] wanted first_of(wanted w, const wire::object_view& view) const;
    outcome open_what_was_asked_for();
    void forget_ahead() {
        if (!ahead_.objects.empty()) stop_asking();
    }
    void stop_asking();
    /// Notes whether the next objects may be at hand. Three cases exclude this. A reserved object needs a message to
    /// its owner. The first object of a snapshot reader fixes its time. All objects that were asked for ahead are
    /// opened together with the first of them.
    void note_whether_at_hand() noexcept {
        opens_at_hand_ = hold() == nullptr && (!snapshot_ || used_ != 0) && ahead_.objects.empty();
        at_hand_ = opens_at_hand_ ? std::min(pool_.size(), scanned) : 0;
    }
    [[nodiscard]] entry* find_in_index(const object_id& id) noexcept;
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool take_at_hand(entry& e, const object_id& id) noexcept {
        // T1: the clock said time() before the look. T2: a newer version needs a forward, or the value before it.
        if (e.version > time_) [[unlikely]]
            return false;
        e.id = id;
        e.in_copy = false;
        e.written = false;
        e.user = nullptr;
        ++used_;
        return true;
    }
    [[nodiscard]] bool open_where_known(const object_id& id);
    void leave_snapshot() noexcept;
    /// Looks for the object in this node's copies. Returns false if there is no valid copy.
    [[nodiscard]] bool look_in_copy(const object_id& id, wire::object_view& view);
    void note_before_asking(std::span<wanted> objects);
    /// Looks for the object on this node. Adds it to `again` if it has to be looked for again. Adds it to `remote`,
    /// with the node to ask next, if it is elsewhere.
    outcome look_here(const wanted& w, std::vector<wanted>& again, std::vector<wanted>& remote);
    /// Sends one question to each node, and returns the nodes' views of the objects in `views`, in their order.
    /// `body_of` encodes a question. Ends at the first node that does not answer.
    /// REQUIRES: `objects` is sorted by node.
    template <class BodyOf>
    outcome ask_nodes(std::span<const wanted> objects, wire::message_type what, BodyOf&& body_of,
                      std::vector<wire::object_view>& views);
    template <class BodyOf>
    void make_questions(std::span<const wanted> objects, wire::message_type what, BodyOf&& body_of,
                        std::vector<call>& calls, std::vector<std::size_t>& asked) const;
    outcome take_answers(std::span<const call> calls, std::span<const std::size_t> asked,
                         std::vector<wire::object_view>& views);
    /// Asks as ask_nodes does, and has the objects reserved.
    outcome ask_to_reserve(std::span<const wanted> objects, wire::reserve what, claims& hold,
                           std::vector<wire::object_view>& views);
    /// Has open objects reserved: all, or, if `alone`, the ones that are written. A request that is both firm and alone
    /// is tried for as long as this takes.
    outcome reserve_open(claims& hold, bool firm, bool alone);
    /// Returns the hold that objects are reserved for now, or null.
    [[nodiscard]] claims* hold() const noexcept {
        if (bound_to_ != nullptr) return injected(fault::open_without_reserving) ? nullptr : bound_to_;
        return manners_.shield;
    }
    [[nodiscard]] wire::precedence precedence() const noexcept;
    /// Returns the message for owners when an object is opened.
    /// REQUIRES: hold().
    [[nodiscard]] wire::reserve reservation() const;
    /// Prepares a transaction that is not bound.
    outcome take_locks_in_turn(bool decisive);
    /// Returns true if a refused prepare may be repeated.
    [[nodiscard]] bool may_wait(bool decisive) const noexcept;
    /// Compares an entry with its owner's view. Adds the object to `again` if it has to be asked for again.
    outcome compare(const wanted& w, const wire::object_view& view, std::vector<wanted>& again);
    /// Takes the locks of one prepare.
    outcome take_locks(bool decisive);
    /// Returns true if this node owns all open objects, and they are few enough.
    [[nodiscard]] bool may_commit_at_once() const noexcept;
    outcome commit_at_once();
    /// Encodes `fresh` of the entries whose values are copied.
    void encode();
    outcome refused(node_number by, wire::lock_refusal why) noexcept {
        is_plain_ = false;
        refused_by_ = by;
        obstacle_ = why;
        return lose_to(rollback_reason::refused);
    }
    /// Returns true if a message with that body and that many objects may be sent.
    [[nodiscard]] bool fits(const std::string& body, std::size_t objects) const noexcept {
        return body.size() <= site_.largest && objects <= wire::max_elements;
    }
    /// Takes the view of an object, in next_entry() or elsewhere. The view may be moved from.
    outcome take(const wanted& w, wire::object_view& view, std::vector<wanted>& again);
    /// Returns where to look next for an object that is not at `w.at`.
    [[nodiscard]] wanted next_of(wanted w, const wire::object_view& view);
    /// Notes a conflict that leaves the first `standing` entries valid.
    outcome lose_to(rollback_reason why, std::optional<std::size_t> standing = std::nullopt) noexcept {
        why_ = why;
        standing_ = standing && injected(fault::overlook_stale_read) ? used_ : standing;
        return outcome::conflict;
    }
    outcome lose_node(node_number node) noexcept {
        lost_ = node;
        why_ = rollback_reason::lost;
        return outcome::lost;
    }
    /// Notes that an object is in doubt. A former process of this node may have locked it, if there was one. A node
    /// that names a process that cannot exist is treated as lost itself.
    outcome lose_to_doubt(const wire::object_view& view, node_number asked) noexcept {
        const bool there_is = view.owner < site_.nodes && (view.owner != site_.self || site_.comes_after_another());
        return lose_node(there_is ? view.owner : asked);
    }
    [[nodiscard]] std::uint64_t looks_at() const noexcept {
        return snapshot_ && used_ != 0 && !injected(fault::newest_for_oldest) ? time_ : wire::newest;
    }
    /// Returns the entry for the next object to be opened.
    [[nodiscard]] entry& next_entry() {
        if (used_ == pool_.size()) add_to_pool();
        return *pool_[used_];
    }
    void add_to_pool();
    entry& add(const object_id& id, const store::place& found);
    static constexpr std::size_t most_known = 256;  // the number of values of a hash's highest 8 bits
    /// Returns where an object was shown when this thread last opened one of the same hash.
    [[nodiscard]] shown*& known_of(const object_id& id) noexcept {
        // A cheap hash is enough, because a collision only costs a look.
        const std::uint64_t mixed = (id.high ^ id.low) * 0x9e3779b97f4a7c15u;
        return known_[mixed >> 56];
    }
    /// Asks the owners of the entries that `concerns` selects whether each has the version that was read. Calls `here`
    /// for entries of this node, and sends one message of kind `what` to each other node. Sets `current` to the number
    /// of entries before the first stale one; entries that are not selected count as current. Returns `conflict` if an
    /// entry is stale.
    template <class Concerns, class Here>
    outcome ask_owners(wire::message_type what, Concerns&& concerns, Here&& here, std::size_t& current);
    /// Returns true if a value that was read in a copy of this node is still there. If not, only the owner knows.
    [[nodiscard]] bool stands_in_copy(entry& e);
    /// Drops this node's copy of an object that is about to be written.
    void give_up_copy(const entry& e);
    void unpin() noexcept;
    wire::action action_for(const entry& e) const noexcept;
    /// Makes the part of a prepare for each node that owns an open object.
    void gather();
    /// Ties this commit to the participating nodes. Returns false if one of them, lost_node(), is lost.
    [[nodiscard]] bool tie();
    void untie() noexcept;
    void receive_what_moves();
    void tell_homes();

    site& site_;
    network& network_;
    other_reads* const beside_;
    transaction_name name_;
    std::uint64_t time_ = 0;
    bool snapshot_ = false;
    bool opens_at_hand_ = false;
    std::size_t at_hand_ = 0;  ///< how many first entries may be used for objects at hand
    bool is_plain_ = false;
    claims* bound_to_ = nullptr;
    manners manners_;
    unsigned waits_ = 0;
    node_number refused_by_ = 0;
    wire::lock_refusal obstacle_{};  ///< the worst of the last prepare
    std::optional<std::size_t> standing_;
    std::optional<std::uint64_t> entered_;  ///< the time to pass to snapshots::leave
    std::uint64_t version_ = 0;
    node_number lost_ = 0;
    rollback_reason why_ = rollback_reason::other;

    std::vector<std::unique_ptr<entry>> pool_;  // the entries beyond used_ are kept for their memory
    std::size_t used_ = 0;
    std::unordered_map<object_id, entry*, object_id_hash> index_;  // used for more than `scanned` entries
    std::array<shown*, most_known> known_{};                       // by hash; a later object replaces an earlier one

    struct part {
        node_number at = 0;
        wire::prepare what;
    };
    /// Returns true if the participants decide together (V10). `remote` is the number of other nodes with a part.
    [[nodiscard]] bool is_decided_by_all(bool decisive, std::size_t remote) const noexcept;
    [[nodiscard]] bool withdraw();
    void name_others(part& to) const;
    std::vector<part> parts_;
    struct pinned {
        object_id id;
        node_number owner;
    };
    std::vector<pinned> pinned_;  ///< the copies that the commit has pinned (C4)
    std::vector<node_number> tied_;
    std::vector<node_number> pin_owners_;  ///< each owner once; counted in site::tied
    std::uint64_t turn_ = 0;               // the turn of the tied commit
    std::vector<call> calls_;
    // Kept for their memory.
    std::vector<wanted> again_, remote_;
    std::vector<store::share> shares_;
    struct ahead {
        std::vector<wanted> objects;
        std::vector<call> calls;
        std::vector<std::size_t> asked;  // the number of objects of each call
    };
    ahead ahead_;
    bool prepared_ = false;
    bool decided_ = false;  // by the answer to prepare
};

}  // namespace tutti::cluster
