// The objects that one node knows: the values, versions and locks of the objects that it owns, and pointers to the
// owners of other objects.
//
// Invariants:
//   DIR1  An object is `here` on at most one node, except between a decision and its arrival at the former owner.
//       Meanwhile, the former owner holds the object locked, so it is not read there. The object may even return to the
//       former owner before the decision arrives there.
//   DIR2  An object's version grows with every commit that writes it, and is no higher than the clock of the node that
//       it is on.
//   DIR3  A write lock excludes every other lock; read locks share. Transactions do not wait for a lock. A transaction
//       that cannot acquire a lock gives up, so there is no deadlock.
//   DIR4  If a view of the present state reports `here`, it was taken while the object was not locked for writing. The
//       node's clock had reached `valid_at` by then.
//   DIR5  A value that was overwritten here, or moved away from here, is kept for as long as a reader may ask for it
//       (ordering/snapshot_tracker.hpp). It is kept with the times at which it was the latest. If the object has come
//       from another node, that node knows the values before the first of these times.
//   DIR6  A view of time t shows a value that no writer of version t or less will replace. The reasons are: the clock
//       has reached t before the read, and a transaction that locks the object at clock c gets a version above c.
//   DIR7  A node that watches the present version of an object is notified once, of the object's next change. Both
//       watch and change read the object with its shard locked. So the watch finds another version, or the change finds
//       the watcher. A shard keeps at most `max_watched` watched objects. A new watch may therefore notify the watchers
//       of another, unchanged object.
//   DIR8  An object is reserved for at most one thread. If the reservation is irrevocable, the directory gives no other
//       thread a write lock of the object. If an irrevocable reservation is also `before_write`, the directory gives no
//       other thread a read lock either. If the reservation is not irrevocable, transactions that have precedence, and
//       those of the same execution, can still acquire these locks. A transaction that had locked the object before the
//       reservation may still write or unlock it. Every transaction may read it. A reservation that is not irrevocable
//       is replaced by another thread's reservation that is irrevocable or has precedence.
//   DIR9  A directory keeps the objects that are here and, at homes, the pointers to objects that are elsewhere. The
//       number of its other entries is bounded (`limits`). These other entries may be evicted while they are neither
//       locked nor reserved, and no reader asks for an older value:
//         - at its home, the entry of an object that does not exist. Each shard keeps the highest version of its
//           evicted objects. Every id without an entry has that version. So a transaction that finds such an object
//           missing reads at no older time than one that found it erased.
//         - elsewhere, the entry of an object that does not exist. The node tells the home, which owns the object from
//           then on.
//         - elsewhere, a pointer. If the pointer exists because the object moved away from this node, and the home may
//           not know the new owner, the node tells the home. So the home knows, or will know, whatever a node has
//           evicted.
//
//   DIR10 Reads without the shard's lock see the shown part of an object (seqlock_object.hpp), which is the object's
//       current state. The shown part is hidden before the object changes or is locked for writing. The shown part is
//       also hidden before a commit draws the object's next version.
//   DIR11 While an object is shown, its version and its bytes are in the shown part, and the entry may be outdated. An
//       in-place commit writes the shown part without the shard's lock. So a thread with that lock reads an entry only
//       after hiding the object (hide() updates the entry). An in-place commit writes no object that is guarded. An
//       object is guarded if it is locked, reserved or watched, or if it has old values, or may have to keep some.
//   DIR12 A node that was told to keep a copy of an object is one of its *copy holders*. The node stays a copy holder
//       until it reports that it has no copy of that grant or a later one. A lost node stays a copy holder until every
//       remaining node has reported its loss (protocol/lost_nodes.hpp). An object that has copy holders is not locked
//       for writing. When a transaction wants to write, the copy holders are notified. No node becomes a copy holder
//       after that, until the object is written, or read many times. A grant is a value of the clock. Each new grant is
//       later than any grant that a message from or to a copy holder has named. So no late message concerns a new
//       grant. (object_cache.hpp is the copy holders' side.)
//   DIR13 Pointers to a node that has rejoined, of a version up to its rejoin version, lead to objects that have ended.
//       The home of such an object records that the home owns the object, and that the object was erased at the rejoin
//       version. Elsewhere, the pointer leads to the new process, which does not know the object, and so to the home.
//       About times before that version, the new process reports only which objects were elsewhere then. An ownership
//       report has all pointers that stay, because answers to requests from before a node's loss leave no pointers.
//
// Thread safety: every member may be called from any thread. No call waits while it holds a shard's lock, with one
// exception. A local commit that holds a shard's lock takes the lock of a shard with a higher number. All other calls
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
#include "cluster/directory/seqlock_object.hpp"
#include "cluster/ordering/precedence.hpp"
#include "cluster/ordering/snapshot_tracker.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

using wire::transaction_name;

/// The receiver of a directory's reports of changes.
class change_listener {
public:
    virtual ~change_listener() = default;
    /// Reports that an object has changed. Blocks on the nodes `watchers` may be sleeping until this change. Any thread
    /// may call this function, even a thread that holds locks that order commits, so the function must not wait.
    virtual void on_change(const object_id& id, std::span<const node_number> watchers) = 0;
    /// Tells the object's home that `owner` has the object since `version`, because this node is about to evict the
    /// entry (DIR9). Returns false if the home cannot be reached now. Is called like `on_change`, but with a shard
    /// locked.
    [[nodiscard]] virtual bool report_eviction(const object_id& id, node_number owner,
                                               std::uint64_t version) noexcept = 0;
    /// Asks a copy holder to drop its copy of that grant, because a transaction wants to write the object (DIR12). Any
    /// thread may call this function, so it must not wait. The message may be lost, because each further attempt to
    /// write the object leads to another call.
    virtual void invalidate_copy(const object_id& id, node_number holder, std::uint64_t grant) noexcept = 0;
};

class object_directory {
public:
    object_directory(node_number self, node_number nodes, logical_clock& clock, snapshot_tracker& readers) noexcept
        : self_{self}, nodes_{nodes}, clock_{clock}, readers_{readers} {}

    /// Sets the receiver of reports. Call this function before any other member.
    void set_listener(change_listener& receiver) noexcept { listener_ = &receiver; }

    /// The limits of each of the `shards` shards (DIR9). Entries that may not be evicted yet are not counted.
    struct limits {
        std::size_t pointers = 16;  ///< in addition to one pointer for each other entry of the shard
        std::size_t erased = 128;
    };
    static constexpr std::size_t shards = 64;
    /// Sets the limits. Call this function before any other member.
    void limit(limits to) noexcept { limits_ = to; }

    /// Records where and how a read has found an object, as a hint for the next read. The hint keeps nothing alive or
    /// locked.
    struct lookup_hint {
        seqlock_object* object = nullptr;                   ///< null: the object is not shown
        std::uint64_t word = seqlock_object::initial_word;  ///< the word that a read without a lock has seen there
    };
    /// Returns the object as it is now, or as it was at time `at`. A transaction that reads holds no lock yet, so its
    /// own locks cannot prevent the read. REQUIRES: the clock has reached `at`.
    void read(const object_id& id, wire::object_view& view, std::uint64_t at = wire::newest) {
        read(id, view, at, nullptr);
    }
    /// Reads as the previous function does, and sets `found` as a hint for a later read.
    void read(const object_id& id, wire::object_view& view, std::uint64_t at, lookup_hint& found) {
        read(id, view, at, &found);
    }
    /// Returns the object as it is now, for a read by another node. The answer may tell that node to keep a copy
    /// (DIR12).
    void read_and_grant_copy(const object_id& id, wire::object_view& view, node_number with);
    /// Sets how many reads by other nodes, without a write in between, an object initially needs before it is copied
    /// (DIR12). Later, the directory adjusts this number by the reads that copies have served. If `reads` is 0, there
    /// are no copies. Call this function before any other member.
    void set_copy_threshold(unsigned reads) noexcept { copy_threshold_ = static_cast<std::int16_t>(reads); }
    /// Returns the default threshold for a cluster of `nodes` nodes. The threshold grows with `nodes`, because each
    /// copy serves only one node, which may never read the object again.
    [[nodiscard]] static constexpr unsigned default_copy_threshold(node_number nodes) noexcept {
        return std::max(8u, 2u * nodes);
    }
    /// Tells the copy holders that a transaction wants to write the object (DIR12).
    void invalidate_copies(const object_id& id);
    /// Records that `from` has no copy of the message's grant or of an earlier grant (DIR12).
    void on_copy_dropped(const wire::invalidation& message, node_number from);
    /// Returns true, and the object as it is now, if `found.object` shows the object. Takes no lock. Returns false if
    /// the caller has to use `read`. O(bytes).
    [[nodiscard]] bool reread(lookup_hint& found, const object_id& id, wire::object_view& view) const;
    /// Returns true if the object is here in this version, and no transaction other than `who` has locked it for
    /// writing.
    [[nodiscard]] bool is_current(const object_id& id, std::uint64_t version, const transaction_name& who = {});
    /// Locks the object. Returns `none` on success. Returns `stale` if the object is not here, or has another version.
    [[nodiscard]] wire::lock_refusal lock_to_read(const object_id& id, std::uint64_t version,
                                                  const transaction_name& who, const wire::precedence& as = {});
    [[nodiscard]] wire::lock_refusal lock_to_write(const object_id& id, std::uint64_t version,
                                                   const transaction_name& who, const wire::precedence& as = {});
    void unlock(const object_id& id, const transaction_name& who) noexcept;

    /// Reserves the object for the thread of `how`. Does not reserve the object if it is elsewhere, if another thread's
    /// reservation stays (DIR8), or if the thread has no reservation of it and `more` is false. If the object is here
    /// but cannot be reserved, an irrevocable request is answered busy or too_large, and any other request only
    /// receives the view. The view shows the present state, with the bytes if `how.values`. The answer is also busy
    /// while another transaction's lock is in the way, even if the object is reserved by then. Returns true if the
    /// reservation is new for this thread.
    [[nodiscard]] bool reserve(const object_id& id, const wire::reserve& how, bool more, wire::object_view& view);
    void end_reservation(const object_id& id, std::uint32_t thread) noexcept;

    /// Registers a watcher (DIR7). Returns false if the object is not here in that version, or if only a lost node
    /// knows its next state.
    [[nodiscard]] bool watch(const object_id& id, std::uint64_t version, node_number who);

    /// Carries out the decision for an object whose write lock `who` holds. The object gets the bytes, ceases to exist,
    /// or moves to the node of `who`. Releases the lock. `bytes` may have other content afterwards.
    void apply_decision(const object_id& id, wire::action what, std::string&& bytes, std::uint64_t version,
                        const transaction_name& who);

    struct local_write;
    static constexpr std::size_t max_local_objects = 16;
    /// One object of an in-place commit.
    struct in_place_write {
        seqlock_object* at;
        std::uint64_t word;           ///< the word that a read of this object has seen
        detail::typed_bytes written;  ///< the new value; empty if the object is only read
    };
    /// Commits as commit_locally does, without a shard's lock. Succeeds only if every object is shown, free, and
    /// unchanged since its read (DIR11). If the function returns false, no object has changed, and another kind of
    /// commit may succeed. REQUIRES: each object is given once, and at least one is written. O(objects), with one
    /// read-modify-write of a word for each written object, and one of the clock.
    [[nodiscard]] bool commit_in_place(std::span<const in_place_write> all, std::uint64_t& version) noexcept;
    /// Commits a transaction that only uses objects of this node: validates, draws the version, and installs. Holds the
    /// locks of the shards meanwhile, instead of the objects' locks. If the result is not `none`, or the function
    /// throws std::bad_alloc, nothing has changed. REQUIRES: at most `max_local_objects` objects, each given once.
    /// O(objects); locks at most as many shards.
    [[nodiscard]] wire::lock_refusal commit_locally(std::span<local_write> all, const transaction_name& who,
                                                    const wire::precedence& as, std::uint64_t& version);
    /// Installs an object that arrives.
    /// REQUIRES: the decision is made, and the object's former owner still holds the object locked, or has released it
    /// by this decision.
    void install(const object_id& id, bool exists, const std::string& bytes, std::uint64_t version, node_number from);
    /// Records which node owns the object, according to another node's answer. Ignores an answer that is older than
    /// what is known. `home_knows` is true if the answer is from the home.
    void set_pointer(const object_id& id, node_number owner, std::uint64_t version, bool home_knows = false);
    /// Records an answer to a request that was sent when losses() returned `losses`. Ignores the answer if a node was
    /// lost since then (DIR13).
    void set_answered_pointer(const object_id& id, node_number owner, std::uint64_t version, bool home_knows,
                              std::uint64_t losses);
    /// Takes over an object that was erased at another node, because that node evicts its entry (DIR9). REQUIRES: this
    /// node is the object's home.
    void adopt_erased(const object_id& id, std::uint64_t version, node_number from);

    /// Marks a node as lost. Objects that the node's transactions have locked stay locked, and are in doubt. From
    /// this call until `admit`, `is_lost` returns true for the node. The node may already be marked before this call. A
    /// process that rejoins begins by marking all other nodes as lost (rejoin_protocol::begin).
    void on_node_lost(node_number node) noexcept {
        has_copies_[node % lost_.size()].store(!injected(fault::drop_lost_copy_holders), std::memory_order_seq_cst);
        mark_lost(node);
        readers_.on_node_lost(node);
    }
    [[nodiscard]] bool is_locked_by(const object_id& id, const transaction_name& writer);
    /// Wakes the blocks that sleep on the object, so that they check it, because a lost node has locked it.
    void notify_in_doubt(const object_id& id);
    [[nodiscard]] bool is_lost(node_number node) const noexcept {
        return lost_[node % lost_.size()].load(std::memory_order_seq_cst);
    }
    /// Records that the object was to move here from `from`, which was lost before the object arrived. It is unknown
    /// whether the move was decided. The object is not here.
    void transfer_lost(const object_id& id, node_number from);
    /// Completes a read that has found the object elsewhere. If another node has sent the reader here, but the object's
    /// transfer to this node was lost, changes the answer to name the former owner.
    void report_transfer_lost(const object_id& id, wire::object_view& view);

    // ---- DIR13: nodes that rejoin (node_rejoin.cpp)

    /// Stops counting a lost node as a copy holder (DIR12, lost_nodes.hpp).
    void stop_counting_copies_of(node_number node) noexcept {
        has_copies_[node % lost_.size()].store(false, std::memory_order_seq_cst);
    }
    /// Returns the first transaction name of the latest process with this node number.
    [[nodiscard]] std::uint64_t first_transaction_of(node_number node) const noexcept {
        return first_transactions_[node % first_transactions_.size()].load(std::memory_order_relaxed);
    }
    /// Stops all requests to the node until `admit`. The store is seq_cst: its partner is `peer_references`, which
    /// counts first, and then checks for the loss.
    void mark_lost(node_number node) noexcept {
        lost_[node % lost_.size()].store(true, std::memory_order_seq_cst);
        losses_.fetch_add(1, std::memory_order_relaxed);  // the partner is set_answered_pointer
    }
    /// Returns how many times other nodes were lost so far.
    [[nodiscard]] std::uint64_t losses() const noexcept { return losses_.load(std::memory_order_acquire); }
    /// Admits a new process, whose transactions have names from `first` on. Lower names belong to transactions of lost
    /// processes.
    void admit(node_number node, std::uint64_t first) {
        drop_copy_holder(node);
        stop_counting_copies_of(node);
        first_transactions_[node % first_transactions_.size()].store(first, std::memory_order_relaxed);
        lost_[node % lost_.size()].store(false, std::memory_order_seq_cst);
    }
    /// Returns true if the process that ran the transaction is lost.
    [[nodiscard]] bool is_process_lost(const transaction_name& who) const noexcept {
        return is_lost(who.node) || is_former(who);
    }
    /// Returns true if the process that ran the transaction has been replaced by another process.
    [[nodiscard]] bool is_former(const transaction_name& who) const noexcept {
        return who.sequence <
                   first_transactions_[who.node % first_transactions_.size()].load(std::memory_order_relaxed) &&
               !injected(fault::forget_former_process);
    }
    /// Ends an object whose pointer here has no version above `seen`. From then on, this node owns the object, which
    /// counts as erased at `version`. REQUIRES: this node is the object's home.
    void erase_lost(const object_id& id, std::uint64_t seen, std::uint64_t version);
    /// Returns the known owner and version of each object that is elsewhere, or has its home elsewhere.
    [[nodiscard]] std::vector<wire::owner_update> list_owned_elsewhere();
    /// Initializes the directory of a rejoining node. An object that is homed here and listed in `elsewhere` is at the
    /// node that the list names. Every other object that is homed here counts as erased at `version`. REQUIRES: this
    /// node is new, and no other node has sent a request to it.
    void reset(std::uint64_t version, std::span<const wire::owner_update> elsewhere);
    /// Ends the objects homed here that a former process of the node owned in versions up to `version`.
    void erase_former(node_number node, std::uint64_t version);
    /// Returns the object's owner if this node knows the owner, and its home otherwise.
    [[nodiscard]] node_number owner_of(const object_id& id);
    /// Counts of the directory. The counts of each shard are consistent, but those of different shards are from
    /// different moments.
    struct statistics {
        std::uint64_t objects = 0;            ///< objects that exist here
        std::uint64_t directory_entries = 0;  ///< entries of these objects, of pointers, and of erased objects
        std::uint64_t old_versions = 0, old_version_bytes = 0;
        std::uint64_t outranked = 0;  ///< locks that were denied because of a reservation
        std::uint64_t reservations_lost =
            0;  ///< reservations that a transaction with precedence has taken over or ignored
        std::uint64_t cached_elsewhere = 0;  ///< objects of which other nodes have copies
        std::uint64_t transfers_lost = 0;    ///< objects that were to move here from a lost node
    };
    [[nodiscard]] statistics count();
    /// Calls f(id, bytes) for each object that exists here. Use it for checks while no transaction runs.
    void for_each(const std::function<void(const object_id&, const std::string&)>& f);

private:
    static constexpr node_number no_owner = 0xffff;

    /// The state of an object here in the times [from, to).
    struct past {
        std::uint64_t from = 0;
        std::uint64_t to = 0;
        node_number came_from = no_owner;
        bool exists = false;
        std::string bytes;
        /// The transaction that moved the object away, if the object is back but this transaction's decision has not
        /// arrived. The decision will set `to`.
        transaction_name leaver{};
    };
    struct object {
        bool here = false;
        bool exists = false;
        node_number owner = 0;
        node_number came_from = no_owner;  ///< the owner before `version`, if this was another node
        std::uint64_t version = 0;
        transaction_name writer;
        std::uint64_t locked_at = 0;  ///< the clock when `writer` took the lock; the version of `writer` will be higher
        std::vector<transaction_name> readers;
        std::string bytes;
        std::unique_ptr<std::deque<past>> history;  ///< old values (DIR5), oldest first; null if there are none
        std::size_t kept_bytes = 0;                 ///< the size of the history in bytes
        bool home_knows = true;                     ///< for a pointer: true if the home knows the new owner
        bool listed = false;                        ///< true if the entry is in the list of pointers or of erased
                                                    ///< objects
        bool is_lock_free_readable = false;         ///< DIR10
        seqlock_object* seqlock = nullptr;          ///< where the object is shown; null if no read has requested this
        [[nodiscard]] bool is_locked() const noexcept { return writer.exists() || !readers.empty(); }
    };
    using watchers = std::vector<node_number>;
    struct reservation {
        transaction_name holder;
        wire::precedence as{};
        bool irrevocable = false;
        bool before_write = false;
    };
    struct copy_holder {
        node_number node = 0;
        std::uint64_t grant = 0;
    };
    struct copy_holders {
        std::vector<copy_holder> all;
        bool notified = false;
        std::uint32_t granted = 0;  ///< number of copies
        std::uint64_t reads = 0;    ///< reads served by the copies that were dropped so far
    };
    /// The reads of the objects of one hash (DIR12).
    struct read_count {
        std::int16_t reads = 0;   ///< reads by other nodes since an object of this hash was written
        std::int16_t enough = 0;  ///< number of reads after which copies are granted; 0: not known yet
    };
    using copied_objects = std::unordered_map<object_id, copy_holders, object_id_hash>;
    static constexpr std::size_t read_counts = 64;
    struct alignas(64) shard {
        base::lock guard;
        std::unordered_map<object_id, object, object_id_hash> objects;
        std::uint64_t drops = 0;  ///< how many entries were dropped: an entry that a local commit has found may be
                                  ///< one of them
        std::unordered_map<object_id, watchers, object_id_hash> watched;      ///< DIR7
        std::unordered_map<object_id, reservation, object_id_hash> reserved;  ///< DIR8
        copied_objects copied;                                                ///< DIR12
        std::unordered_map<object_id, node_number, object_id_hash> transfer_lost;
        std::array<read_count, read_counts> reads{};
        std::uint64_t no_grant_until = 0;  ///< DIR12: no copy is granted until the clock has passed this value
        std::deque<object_id> kept;        ///< objects with a history, and some that had one
        // DIR9. Listed entries may have changed or been dropped since they were listed.
        std::deque<object_id> pointers, erased;
        std::size_t changes_until_scan = 0;  ///< how many changes until the next scan of `erased`
        std::uint64_t version_of_absent = 0;
        std::deque<seqlock_object> seqlock_objects;  ///< SEQ4
        seqlock_object* spare_seqlock_object = nullptr;
        statistics count;  ///< without `directory_entries`, which the map counts
    };
    /// While the guard lives, hides an object that changes. Updates the count of objects that exist here.
    class change_guard {
    public:
        change_guard(shard& s, const object_id& id, object& o) noexcept : shard_{s}, id_{id}, object_{o} {
            hide(o);
            shard_.count.objects -= exists_here();
        }
        ~change_guard() {
            shard_.count.objects += exists_here();
            show(shard_, id_, object_);
        }
        change_guard(const change_guard&) = delete;
        change_guard& operator=(const change_guard&) = delete;

    private:
        [[nodiscard]] std::uint64_t exists_here() const noexcept { return object_.here && object_.exists ? 1 : 0; }
        shard& shard_;
        const object_id& id_;
        object& object_;
    };
    /// While the guard lives, hides an object for a read with the shard's lock. REQUIRES: the object does not change
    /// meanwhile.
    class hide_guard {
    public:
        explicit hide_guard(object& o) noexcept : object_{o}, was_shown_{o.is_lock_free_readable} { hide(o); }
        ~hide_guard() {
            if (was_shown_) show_again(object_);
        }
        hide_guard(const hide_guard&) = delete;
        hide_guard& operator=(const hide_guard&) = delete;

    private:
        object& object_;
        const bool was_shown_;
    };
    /// Hides the object, and updates its entry (DIR10, DIR11).
    static void hide(object& o) noexcept {
        if (!o.is_lock_free_readable) return;
        o.seqlock->begin_write();
        o.is_lock_free_readable = false;
        if (o.seqlock->version() == o.version || injected(fault::trust_outdated_entry)) return;
        o.version = o.seqlock->version();
        o.seqlock->copy_to(o.bytes);  // needs no memory, because the size is the same as before
    }
    /// Shows the object if reads may use it (DIR10). REQUIRES: the object is hidden.
    static void show(const shard& s, const object_id& id, object& o) noexcept {
        const bool is_seen = !o.writer.exists() || injected(fault::show_locked);
        if (o.seqlock == nullptr || !o.here || !is_seen || o.bytes.size() > seqlock_object::max_size) return;
        o.seqlock->end_write(o.exists, o.version, o.bytes, is_guarded(s, id, o));
        o.is_lock_free_readable = true;
    }
    /// Shows an unchanged object again.
    /// REQUIRES: it was shown before it was hidden, and nothing has changed since.
    static void show_again(object& o) noexcept {
        o.seqlock->cancel_write();
        o.is_lock_free_readable = true;
    }
    /// Returns true if the object is guarded (DIR11).
    [[nodiscard]] static bool is_guarded(const shard& s, const object_id& id, const object& o) noexcept;
    /// Makes a seqlock object, in which the object is shown from now on whenever this is allowed.
    static void make_shown(shard& s, const object_id& id, object& o);

    shard& shard_of(const object_id& id) noexcept { return shards_[(object_id_hash{}(id) >> 20) % shards_.size()]; }
    /// Returns the object's entry. If there is no entry, makes one. At the object's home, the new entry says that the
    /// object does not exist. At other nodes, the new entry is a pointer to the home.
    object& find_or_add_entry(shard& s, const object_id& id);
    void erase(shard& s, const object_id& id);
    void read(const object_id& id, wire::object_view& view, std::uint64_t at, lookup_hint* found);
    void read_locked(shard& s, const object_id& id, wire::object_view& view, std::uint64_t at, lookup_hint* found);
    /// Makes a node a copy holder (DIR12).
    /// REQUIRES: the object is here, exists, and is not locked for writing.
    [[nodiscard]] bool grant_copy(shard& s, const object_id& id, object& o, node_number with, std::uint64_t grant);
    /// Returns true if the object has copy holders, not counting lost ones that have ceased to be copy holders (DIR12).
    [[nodiscard]] bool has_copy_holders(shard& s, const object_id& id) const {
        return !s.copied.empty() && !injected(fault::write_despite_copies) && find_copy_holders(s, id);
    }
    [[nodiscard]] bool find_copy_holders(shard& s, const object_id& id) const;
    /// Removes a lost node from all copy holders (DIR12).
    /// REQUIRES: that node is lost.
    void drop_copy_holder(node_number node);
    /// Removes an object from the shard's list of copied objects, because no node holds a copy of it any more (DIR12).
    static void end_copies(shard& s, copied_objects::iterator at);
    [[nodiscard]] read_count& read_count_of(shard& s, const object_id& id) const noexcept {
        read_count& c = s.reads[(object_id_hash{}(id) >> 30) % read_counts];
        if (c.enough == 0) c.enough = copy_threshold_;
        return c;
    }
    /// Records that the object is written, so no node has a copy of it any more.
    void restart_read_count(shard& s, const object_id& id) noexcept {
        if (copy_threshold_ == 0) return;
        read_count_of(s, id).reads = 0;
        s.copied.erase(id);
    }
    /// Returns the reason why a transaction that has read this version cannot lock the object, or `none`.
    [[nodiscard]] static wire::lock_refusal check_read_lock(shard& s, const object_id& id, const object& o,
                                                            std::uint64_t version, const transaction_name& who,
                                                            const wire::precedence& as);
    [[nodiscard]] wire::lock_refusal check_write_lock(shard& s, const object_id& id, object& o, std::uint64_t version,
                                                      const transaction_name& who, const wire::precedence& as);
    class locked_shards;
    [[nodiscard]] wire::lock_refusal check_lock(local_write& of, const transaction_name& who,
                                                const wire::precedence& as);
    /// Installs the written objects, unlocks them, and collects their watchers. Cannot fail, like the decisions of
    /// other commits.
    void install_local(std::span<local_write> all, const transaction_name& who, std::uint64_t version,
                       locked_shards& hold) noexcept;
    void tidy(std::span<local_write> all);
    /// Returns true if a reservation prevents the transaction from locking the object.
    [[nodiscard]] static bool excludes(shard& s, const object_id& id, const transaction_name& who,
                                       const wire::precedence& as, bool to_write) noexcept;
    /// Makes or takes over a reservation if that is allowed, and returns it. Returns null if another thread's
    /// reservation stays, or if a new reservation is needed and `more` is false. Sets `fresh` to true if the thread did
    /// not have the reservation before.
    [[nodiscard]] static reservation* acquire_reservation(shard& s, const object_id& id, const wire::reserve& how,
                                                          bool more, bool& fresh);
    /// Returns the version that an object without an entry has at its home.
    [[nodiscard]] static std::uint64_t version_of_absent(const shard& s) noexcept {
        return injected(fault::evict_version) ? 0 : s.version_of_absent;
    }
    /// Tidies an entry that has changed (DIR9): lists or drops it, and drops some of the listed entries. May drop `o`,
    /// and any other entry that is not locked.
    void tidy(shard& s, const object_id& id, object& o) {
        if (!nothing_to_tidy(s, o)) tidy_entry(s, id, o);
    }
    [[nodiscard]] static bool nothing_to_tidy(const shard& s, const object& o) noexcept {
        return o.here && o.exists && s.pointers.empty() && s.erased.empty();
    }
    void tidy_entry(shard& s, const object_id& id, object& o);
    enum class evictable : std::uint8_t { no, pointer, erased };
    [[nodiscard]] evictable evictable_kind(const object_id& id, const object& o) const noexcept;
    void list_for_eviction(shard& s, const object_id& id, object& o);
    void drop_pointers(shard& s);
    void drop_erased(shard& s);
    /// Drops an entry. Returns false if the entry cannot be dropped now.
    [[nodiscard]] bool drop(shard& s, const object_id& id, object& o);
    [[nodiscard]] bool is_write_locked(const object& o) const noexcept {
        return o.writer.exists() && !(injected(fault::free_in_doubt_locks) && is_process_lost(o.writer));
    }
    /// Returns true if only a former process of this node has kept the values of this time (DIR13). Readers of such a
    /// time must not be forwarded, because they might be sent back, forever.
    [[nodiscard]] bool is_of_former(std::uint64_t time) const noexcept {
        return time < returned_at_ && !injected(fault::forward_to_former);
    }
    /// Returns true if a pointer leads to an object that has ended (DIR13).
    [[nodiscard]] bool is_of_former(const object& o) const noexcept {
        const std::uint64_t ended = ended_[o.owner % ended_.size()].load(std::memory_order_acquire);
        return ended != 0 && o.version <= ended && !injected(fault::trust_former_pointers);
    }
    /// Returns true if a pointer leads to an object that has ended, and this node is the object's home. The home has to
    /// report the end.
    [[nodiscard]] bool must_erase_lost(const object_id& id, const object& o) const noexcept {
        return !o.here && is_of_former(o) && home_of(id, nodes_) == self_;
    }
    [[nodiscard]] std::uint64_t ended_version(const object& o) const noexcept {
        return ended_[o.owner % ended_.size()].load(std::memory_order_relaxed);
    }
    void erase_lost_locked(shard& s, const object_id& id, object& o, std::uint64_t version);
    void set_pointer_locked(shard& s, const object_id& id, const wire::owner_update& to, bool home_knows);
    [[nodiscard]] bool is_still(const shard& s, const object_id& id, std::uint64_t version) const;
    [[nodiscard]] bool reserve_locked(shard& s, const object_id& id, object& o, const wire::reserve& how, bool more,
                                      wire::object_view& view);
    void install_locked(shard& s, const object_id& id, object& o, bool exists, const std::string& bytes,
                        std::uint64_t version, node_number from);
    void apply_decision_locked(shard& s, const object_id& id, object& o, wire::action what, std::string& bytes,
                               std::uint64_t version, const transaction_name& who);
    /// Returns the watchers that are to be notified once the shard is unlocked (DIR7).
    [[nodiscard]] static watchers take_watchers(shard& s, const object_id& id) {
        return s.watched.empty() ? watchers{} : remove_watchers(s, id);
    }
    [[nodiscard]] static watchers remove_watchers(shard& s, const object_id& id);
    void notify(const object_id& id, const watchers& receiver) const {
        if (!receiver.empty()) listener_->on_change(id, receiver);
    }
    void read_past(const object& o, wire::object_view& view, std::uint64_t at) const;
    /// Keeps the value that ends at `version` if a reader may ask for it, and drops values that are no longer needed.
    void retire(shard& s, const object_id& id, object& o, std::uint64_t version) {
        const std::uint64_t needed = readers_.oldest_read_time();
        if (!s.kept.empty() || version > needed) retire(s, id, o, version, needed);
    }
    void retire(shard& s, const object_id& id, object& o, std::uint64_t version, std::uint64_t needed);
    static void drop_unneeded(shard& s, object& o, std::uint64_t needed) noexcept;
    static void drop_oldest(shard& s, object& o) noexcept;
    void keep_value(shard& s, const object_id& id, object& o, std::uint64_t to, const transaction_name& leaver = {});

    const node_number self_;
    const node_number nodes_;
    logical_clock& clock_;
    snapshot_tracker& readers_;
    change_listener* listener_ = nullptr;
    limits limits_;
    std::int16_t copy_threshold_ = 0;
    std::array<shard, shards> shards_;
    std::array<std::atomic<bool>, max_nodes> lost_{};
    std::array<std::atomic<bool>, max_nodes> has_copies_{};  ///< DIR12: lost nodes that count as copy holders
    std::atomic<std::uint64_t> losses_{0};
    std::atomic<bool> some_transfer_lost_{false};
    std::uint64_t returned_at_ = 0;  ///< DIR13: the rejoin version of this node
    std::array<std::atomic<std::uint64_t>, max_nodes>
        first_transactions_{};                                   ///< the first transaction of each node's running
                                                                 ///< process
    std::array<std::atomic<std::uint64_t>, max_nodes> ended_{};  ///< DIR13: objects there up to that version have
                                                                 ///< ended
};

inline bool object_directory::reread(lookup_hint& found, const object_id& id, wire::object_view& view) const {
    if (found.object == nullptr || !found.object->try_read(id, clock_, view, found.word)) return false;
    view.where = wire::lookup_result::here;
    view.owner = self_;
    return true;
}

/// One object of a local commit.
struct object_directory::local_write {
    const object_id* id;
    std::uint64_t version;  ///< the version that was read
    std::string* fresh;     ///< the new value, or null for a read; may change as in `apply_decision`
    wire::action what;
    // The directory sets the following members:
    shard* in = nullptr;
    object* at = nullptr;
    std::uint64_t drops = 0;        ///< `at` is valid as long as its shard's count of drops equals this
    watchers watchers_to_notify{};  ///< the nodes to notify of the object's change
};

}  // namespace tutti::cluster
