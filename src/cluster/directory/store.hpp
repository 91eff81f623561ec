// The objects that one node knows: the values, versions and locks of those that it owns, and pointers to the owners of
// other objects.
//
// Invariants:
//   S1  An object is `here` on at most one node, except between a decision and its arrival at the former owner. In that
//       time, the former owner holds the object locked, so it is not read there. The object may even be back before the
//       arrival.
//   S2  An object's version grows with every commit that writes it, and is no higher than the clock of the node that it
//       is on.
//   S3  A write lock excludes every other lock; read locks share. Transactions do not wait for a lock: one that does
//       not get it gives up, so there is no deadlock.
//   S4  If a view of now says `here`, it was taken while the object was not locked for writing. The node's clock said
//       `valid_at` or more by then.
//   S5  A value that was overwritten here, or moved away from here, is kept for as long as a reader may ask for it
//       (protocol/snapshots.hpp). It is kept with the times at which it was the latest. If the object has come from
//       another node, that node knows the values before the first of these times.
//   S6  A view of time t shows a value that no writer of version t or less will replace. A transaction that locks the
//       object when the clock says c gets a version above c, and the clock has said t before the look.
//   S7  A node that watches an object, in the version that it has here, is told of its next change once. Both watch and
//       change look at the object with its shard locked. So the watch finds another version, or the change finds the
//       watcher. A shard keeps at most `most_watched` watched objects. A new watch may therefore tell the watchers of
//       another, unchanged object.
//   S8  An object is reserved for at most one thread. If the reservation is firm, the store gives no other thread a
//       write lock of the object. If a firm reservation is also `alone`, the store gives no other thread a read lock
//       either. If the reservation is not firm, transactions that go first, and those of the same execution, still get
//       these locks. A transaction that had locked the object before may still write or unlock it. Every transaction
//       may look at it. A reservation passes to a firm one, and to one that goes first.
//   S9  A directory keeps the objects that are here and, at homes, the pointers to objects that are elsewhere. The
//       number of its other entries is bounded (`limits`). These other entries may be forgotten while they are neither
//       locked nor reserved, and no reader asks for an older value:
//         - at its home, an object that does not exist here. The highest version of the forgotten objects stays, one
//           for each shard. Every id without an entry has that version. So a transaction that sees such an object
//           missing takes no older time than one that saw it erased.
//         - elsewhere, an object that does not exist here: its home is told, and owns it from then on.
//         - elsewhere, a pointer. If the object itself left it, and the home may not know where it leads, the home is
//           told. So the home knows, or will know, whatever a node has forgotten.
//
//   S10 Looks without the shard's lock see the shown part of an object (shown.hpp), which is the object's current
//       state. The shown part is hidden before the object changes or is locked for writing. The shown part is also
//       hidden before a commit draws the object's next version.
//   S11 While an object is shown, its version and its bytes are in the shown part, and the entry may be outdated. A
//       commit in place writes the shown part without the shard's lock. So a thread with that lock reads an entry only
//       after hiding it (hide() updates the entry). A commit in place writes no object that is guarded. An object is
//       guarded if it is locked, reserved or watched, or if it has old values, or may have to keep some.
//   S12 A node that was told to keep a copy of an object is one of its *sharers*. The node stays a sharer until it says
//       that it has no copy of that grant or a later one. A lost node stays a sharer until every remaining node has
//       reported its loss (protocol/lost_nodes.hpp). An object that has sharers is not locked for writing. A writer has
//       the sharers told. From then on there are no new sharers until the object is written, or looked at many times. A
//       grant is a value of the clock. Each new grant is later than any grant that a message of or to a sharer has
//       named. So no late message concerns a new grant. (copies.hpp is the sharers' side.)
//   S13 Pointers to a node that has come back, of a version up to that of its return, lead to objects that have ended.
//       At its home, such an object is here, does not exist, and has the version of the return. Elsewhere, the pointer
//       leads to the new process, which does not know the object, and so to the home. About times before its return,
//       the new process only says which objects it knows to have been elsewhere then. A survey has all pointers that
//       stay: answers to questions that were asked before a node was lost leave no pointers.
//
// Thread safety: every member may be called from any thread. No call waits while it holds a shard's lock, with one
// exception. A commit at once that holds a shard's lock takes the lock of a shard with a higher number. All other calls
// hold one shard's lock at a time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/lock.hpp"
#include "cluster/directory/placement.hpp"
#include "cluster/directory/shown.hpp"
#include "cluster/protocol/precedence.hpp"
#include "cluster/protocol/snapshots.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

using wire::transaction_name;

/// The receiver of a store's reports of changes.
class audience {
public:
    virtual ~audience() = default;
    /// Reports that an object has changed. Blocks of the nodes `watchers` may sleep until then. Any thread may call
    /// this, even one that holds locks that order commits, so it must not wait.
    virtual void changed(const object_id& id, std::span<const node_number> watchers) = 0;
    /// Tells the object's home that `owner` has it from `version` on, because this node is about to forget this (S9).
    /// Returns false if the home cannot be told now. Called as `changed` is, and with a shard locked.
    [[nodiscard]] virtual bool forgets(const object_id& id, node_number owner, std::uint64_t version) noexcept = 0;
    /// Asks a sharer to drop its copy of that grant, because a transaction wants to write the object (S12). Any thread
    /// may call this, so it must not wait. Called again if the message is lost.
    virtual void invalidate(const object_id& id, node_number sharer, std::uint64_t grant) noexcept = 0;
};

class store {
public:
    store(node_number self, node_number nodes, logical_clock& clock, snapshots& readers) noexcept
        : self_{self}, nodes_{nodes}, clock_{clock}, readers_{readers} {}

    /// Sets the receiver of reports. Call it before any other member.
    void tell(audience& whom) noexcept { audience_ = &whom; }

    /// The limits of each of the `shards` shards (S9). Entries that may not be forgotten yet are not counted.
    struct limits {
        std::size_t pointers = 16;  ///< in addition to as many as the shard has other entries
        std::size_t erased = 128;
    };
    static constexpr std::size_t shards = 64;
    /// Sets the limits. Call it before any other member.
    void limit(limits to) noexcept { limits_ = to; }

    /// Where and how a look has found an object, as a hint for the next look. The hint keeps nothing alive or locked.
    struct place {
        shown* seen = nullptr;                ///< null: it is not shown
        std::uint64_t word = shown::nothing;  ///< the word that a look without a lock has seen there
    };
    /// Returns the object as it is now, or as it was at time `at`. A transaction that looks holds no lock yet, so its
    /// own locks cannot be in its way.
    /// REQUIRES: the clock has said `at`.
    void look(const object_id& id, wire::object_view& view, std::uint64_t at = wire::newest) {
        look(id, view, at, nullptr);
    }
    /// Looks, and sets `found` for a later look.
    void look(const object_id& id, wire::object_view& view, std::uint64_t at, place& found) {
        look(id, view, at, &found);
    }
    /// Returns the object as it is now, for a look of that node, which may be told to keep a copy (S12).
    void look_to_share(const object_id& id, wire::object_view& view, node_number with);
    /// Sets how many looks of other nodes at an object, without a write, are enough at first for copies of it. Later
    /// results adjust this number. 0: there are no copies. Call it before any other member. (S12)
    void share_after(unsigned looks) noexcept { share_after_ = static_cast<std::int16_t>(looks); }
    /// Returns the usual number for a cluster of `nodes` nodes. The number grows with `nodes`, because a copy is for
    /// one node, which may never look again.
    [[nodiscard]] static constexpr unsigned usual_looks(node_number nodes) noexcept { return std::max(8u, 2u * nodes); }
    /// Tells the sharers that a transaction wants to write the object (S12).
    void invalidate(const object_id& id);
    /// Notes that `from` has no copy of that grant or an earlier one (S12).
    void take_copy_back(const wire::invalidation& word, node_number from);
    /// Returns true and the object as it is now, without a lock, if it is shown there. Returns false if the caller has
    /// to use look. O(bytes).
    [[nodiscard]] bool look_again(place& found, const object_id& id, wire::object_view& view) const;
    /// Looks again, and copies the value to `to`. Returns false also if the value has another image. The view has no
    /// bytes.
    [[nodiscard]] bool look_again(place& found, const object_id& id, const detail::image& to,
                                  wire::object_view& view) const noexcept;
    /// Returns true if the object is here, has that version, and is not locked for writing by a transaction other than
    /// `who`.
    [[nodiscard]] bool is_current(const object_id& id, std::uint64_t version, const transaction_name& who = {});
    /// Locks the object. Returns `none` on success. Returns `stale` if the object is not here, or has another version.
    [[nodiscard]] wire::lock_refusal lock_to_read(const object_id& id, std::uint64_t version,
                                                  const transaction_name& who, const wire::precedence& as = {});
    [[nodiscard]] wire::lock_refusal lock_to_write(const object_id& id, std::uint64_t version,
                                                   const transaction_name& who, const wire::precedence& as = {});
    void unlock(const object_id& id, const transaction_name& who) noexcept;

    /// Reserves the object for the thread of `how`, unless the object is elsewhere, or another thread's reservation
    /// stays (S8). Nor is the object reserved if the thread may have no `more`. If the object cannot be reserved, a
    /// firm request is answered busy or too_large. Any other request only gets the view. The view is that of now, with
    /// the bytes if `how.values`. The answer is also busy while another transaction's lock is in the way, though the
    /// object is reserved by then. Returns true if the object was not the thread's before, and now is.
    [[nodiscard]] bool reserve(const object_id& id, const wire::reserve& how, bool more, wire::object_view& view);
    void end_reservation(const object_id& id, std::uint32_t thread) noexcept;

    /// Registers a watcher (S7). Returns false if the object is not here in that version, or if only a lost node knows
    /// its next state.
    [[nodiscard]] bool watch(const object_id& id, std::uint64_t version, node_number who);

    /// Carries out the decision for an object that `who` holds the write lock of. The object gets the bytes, ceases to
    /// exist, or moves to the node of `who`. Releases the lock. May replace the content of `bytes`.
    void settle(const object_id& id, wire::action what, std::string&& bytes, std::uint64_t version,
                const transaction_name& who);

    struct share;
    static constexpr std::size_t most_at_once = 16;
    /// One object of a commit in place.
    struct spot {
        shown* at;
        std::uint64_t word;     ///< the word that a look has seen there
        detail::image written;  ///< the new value; none: it is only read
    };
    /// Commits as commit_at_once does, without a shard's lock. Every object must be shown and free, and must stay as
    /// the look has seen it (S11). Returns false if nothing has happened, and another way may succeed. REQUIRES: each
    /// object once, at least one of them written. O(objects), with one read-modify-write of a word for each written
    /// object, and one of the clock.
    [[nodiscard]] bool commit_in_place(std::span<const spot> all, std::uint64_t& version) noexcept;
    /// Commits a transaction that only uses objects of this node: validates, draws the version, and installs. Holds the
    /// locks of the shards meanwhile, instead of the objects' locks. Nothing has happened if it returns anything but
    /// `none`, or throws std::bad_alloc. REQUIRES: at most `most_at_once` objects, each once. O(objects); locks at most
    /// as many shards.
    [[nodiscard]] wire::lock_refusal commit_at_once(std::span<share> all, const transaction_name& who,
                                                    const wire::precedence& as, std::uint64_t& version);
    /// Installs an object that arrives.
    /// REQUIRES: the decision is made, and its former owner still holds the object locked, or has released it by this
    /// decision.
    void install(const object_id& id, bool exists, const std::string& bytes, std::uint64_t version, node_number from);
    /// Notes a node's answer which node owns the object. Ignores older knowledge. `home_knows`: the answer is from the
    /// home.
    void point(const object_id& id, node_number owner, std::uint64_t version, bool home_knows = false);
    /// Notes an answer to a question that was asked when losses() returned `losses`. Ignores the answer if a node was
    /// lost since (S13).
    void point_as_answered(const object_id& id, node_number owner, std::uint64_t version, bool home_knows,
                           std::uint64_t losses);
    /// Takes over an object that was erased at another node, which forgets it (S9).
    /// REQUIRES: this is its home.
    void take_back(const object_id& id, std::uint64_t version, node_number from);

    /// Marks a node as lost. Objects that its transactions have locked stay locked, and are in doubt. Until then,
    /// `is_lost` returns false.
    void lose(node_number node) noexcept {
        has_copies_[node % lost_.size()].store(!injected(fault::forget_lost_sharers), std::memory_order_seq_cst);
        await(node);
        readers_.lose(node);
    }
    [[nodiscard]] bool is_locked_by(const object_id& id, const transaction_name& writer);
    /// Tells the blocks that sleep on the object to check it, because it is locked for a lost node.
    void doubt(const object_id& id);
    [[nodiscard]] bool is_lost(node_number node) const noexcept {
        return lost_[node % lost_.size()].load(std::memory_order_seq_cst);
    }
    /// Notes that the object was to move here from that node, which was lost meanwhile. Whether the move was decided is
    /// unknown. The object is not here.
    void never_came(const object_id& id, node_number from);
    /// Completes a look that has found the object elsewhere. A node that was sent here for an object that never came is
    /// told which node had it.
    void explain(const object_id& id, wire::object_view& view);

    // ---- S13: nodes that come back (returning.cpp)

    /// Stops counting a lost node as a sharer (S12, lost_nodes.hpp).
    void forget_copies_of(node_number node) noexcept {
        has_copies_[node % lost_.size()].store(false, std::memory_order_seq_cst);
    }
    /// Returns the first transaction name of the process that has, or had, that number.
    [[nodiscard]] std::uint64_t first_of(node_number node) const noexcept {
        return first_of_[node % first_of_.size()].load(std::memory_order_relaxed);
    }
    /// Stops all questions to that node until `admit`. seq_cst: the partner is `ties`, which counts first and checks
    /// for the loss second.
    void await(node_number node) noexcept {
        lost_[node % lost_.size()].store(true, std::memory_order_seq_cst);
        losses_.fetch_add(1, std::memory_order_relaxed);  // the partner is point_as_answered
    }
    /// Returns how many losses of other nodes there were so far.
    [[nodiscard]] std::uint64_t losses() const noexcept { return losses_.load(std::memory_order_acquire); }
    /// Admits a new process, whose transactions have names from `first` on. Transactions with lower names are of a lost
    /// process.
    void admit(node_number node, std::uint64_t first) {
        forget_sharer(node);
        forget_copies_of(node);
        first_of_[node % first_of_.size()].store(first, std::memory_order_relaxed);
        lost_[node % lost_.size()].store(false, std::memory_order_seq_cst);
    }
    /// Returns true if the process that ran the transaction is lost.
    [[nodiscard]] bool is_gone(const transaction_name& who) const noexcept {
        return is_lost(who.node) || is_former(who);
    }
    /// Returns true if another process has had that node's number since.
    [[nodiscard]] bool is_former(const transaction_name& who) const noexcept {
        return who.sequence < first_of_[who.node % first_of_.size()].load(std::memory_order_relaxed) &&
               !injected(fault::forget_who_has_gone);
    }
    /// Ends an object whose pointer here has no version above `seen`: it is here, and does not exist at `version`.
    /// REQUIRES: this is its home.
    void end_here(const object_id& id, std::uint64_t seen, std::uint64_t version);
    /// Returns the known owner and version of each object that is elsewhere, or has its home elsewhere.
    [[nodiscard]] std::vector<wire::owner_update> survey();
    /// Begins the directory of a returning node. Objects homed here and listed in `elsewhere` are at the node named
    /// there. Every other object homed here does not exist at this version.
    /// REQUIRES: this node is new, and no other node has sent a request to it.
    void begin_anew(std::uint64_t version, std::span<const wire::owner_update> elsewhere);
    /// Ends the objects that a former process of that node owned up to that version. This node does so as their home.
    void end_former(node_number node, std::uint64_t version);
    /// Returns the owner as far as this node knows, or else the home.
    [[nodiscard]] node_number owner_of(const object_id& id);
    /// Counts of the store. For each shard, a number is that of one moment.
    struct figures {
        std::uint64_t objects = 0;  ///< objects that exist here
        std::uint64_t entries = 0;  ///< these objects, pointers, and traces of erased objects
        std::uint64_t old_values = 0, old_bytes = 0;
        std::uint64_t outranked = 0;   ///< locks that were refused because of a reservation
        std::uint64_t given_way = 0;   ///< reservations that a transaction which goes first has taken over or passed
        std::uint64_t shared = 0;      ///< objects that other nodes have copies of
        std::uint64_t never_came = 0;  ///< objects that were to move here from a lost node
    };
    [[nodiscard]] figures count();
    /// Calls f(id, bytes) for each object that exists here. For checks when nothing runs.
    void each(const std::function<void(const object_id&, const std::string&)>& f);

private:
    static constexpr node_number nobody = 0xffff;

    /// The state of an object here in the times [from, to).
    struct past {
        std::uint64_t from = 0;
        std::uint64_t to = 0;
        node_number came_from = nobody;
        bool exists = false;
        std::string bytes;
        /// The transaction that moved it away, if its decision is still missing although the object is back. The
        /// decision will set `to`.
        transaction_name leaver{};
    };
    struct object {
        bool here = false;
        bool exists = false;
        node_number owner = 0;
        node_number came_from = nobody;  ///< its owner before `version`, if that was another node
        std::uint64_t version = 0;
        transaction_name writer;
        std::uint64_t locked_at = 0;  ///< the clock when `writer` came: its version will be higher
        std::vector<transaction_name> readers;
        std::string bytes;
        std::unique_ptr<std::deque<past>> history;  ///< S5, oldest first; null instead of empty
        std::size_t kept_bytes = 0;                 ///< bytes of the history
        bool home_knows = true;                     ///< of a pointer: the home knows it
        bool listed = false;                        ///< in the list of pointers or of erased objects
        bool is_shown = false;                      ///< S10
        shown* seen = nullptr;                      ///< where it is shown; null: no look has asked for it
        [[nodiscard]] bool is_locked() const noexcept { return writer.exists() || !readers.empty(); }
    };
    using watchers = std::vector<node_number>;
    struct reservation {
        transaction_name holder;
        wire::precedence as{};
        bool firm = false;
        bool alone = false;
    };
    struct sharer {
        node_number node = 0;
        std::uint64_t grant = 0;
    };
    struct sharers {
        std::vector<sharer> all;
        bool told = false;
        std::uint32_t given = 0;  ///< number of copies
        std::uint64_t looks = 0;  ///< looks that the returned copies have answered
    };
    /// The looks at the objects of one hash (S12).
    struct look_count {
        std::int16_t looks = 0;   ///< looks of other nodes since one of them was written
        std::int16_t enough = 0;  ///< enough looks for copies; 0: not known yet
    };
    using shared_objects = std::unordered_map<object_id, sharers, object_id_hash>;
    static constexpr std::size_t look_counts = 64;
    struct alignas(64) shard {
        base::lock guard;
        std::unordered_map<object_id, object, object_id_hash> objects;
        std::uint64_t drops = 0;  ///< how many entries were dropped: an entry that a commit at once has found may be
                                  ///< one of them
        std::unordered_map<object_id, watchers, object_id_hash> watched;      ///< S7
        std::unordered_map<object_id, reservation, object_id_hash> reserved;  ///< S8
        shared_objects shared;                                                ///< S12
        std::unordered_map<object_id, node_number, object_id_hash> never_came;
        std::array<look_count, look_counts> looks{};
        std::uint64_t no_grant_until = 0;  ///< S12: the clock has said more
        std::deque<object_id> kept;        ///< objects with a history, and some that had one
        // S9. Listed entries may have changed or been dropped since.
        std::deque<object_id> pointers, erased;
        std::size_t changes_until_look = 0;  ///< how many changes until the next look at `erased`
        std::uint64_t version_of_absent = 0;
        std::deque<shown> all_shown;  ///< W4
        shown* spare_shown = nullptr;
        figures count;  ///< without `entries`, which the map counts
    };
    /// Hides an object during its change, and updates the count of objects that exist here.
    class change {
    public:
        change(shard& s, const object_id& id, object& o) noexcept : shard_{s}, id_{id}, object_{o} {
            hide(o);
            shard_.count.objects -= exists_here();
        }
        ~change() {
            shard_.count.objects += exists_here();
            show(shard_, id_, object_);
        }
        change(const change&) = delete;
        change& operator=(const change&) = delete;

    private:
        [[nodiscard]] std::uint64_t exists_here() const noexcept { return object_.here && object_.exists ? 1 : 0; }
        shard& shard_;
        const object_id& id_;
        object& object_;
    };
    /// Hides an object during a look with the shard's lock. The object does not change meanwhile.
    class glance {
    public:
        explicit glance(object& o) noexcept : object_{o}, was_shown_{o.is_shown} { hide(o); }
        ~glance() {
            if (was_shown_) show_again(object_);
        }
        glance(const glance&) = delete;
        glance& operator=(const glance&) = delete;

    private:
        object& object_;
        const bool was_shown_;
    };
    /// Hides the object, and updates its entry (S10, S11).
    static void hide(object& o) noexcept {
        if (!o.is_shown) return;
        o.seen->close();
        o.is_shown = false;
        if (o.seen->version() == o.version || injected(fault::trust_the_entry)) return;
        o.version = o.seen->version();
        o.seen->copy_to(o.bytes);  // has the same size as before: needs no memory
    }
    /// Shows the object if looks may see it (S10).
    /// REQUIRES: it is hidden.
    static void show(const shard& s, const object_id& id, object& o) noexcept {
        const bool is_seen = !o.writer.exists() || injected(fault::show_what_is_locked);
        if (o.seen == nullptr || !o.here || !is_seen || o.bytes.size() > shown::most) return;
        o.seen->show(o.exists, o.version, o.bytes, is_guarded(s, id, o));
        o.is_shown = true;
    }
    /// Shows an unchanged object again.
    /// REQUIRES: it was shown before it was hidden, and nothing has changed since.
    static void show_again(object& o) noexcept {
        o.seen->reopen();
        o.is_shown = true;
    }
    /// Returns true if the object is guarded (S11).
    [[nodiscard]] static bool is_guarded(const shard& s, const object_id& id, const object& o) noexcept;
    /// Makes a place where the object is shown from now on, whenever this is allowed.
    static void begin_to_show(shard& s, const object_id& id, object& o);

    shard& shard_of(const object_id& id) noexcept { return shards_[(object_id_hash{}(id) >> 20) % shards_.size()]; }
    /// Returns the entry. Makes one if there is none: at its home, an object that was never written; elsewhere, a
    /// pointer to the home.
    object& entry(shard& s, const object_id& id);
    void erase(shard& s, const object_id& id);
    void look(const object_id& id, wire::object_view& view, std::uint64_t at, place* found);
    void look_locked(shard& s, const object_id& id, wire::object_view& view, std::uint64_t at, place* found);
    /// Makes a node a sharer (S12).
    /// REQUIRES: the object is here, exists, and is not locked for writing.
    [[nodiscard]] bool give_copy(shard& s, const object_id& id, object& o, node_number with, std::uint64_t grant);
    /// Returns true if the object has sharers, apart from lost ones that no longer count (S12).
    [[nodiscard]] bool has_sharers(shard& s, const object_id& id) const {
        return !s.shared.empty() && !injected(fault::write_beside_copies) && find_sharers(s, id);
    }
    [[nodiscard]] bool find_sharers(shard& s, const object_id& id) const;
    /// Removes a lost node from all sharers (S12).
    /// REQUIRES: that node is lost.
    void forget_sharer(node_number node);
    /// Ends the sharing of an object that no node has a copy of any more (S12).
    static void end_sharing(shard& s, shared_objects::iterator at);
    [[nodiscard]] look_count& looks_at(shard& s, const object_id& id) const noexcept {
        look_count& c = s.looks[(object_id_hash{}(id) >> 30) % look_counts];
        if (c.enough == 0) c.enough = share_after_;
        return c;
    }
    /// Notes that the object is written: no node has a copy of it any more.
    void begin_to_count_looks(shard& s, const object_id& id) noexcept {
        if (share_after_ == 0) return;
        looks_at(s, id).looks = 0;
        s.shared.erase(id);
    }
    /// Returns what keeps the transaction, which has read that version, from a lock, or `none`.
    [[nodiscard]] static wire::lock_refusal before_reader(shard& s, const object_id& id, const object& o,
                                                          std::uint64_t version, const transaction_name& who,
                                                          const wire::precedence& as);
    [[nodiscard]] wire::lock_refusal before_writer(shard& s, const object_id& id, object& o, std::uint64_t version,
                                                   const transaction_name& who, const wire::precedence& as);
    class locked_shards;
    [[nodiscard]] wire::lock_refusal before(share& of, const transaction_name& who, const wire::precedence& as);
    /// Installs the written objects, unlocks them, and notes their watchers. Cannot fail, like the decisions of other
    /// commits.
    void install_at_once(std::span<share> all, const transaction_name& who, std::uint64_t version,
                         locked_shards& hold) noexcept;
    void tidy(std::span<share> all);
    /// Returns true if a reservation keeps a lock from that transaction.
    [[nodiscard]] static bool keeps_out(shard& s, const object_id& id, const transaction_name& who,
                                        const wire::precedence& as, bool to_write) noexcept;
    /// Returns the reservation, made or taken over if that is allowed. Returns null if another thread's reservation
    /// stays, or the thread may have no `more`. `fresh`: it was not the thread's before.
    [[nodiscard]] static reservation* take_reservation(shard& s, const object_id& id, const wire::reserve& how,
                                                       bool more, bool& fresh);
    /// Returns the version of an object without an entry, at its home.
    [[nodiscard]] static std::uint64_t version_of_absent(const shard& s) noexcept {
        return injected(fault::forget_the_version) ? 0 : s.version_of_absent;
    }
    /// Tidies an entry that has changed (S9): lists or drops it, and drops some of the listed entries. May drop `o`,
    /// and any other entry that is not locked.
    void tidy(shard& s, const object_id& id, object& o) {
        if (!nothing_to_tidy(s, o)) tidy_slowly(s, id, o);
    }
    [[nodiscard]] static bool nothing_to_tidy(const shard& s, const object& o) noexcept {
        return o.here && o.exists && s.pointers.empty() && s.erased.empty();
    }
    void tidy_slowly(shard& s, const object_id& id, object& o);
    enum class spare : std::uint8_t { no, pointer, erased };
    [[nodiscard]] spare kind_of(const object_id& id, const object& o) const noexcept;
    void list(shard& s, const object_id& id, object& o);
    void drop_pointers(shard& s);
    void drop_erased(shard& s);
    /// Drops an entry. Returns false if that is not possible now.
    [[nodiscard]] bool drop(shard& s, const object_id& id, object& o);
    [[nodiscard]] bool is_held(const object& o) const noexcept {
        return o.writer.exists() && !(injected(fault::free_what_is_in_doubt) && is_gone(o.writer));
    }
    /// Returns true if only a former process of this node has kept the values of that time (S13). If this node
    /// forwarded such a reader, the reader might be sent back, forever.
    [[nodiscard]] bool is_of_former(std::uint64_t time) const noexcept {
        return time < returned_at_ && !injected(fault::send_on_to_the_past);
    }
    /// Returns true if a pointer leads to an object that has ended (S13).
    [[nodiscard]] bool is_of_former(const object& o) const noexcept {
        const std::uint64_t ended = ended_[o.owner % ended_.size()].load(std::memory_order_acquire);
        return ended != 0 && o.version <= ended && !injected(fault::believe_former_pointers);
    }
    /// Returns true if a pointer leads to an object that has ended, and this is its home, which has to say so.
    [[nodiscard]] bool ends_here(const object_id& id, const object& o) const noexcept {
        return !o.here && is_of_former(o) && home_of(id, nodes_) == self_;
    }
    [[nodiscard]] std::uint64_t ended_version(const object& o) const noexcept {
        return ended_[o.owner % ended_.size()].load(std::memory_order_relaxed);
    }
    void end_locked(shard& s, const object_id& id, object& o, std::uint64_t version);
    void point_locked(shard& s, const object_id& id, const wire::owner_update& to, bool home_knows);
    [[nodiscard]] bool is_still(const shard& s, const object_id& id, std::uint64_t version) const;
    [[nodiscard]] bool reserve_locked(shard& s, const object_id& id, object& o, const wire::reserve& how, bool more,
                                      wire::object_view& view);
    void install_locked(shard& s, const object_id& id, object& o, bool exists, const std::string& bytes,
                        std::uint64_t version, node_number from);
    void settle_locked(shard& s, const object_id& id, object& o, wire::action what, std::string& bytes,
                       std::uint64_t version, const transaction_name& who);
    /// Returns the watchers to tell once the shard is unlocked (S7).
    [[nodiscard]] static watchers take_watchers(shard& s, const object_id& id) {
        return s.watched.empty() ? watchers{} : take_these_watchers(s, id);
    }
    [[nodiscard]] static watchers take_these_watchers(shard& s, const object_id& id);
    void tell(const object_id& id, const watchers& whom) const {
        if (!whom.empty()) audience_->changed(id, whom);
    }
    void look_back(const object& o, wire::object_view& view, std::uint64_t at) const;
    /// Keeps the value that ends at `version` if a reader may ask for it, and forgets values that are no longer needed.
    void retire(shard& s, const object_id& id, object& o, std::uint64_t version) {
        const std::uint64_t needed = readers_.oldest();
        if (!s.kept.empty() || version > needed) retire(s, id, o, version, needed);
    }
    void retire(shard& s, const object_id& id, object& o, std::uint64_t version, std::uint64_t needed);
    static void forget(shard& s, object& o, std::uint64_t needed) noexcept;
    static void drop_oldest(shard& s, object& o) noexcept;
    void keep(shard& s, const object_id& id, object& o, std::uint64_t to, const transaction_name& leaver = {});

    const node_number self_;
    const node_number nodes_;
    logical_clock& clock_;
    snapshots& readers_;
    audience* audience_ = nullptr;
    limits limits_;
    std::int16_t share_after_ = 0;
    std::array<shard, shards> shards_;
    std::array<std::atomic<bool>, most_nodes> lost_{};
    std::array<std::atomic<bool>, most_nodes> has_copies_{};  ///< S12: lost nodes that count as sharers
    std::atomic<std::uint64_t> losses_{0};
    std::atomic<bool> some_never_came_{false};
    std::uint64_t returned_at_ = 0;                                  ///< S13: the version of this node's return
    std::array<std::atomic<std::uint64_t>, most_nodes> first_of_{};  ///< the first transaction of each node's running
                                                                     ///< process
    std::array<std::atomic<std::uint64_t>, most_nodes> ended_{};     ///< S13: objects there up to that version have
                                                                     ///< ended
};

inline bool store::look_again(place& found, const object_id& id, wire::object_view& view) const {
    if (found.seen == nullptr || !found.seen->see(id, clock_, view, found.word)) return false;
    view.where = wire::lookup_result::here;
    view.owner = self_;
    return true;
}

TUTTI_ALWAYS_INLINE bool store::look_again(place& found, const object_id& id, const detail::image& to,
                                           wire::object_view& view) const noexcept {
    if (found.seen == nullptr || !found.seen->see(id, clock_, to, view, found.word)) return false;
    view.where = wire::lookup_result::here;
    view.owner = self_;
    return true;
}

/// One object of a commit at once.
struct store::share {
    const object_id* id;
    std::uint64_t version;  ///< the version that was read
    std::string* fresh;     ///< null: it is only read. Used as by `settle`
    wire::action what;
    // Set by the store:
    shard* in = nullptr;
    object* at = nullptr;
    std::uint64_t drops = 0;  ///< `at` is valid while its shard has dropped no more entries
    watchers told{};          ///< the nodes to tell of its change
};

}  // namespace tutti::cluster
