// TFA, the requester's half: reads at a time of the logical clock, forwarding, commit by locks, in at most two phases.
//
// Invariants (docs/cluster-protocol.md proves opacity from them):
//   T1  Every read was current, and locked by nobody, at a moment when its owner's clock said `time()` or more; or this
//       node's, of what it has read in a copy (copies.hpp, C1 and C2).
//   T2  No read has a version beyond `time()`.
//   T3  Nothing is locked before prepare, and after a prepare that failed.
//   T4  After a conflict T1 and T2 hold for the first `standing()` entries, at `time()` as it is then. They hold
//       for any number of entries, from the first on, if they hold for more: so a part of an attempt may be rolled back
//       alone.
//
// A *snapshot reader* reads its first object as it is now, and every other one as it was at `time()`, which stays where
// that read has put it: it validates nothing, and nothing that others commit makes it start over. It may write nothing.
//
// A *shielded* transaction asserts itself against those that it goes before: what it opens is reserved for it, too, but
// the reservation may pass to others, so all that is said of transactions holds for it (docs/cluster-protocol.md,
// "Contention").
//
// A *bound* transaction is an irrevocable block's: what it opens is reserved for it, so no read of it becomes stale,
// and no prepare is refused for long (docs/cluster-protocol.md, "Irrevocable blocks").
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

/// How often a busy or moving object is asked for before the attempt gives way to its holder.
inline constexpr unsigned most_looks = 24;

enum class outcome : std::uint8_t {
    good,
    conflict,   ///< another transaction was first: run again
    lost,       ///< a node that is needed is gone; `lost_node` says which. Nothing has happened
    too_large,  ///< for a message: the block can never commit. Nothing has happened
    uncertain,  ///< the same as lost, after it was asked to commit: nobody here knows whether it did
};

/// What a transaction knows of one object: how it was when it was read (T1: `valid_at`), and what becomes of it.
struct entry : wire::object_view {
    object_id id;
    store::place at;       ///< where this node has found it, if it is here
    bool in_copy = false;  ///< it was read in a copy of this node's, and stands for as long as that

    bool written = false;
    bool will_exist = false;
    std::string fresh;       ///< what it will be
    detail::image copied{};  ///< the same, in the place of `fresh`, which nobody has made of it yet
    void* user = nullptr;    ///< what the caller keeps for it
    void* kept = nullptr;    ///< and what for whatever object this entry is of
};

/// What else the body has read, that is no object: local variables.
class other_reads {
public:
    virtual ~other_reads() = default;
    /// Whether all of it was current at one moment when the node's clock said `at` or more, and none of it, nor of what
    /// it may read without being told, was committed when the clock said more than `at`; which may be raised for that.
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

    /// Begins an attempt at what the clock says now. False: what else was read does not stand. `alone`: there is none.
    [[nodiscard]] bool begin(bool snapshot = false, bool alone = false);
    /// Goes on with a light attempt, as if it had begun at its time, alone, and opened what that has opened. REQUIRES:
    /// is_plain; the entries' slots are those of the places of that attempt.
    void take_over(const detail::light_attempt& from) noexcept;
    /// Whether a begin has nothing to clear away, and what is opened may be at hand.
    [[nodiscard]] bool is_plain() const noexcept { return is_plain_; }
    /// What the caller keeps for entry number i, whatever object that is of; null also if there is none.
    [[nodiscard]] void* kept_of(std::size_t i) const noexcept { return i < pool_.size() ? pool_[i]->kept : nullptr; }
    /// Until the next begin, which makes it forget them. A snapshot reader is in nobody's way, and has none.
    void behave(const manners& how) noexcept;
    [[nodiscard]] bool is_shielded() const noexcept { return manners_.shield != nullptr; }
    /// Since begin: times that it has waited for another to let go of an object.
    [[nodiscard]] unsigned waits() const noexcept { return waits_; }
    /// Whether the last prepare was refused for one that goes first.
    [[nodiscard]] bool was_outranked() const noexcept { return obstacle_ == wire::obstacle::outranked; }
    /// A snapshot reader's time may be forgotten: until then all nodes keep what was current then. What it opens later
    /// may be too old.
    void end_snapshot() noexcept {
        if (entered_) leave_snapshot();
    }
    [[nodiscard]] bool is_snapshot() const noexcept { return snapshot_; }
    /// From now on, until the next begin: what is open, and what will be, is reserved for that hold until its release,
    /// which must follow. conflict: something that is open is not current, or stays locked; then it is not bound. Once
    /// it is, open has no conflict but that an object is busy, and may be called again for that; forward and prepare
    /// have none but for other reads than objects. REQUIRES: not a snapshot reader; the hold has the irrevocable token.
    [[nodiscard]] outcome bind(claims& hold);
    [[nodiscard]] bool is_bound() const noexcept { return bound_to_ != nullptr; }
    /// The object if it was opened in this attempt; valid until the next begin.
    [[nodiscard]] TUTTI_ALWAYS_INLINE entry* find(const object_id& id) noexcept {
        if (used_ > scanned) [[unlikely]]
            return find_in_index(id);
        return find_by_scan(id);
    }
    /// The same, as long as there are few enough.
    [[nodiscard]] bool scans() const noexcept { return used_ <= scanned; }
    [[nodiscard]] TUTTI_ALWAYS_INLINE entry* find_by_scan(const object_id& id) noexcept {
        for (std::size_t i = used_; i != 0; --i) {
            if (pool_[i - 1]->id == id) return pool_[i - 1].get();
        }
        return nullptr;
    }
    /// Whether the next object to be opened may be one that is *at hand*: it is here, shown, and needs neither a
    /// forward nor a word to anybody.
    [[nodiscard]] bool may_be_at_hand() const noexcept { return used_ < at_hand_; }
    /// The entry that it gets then.
    [[nodiscard]] entry& next_at_hand() noexcept { return *pool_[used_]; }
    /// Opens it with that entry, if it is at hand, and shown in `at`; its value, which must have that image, goes
    /// there. False: open it. REQUIRES: it is not open; may_be_at_hand; e is next_at_hand
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool open_at_hand(entry& e, const object_id& id, shown* at,
                                                        const detail::image& to) noexcept {
        e.at.seen = at;
        return site_.objects.look_again(e.at, id, to, e) && take_at_hand(e, id);
    }
    /// It may be shown there: the next open looks.
    void expect(const object_id& id, shown& at) noexcept { known_of(id) = &at; }
    /// Opens those that are not open, in one round trip if they are where they are expected. After a conflict, here, in
    /// forward or in watch, begin must follow, or a rewind to what stands.
    [[nodiscard]] outcome open(std::span<const object_id> ids);
    /// Asks for those that are elsewhere and not open, and does not wait: the first open of one of them does, and opens
    /// all that are found where they are expected. What was asked for before, and has not been waited for, is opened
    /// first. One that has objects reserved opens them at once.
    [[nodiscard]] outcome ask_ahead(std::span<const object_id> ids);
    /// Moves `time()` to `to` or more if every read is still current: those that are not known to have been so then,
    /// or, if `anew`, all of them as of now.
    [[nodiscard]] outcome forward(std::uint64_t to, bool anew = false);

    /// Before the caller sleeps until one of the objects changes: all that has been opened is current, and their owners
    /// tell this node of the next change of each. conflict: one has changed already.
    [[nodiscard]] outcome watch();

    /// Of the last conflict of open, forward or watch: how many entries, in the order in which they were opened, are
    /// current; so the next one is not, or, if that is all of them, what was to be opened cannot be had. Nothing where
    /// it is what else was read that does not stand, or a snapshot that is too old: then none is known to be current.
    [[nodiscard]] std::optional<std::size_t> standing() const noexcept { return standing_; }
    /// Forgets all entries but the first `kept`, which are those of what is not rolled back.
    void rewind(std::size_t kept) noexcept;

    /// Takes every lock. `decisive`: nothing but this transaction is decided, so that one message may do both; then it
    /// may also wait for those that go first, since it keeps nothing from anybody meanwhile.
    /// After `good` commit() or abort() must follow; after anything else nothing is held.
    [[nodiscard]] outcome prepare(bool decisive);
    /// What a decisive prepare tries first. False: nothing has happened, and there may be another way.
    [[nodiscard]] bool prepare_in_place() noexcept;
    void commit();
    void abort();

    [[nodiscard]] const wire::transaction_name& name() const noexcept { return name_; }
    [[nodiscard]] std::uint64_t time() const noexcept { return time_; }
    [[nodiscard]] bool writes() const noexcept;
    /// Whether it is between a prepare that was good and commit or abort.
    [[nodiscard]] bool holds() const noexcept { return prepared_; }
    [[nodiscard]] bool empty() const noexcept { return used_ == 0; }
    [[nodiscard]] std::span<const std::unique_ptr<entry>> entries() const noexcept { return {pool_.data(), used_}; }
    /// Whether the answer to prepare was the decision: abort() may not follow.
    [[nodiscard]] bool decided() const noexcept { return decided_; }
    [[nodiscard]] node_number lost_node() const noexcept { return lost_; }
    /// Of the last outcome that was not good.
    [[nodiscard]] rollback_reason why() const noexcept { return why_; }
    /// Of the last commit, or of the one that is prepared.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

private:
    static constexpr std::size_t scanned = 16;  // entries, without an index
    struct wanted {
        object_id id;
        node_number at;
        unsigned hops = 0;
        bool busy = false;        ///< when it was looked for last
        bool guessed = false;     ///< a pointer of this node has named `owner`, and nobody has said yet whether it is
        node_number owner = 0;    ///< the latest that was named, and
        std::uint64_t since = 0;  ///< the version at which it got the object
        store::place found{};     ///< by the latest look here
        bool in_copy = false;     ///< so was that
        std::uint64_t invalidations = 0;  ///< before its owner was asked (C3)
        std::uint64_t losses = 0;         ///< before another node was asked (S13)
    };

    /// Those of them that are not open, each once, to be looked for here first. O(ids).
    [[nodiscard]] std::vector<wanted> not_open(std::span<const object_id> ids);
    outcome look_around(std::vector<wanted>& wants);
    /// Where to look first for what is not here, as this node's directory has it.
    [[nodiscard]] wanted first_of(wanted w, const wire::object_view& view) const;
    outcome open_what_was_asked_for();
    void forget_ahead() {
        if (!ahead_.objects.empty()) stop_asking();
    }
    void stop_asking();
    /// What is reserved is opened by a word to the owner; what a snapshot reader opens first fixes its time; and what
    /// has been asked for is opened with the first of it.
    void note_whether_at_hand() noexcept {
        opens_at_hand_ = hold() == nullptr && (!snapshot_ || used_ != 0) && ahead_.objects.empty();
        at_hand_ = opens_at_hand_ ? std::min(pool_.size(), scanned) : 0;
    }
    [[nodiscard]] entry* find_in_index(const object_id& id) noexcept;
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool take_at_hand(entry& e, const object_id& id) noexcept {
        // T1: the clock has said time() before the look. T2: or it has to forward, or to ask for what was before.
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
    /// Looks for it on this node. What has to be looked for again goes to `again`; what is elsewhere to `remote`, with
    /// the node that this transaction asks next.
    [[nodiscard]] bool look_in_copy(const object_id& id, wire::object_view& view);
    void note_before_asking(std::span<wanted> objects);
    outcome look_here(const wanted& w, std::vector<wanted>& again, std::vector<wanted>& remote);
    /// What the nodes say of objects, in their order, by one question to each node; `body_of` encodes it. Ends with the
    /// first node that does not answer. REQUIRES: ordered by node.
    template <class BodyOf>
    outcome ask_nodes(std::span<const wanted> objects, wire::kind what, BodyOf&& body_of,
                      std::vector<wire::object_view>& views);
    template <class BodyOf>
    void make_questions(std::span<const wanted> objects, wire::kind what, BodyOf&& body_of, std::vector<call>& calls,
                        std::vector<std::size_t>& asked) const;
    outcome take_answers(std::span<const call> calls, std::span<const std::size_t> asked,
                         std::vector<wire::object_view>& views);
    /// The same, and has the objects reserved.
    outcome ask_to_reserve(std::span<const wanted> objects, wire::reserve what, claims& hold,
                           std::vector<wire::object_view>& views);
    /// Has reserved what is open: all of it, or, `alone`, what it writes; firmly, this for as long as it takes.
    outcome reserve_open(claims& hold, bool firm, bool alone);
    /// What it is reserved for now: null if it has nothing reserved.
    [[nodiscard]] claims* hold() const noexcept {
        if (bound_to_ != nullptr) return broken(fault::open_without_reserving) ? nullptr : bound_to_;
        return manners_.shield;
    }
    [[nodiscard]] wire::precedence precedence() const noexcept;
    /// What is said to owners when it opens something. REQUIRES: hold().
    [[nodiscard]] wire::reserve reservation() const;
    /// The prepare of one that is not bound.
    outcome take_locks_in_turn(bool decisive);
    /// Whether a prepare that was refused may be repeated.
    [[nodiscard]] bool may_wait(bool decisive) const noexcept;
    /// Whether an entry is what its owner says now. What is to be asked for again goes to `again`.
    outcome compare(const wanted& w, const wire::object_view& view, std::vector<wanted>& again);
    /// The locks of one prepare.
    outcome take_locks(bool decisive);
    /// Whether this node has all that is open, and it is little enough.
    [[nodiscard]] bool may_commit_at_once() const noexcept;
    outcome commit_at_once();
    /// Makes `fresh` of what is copied.
    void encode();
    outcome refused(node_number by, wire::obstacle why) noexcept {
        is_plain_ = false;
        refused_by_ = by;
        obstacle_ = why;
        return lose_to(rollback_reason::refused);
    }
    /// Whether a message of so many objects may be sent.
    [[nodiscard]] bool fits(const std::string& body, std::size_t objects) const noexcept {
        return body.size() <= site_.largest && objects <= wire::most_elements;
    }
    /// What was seen of it, in next_entry() or elsewhere. The view may be moved from.
    outcome take(const wanted& w, wire::object_view& view, std::vector<wanted>& again);
    /// Where to look next for what is not at `w.at`.
    [[nodiscard]] wanted next_of(wanted w, const wire::object_view& view);
    /// A conflict that leaves the first `standing` entries as they are.
    outcome lose_to(rollback_reason why, std::optional<std::size_t> standing = std::nullopt) noexcept {
        why_ = why;
        standing_ = standing && broken(fault::overlook_stale_read) ? used_ : standing;
        return outcome::conflict;
    }
    outcome lose_node(node_number node) noexcept {
        lost_ = node;
        why_ = rollback_reason::lost;
        return outcome::lost;
    }
    /// It may be a former process of this node that has it locked, if there was one. A node that says so of none that
    /// there is, is as good as gone itself.
    outcome lose_to_doubt(const wire::object_view& view, node_number asked) noexcept {
        const bool there_is = view.owner < site_.nodes && (view.owner != site_.self || site_.comes_after_another());
        return lose_node(there_is ? view.owner : asked);
    }
    [[nodiscard]] std::uint64_t looks_at() const noexcept {
        return snapshot_ && used_ != 0 && !broken(fault::newest_for_oldest) ? time_ : wire::newest;
    }
    /// The entry that the next object to be opened gets.
    [[nodiscard]] entry& next_entry() {
        if (used_ == pool_.size()) add_to_pool();
        return *pool_[used_];
    }
    void add_to_pool();
    entry& add(const object_id& id, const store::place& found);
    static constexpr std::size_t most_known = 256;  // as the highest 8 bits of a hash say
    /// Where an object was shown when this thread opened one of that hash.
    [[nodiscard]] shown*& known_of(const object_id& id) noexcept {
        // Less mixed than where a bad distribution costs more than a look.
        const std::uint64_t mixed = (id.high ^ id.low) * 0x9e3779b97f4a7c15u;
        return known_[mixed >> 56];
    }
    /// Asks the owners of the entries that `concerns` selects whether each has the version that was read: `here` where
    /// that is this node, by one message of `what` to each other one. `current`: how many have, from the first on,
    /// and those that it does not select among them; conflict if that is not all.
    template <class Concerns, class Here>
    outcome ask_owners(wire::kind what, Concerns&& concerns, Here&& here, std::size_t& current);
    /// Whether what was read in a copy of this node's is still there. If not, only the owner knows.
    [[nodiscard]] bool stands_in_copy(entry& e);
    /// It is about to be written, and so must not have a copy here.
    void give_up_copy(const entry& e);
    void unpin() noexcept;
    wire::action action_for(const entry& e) const noexcept;
    /// Its part of a prepare, for each node that owns something.
    void gather();
    /// With the nodes that take part. False: `lost_node()` is one of them that is lost.
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
    std::size_t at_hand_ = 0;  ///< entries, from the first on, that may be of objects that were at hand
    bool is_plain_ = false;
    claims* bound_to_ = nullptr;
    manners manners_;
    unsigned waits_ = 0;
    node_number refused_by_ = 0;
    wire::obstacle obstacle_{};  ///< the worst of the last prepare
    std::optional<std::size_t> standing_;
    std::optional<std::uint64_t> entered_;  ///< what snapshots::leave is owed
    std::uint64_t version_ = 0;
    node_number lost_ = 0;
    rollback_reason why_ = rollback_reason::other;

    std::vector<std::unique_ptr<entry>> pool_;  // those beyond used_ are kept for their memory
    std::size_t used_ = 0;
    std::unordered_map<object_id, entry*, object_id_hash> index_;  // of more than `scanned` entries
    std::array<shown*, most_known> known_{};                       // by hash; what comes later replaces what was there

    struct part {
        node_number at = 0;
        wire::prepare what;
    };
    /// Which other nodes have a part, beside this one.
    [[nodiscard]] bool is_decided_by_all(bool decisive, std::size_t remote) const noexcept;
    [[nodiscard]] bool withdraw();
    void name_others(part& to) const;
    std::vector<part> parts_;
    struct pinned {
        object_id id;
        node_number owner;
    };
    std::vector<pinned> pinned_;  ///< C4
    std::vector<node_number> tied_;
    std::vector<node_number> pin_owners_;  ///< each once, counted in site::tied
    std::uint64_t turn_ = 0;               // of the commit that is tied
    std::vector<call> calls_;
    // Kept for their memory.
    std::vector<wanted> again_, remote_;
    std::vector<store::share> shares_;
    struct ahead {
        std::vector<wanted> objects;
        std::vector<call> calls;
        std::vector<std::size_t> asked;  // objects of each call
    };
    ahead ahead_;
    bool prepared_ = false;
    bool decided_ = false;  // by the answer to prepare
};

}  // namespace tutti::cluster
