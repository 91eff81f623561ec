// What one node knows of objects: those that it owns with their values, versions and locks, and pointers to the owners
// of others.
//
// Invariants:
//   S1  An object is `here` on at most one node, apart from the time between a decision and its arrival at the former
//       owner, when the former owner holds it locked: nobody reads it there. It may even be back before that.
//   S2  Its version grows with every commit that wrote it, and is no higher than the clock of the node that it is on.
//   S3  A write lock excludes every other lock; read locks share. No transaction waits for a lock: one that does not
//       get it gives up, so there is no deadlock.
//   S4  A view of now that says `here` was taken while nobody held the write lock, and the node's clock said `valid_at`
//       or more by then.
//   S5  A value that was overwritten here, or moved away from here, is kept with the times at which it was the latest,
//       for as long as a reader may ask for one of them (protocol/snapshots.hpp). Before the first such time of an
//       object that has come from another node, that node knows.
//   S6  A view of time t shows a value that no writer of a version of t or less will replace: whoever locks the object
//       when the clock says c gets a version above c, and the clock has said t before the look.
//   S7  Who watches an object in the version that it has here is told of its next change, once. Both look at it with
//       its shard locked: so the watch finds another version, or the change finds the watcher. A change that needs room
//       may tell who watches something else, where nothing has changed: a shard keeps `most_watched` objects at most.
//   S8  An object is reserved for one thread at most. If that is firm, the store gives no other thread a write lock of
//       it, nor, if it is reserved `alone`, a read lock; if it is not, to none but those that go first, and to those of
//       the same execution. A transaction that had locked it before may still write it, or let it go. Every transaction
//       may look at it. A reservation passes to a firm one, and to one that goes first.
//   S9  What a directory keeps beside the objects that are here, and at homes the pointers to those that are elsewhere,
//       has a bound (`limits`). These may be forgotten while nobody has them locked or reserved, and no reader asks for
//       an older value:
//         - at its home, an object that does not exist here. The highest version of those that were forgotten stays,
//           one for a shard: what has no entry has that, so whoever sees such an object missing takes no older time
//           than whoever saw it erased.
//         - elsewhere, one that does not exist here: its home is told, and owns it from then on.
//         - elsewhere, a pointer. If it was left by the object itself, the home is told where it leads, if it may not
//           have heard of it. So whatever a node has forgotten, the home knows, or will.
//
//   S10 What an object shows to those that look without the shard's lock (shown.hpp) is what it is: it is hidden before
//       it changes or is locked for writing, and before a commit draws the version that it is going to have.
//   S11 While an object is shown, its version and its bytes are there, and the entry may be behind: a commit in place
//       writes them without the shard's lock. So a thread with that lock looks at an entry once it is hidden
//       (hide() brings it up to date). A commit in place writes no object that anybody has locked or reserved or
//       watches, nor one of which there are old values, or may have to be: such an object is guarded.
//   S12 A node that was answered that it may keep a copy of an object is one of its *sharers* until it says that
//       it has none any more, of that grant or a later one, or is lost, and every node that is left has said so
//       (protocol/lost_nodes.hpp). Nobody locks an object for writing that has
//       sharers. A writer has them told; from then on nobody else becomes one until the object is written, or much
//       looked at. A grant is what the clock says, and later than any that a word of or to a sharer has been about: so
//       no word that comes late is about it. (copies.hpp is the other side.)
//   S13 Of a node that has come back, pointers of a version up to that of its return lead to what has ended. At its
//       home such an object is here, does not exist, and has the version of the return; elsewhere the pointer leads to
//       the new process, which knows nothing of the object, and so home. Of times before its return the new process
//       says nothing but what it knows to have been elsewhere then. A survey has all pointers that stay: what was asked
//       before a node was lost leaves none.
//
// Thread safety: every member. Nothing is done with a shard's lock held that waits, but for the lock of a shard of a
// higher number, which a commit at once takes after it; everything else takes one at a time.
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

/// Whom a store tells of changes: those who watch.
class audience {
public:
    virtual ~audience() = default;
    /// Blocks of these nodes may sleep until the object changes, and it has. Any thread, which may hold what orders
    /// commits: must not wait.
    virtual void changed(const object_id& id, std::span<const node_number> watchers) = 0;
    /// S9. This node is about to forget that `owner` has the object, from `version` on, and its home may not know.
    /// False: that cannot be said now. As above; a shard is locked, too.
    [[nodiscard]] virtual bool forgets(const object_id& id, node_number owner, std::uint64_t version) noexcept = 0;
    /// S12. That node has a copy, by that grant, which is in somebody's way. Any thread; must not wait. If nothing
    /// comes of it, it is called again.
    virtual void invalidate(const object_id& id, node_number sharer, std::uint64_t grant) noexcept = 0;
};

class store {
public:
    store(node_number self, node_number nodes, logical_clock& clock, snapshots& readers) noexcept
        : self_{self}, nodes_{nodes}, clock_{clock}, readers_{readers} {}

    /// Before there is anything.
    void tell(audience& whom) noexcept { audience_ = &whom; }

    /// S9. Of each shard, of which there are `shards`; those that may not be forgotten yet come on top.
    struct limits {
        std::size_t pointers = 16;  ///< beside as many as the shard has other entries
        std::size_t erased = 128;
    };
    static constexpr std::size_t shards = 64;
    /// Before there is anything.
    void limit(limits to) noexcept { limits_ = to; }

    /// Where a look has found an object, and how: the next one follows it. It holds nothing.
    struct place {
        shown* seen = nullptr;                ///< null: it is not shown
        std::uint64_t word = shown::nothing;  ///< that a look without a lock has seen there
    };
    /// The object as it is now, or was at time `at`. A transaction that looks holds no lock yet, so none of its own is
    /// in its way. REQUIRES: the clock has said `at`.
    void look(const object_id& id, wire::object_view& view, std::uint64_t at = wire::newest) {
        look(id, view, at, nullptr);
    }
    /// The same, by who may come back for it.
    void look(const object_id& id, wire::object_view& view, std::uint64_t at, place& found) {
        look(id, view, at, &found);
    }
    /// S12. The object as it is now, for that node, which may be told to keep it.
    void look_to_share(const object_id& id, wire::object_view& view, node_number with);
    /// S12. So many looks of other nodes at an object that none writes are enough at first for copies of it; what
    /// became of these makes it less or more. 0: there are no copies. Before there is anything.
    void share_after(unsigned looks) noexcept { share_after_ = static_cast<std::int16_t>(looks); }
    /// For a cluster of so many nodes: a copy is for one of them, which may never look again.
    [[nodiscard]] static constexpr unsigned usual_looks(node_number nodes) noexcept { return std::max(8u, 2u * nodes); }
    /// S12. Who has a copy is told that somebody wants to write the object.
    void invalidate(const object_id& id);
    /// S12. That node has no copy of that grant or an earlier one.
    void take_copy_back(const wire::invalidation& word, node_number from);
    /// The object as it is now, without a lock, if it is shown there. O(bytes). False: that takes a look.
    [[nodiscard]] bool look_again(place& found, const object_id& id, wire::object_view& view) const;
    /// The same, its value into `to` if it has that image; else false. The view has no bytes.
    [[nodiscard]] bool look_again(place& found, const object_id& id, const detail::image& to,
                                  wire::object_view& view) const noexcept;
    /// Whether it is here, of that version, and not locked for writing by anybody but `who`.
    [[nodiscard]] bool is_current(const object_id& id, std::uint64_t version, const transaction_name& who = {});
    /// `none`: it is locked. stale: it is not here, or has another version.
    [[nodiscard]] wire::obstacle lock_to_read(const object_id& id, std::uint64_t version, const transaction_name& who,
                                              const wire::precedence& as = {});
    [[nodiscard]] wire::obstacle lock_to_write(const object_id& id, std::uint64_t version, const transaction_name& who,
                                               const wire::precedence& as = {});
    void unlock(const object_id& id, const transaction_name& who) noexcept;

    /// S8, for its thread, unless it is elsewhere, or reserved for another that stays. Where it cannot be reserved, or
    /// that would be one `more` than may be, a firm one is told busy or too_large, and any other just looks. The view
    /// is that of now, with the bytes if `value`; busy also while somebody's lock is in the way, though the object is
    /// reserved by then. Whether it was not the thread's, and now is.
    [[nodiscard]] bool reserve(const object_id& id, const wire::reserve& how, bool more, wire::object_view& view);
    void end_reservation(const object_id& id, std::uint32_t thread) noexcept;

    /// S7. False: the object is not here in that version, or only a node that is gone could tell what becomes of it.
    [[nodiscard]] bool watch(const object_id& id, std::uint64_t version, node_number who);

    /// The decision for an object that `who` holds the write lock of: it gets the bytes, or ceases to exist, or is from
    /// now on on the node of `who`. Releases the lock. What was in `bytes` may be replaced by anything.
    void settle(const object_id& id, wire::action what, std::string&& bytes, std::uint64_t version,
                const transaction_name& who);

    struct share;
    static constexpr std::size_t most_at_once = 16;
    /// One object of a commit in place.
    struct spot {
        shown* at;
        std::uint64_t word;     ///< that a look has seen there
        detail::image written;  ///< what it will be; none: it is only read
    };
    /// The same as commit_at_once, without a lock of a shard, where every object is shown and free, is still what it
    /// was at the look, and stays as long as it is (S11). False: nothing has happened, and there may be another way.
    /// REQUIRES: each object once, one of them written. O(objects), with a read-modify-write of one word for each that
    /// is written, and one of the clock.
    [[nodiscard]] bool commit_in_place(std::span<const spot> all, std::uint64_t& version) noexcept;
    /// All of a commit that takes part in nothing but objects of this node: validates, draws the version, installs. The
    /// locks of the shards are held meanwhile, in the place of locks of the objects. Anything but `none`: nothing has
    /// happened. Throws std::bad_alloc, and nothing has happened. REQUIRES: no more than `most_at_once`, each object
    /// once. O(objects), and as many shards at most are locked.
    [[nodiscard]] wire::obstacle commit_at_once(std::span<share> all, const transaction_name& who,
                                                const wire::precedence& as, std::uint64_t& version);
    /// An object arrives. REQUIRES: the decision is made, and its former owner still holds it locked, or has let it go
    /// by this decision.
    void install(const object_id& id, bool exists, const std::string& bytes, std::uint64_t version, node_number from);
    /// A node says which one owns it. Ignored where something newer is known. `home_knows`: it was the home.
    void point(const object_id& id, node_number owner, std::uint64_t version, bool home_knows = false);
    /// The same of an answer to what was asked when losses() said that. S13: ignored if a node was lost since.
    void point_as_answered(const object_id& id, node_number owner, std::uint64_t version, bool home_knows,
                           std::uint64_t losses);
    /// S9. A node forgets an object that was erased there: it is here now. REQUIRES: this is its home.
    void take_back(const object_id& id, std::uint64_t version, node_number from);

    /// A node is gone: what its transactions have locked stays so, and is in doubt. Until then `is_lost` is false.
    void lose(node_number node) noexcept {
        has_copies_[node % lost_.size()].store(!broken(fault::forget_lost_sharers), std::memory_order_seq_cst);
        await(node);
        readers_.lose(node);
    }
    [[nodiscard]] bool is_locked_by(const object_id& id, const transaction_name& writer);
    /// It is locked for a node that is gone. The blocks that sleep over it are told to look.
    void doubt(const object_id& id);
    [[nodiscard]] bool is_lost(node_number node) const noexcept {
        return lost_[node % lost_.size()].load(std::memory_order_seq_cst);
    }
    /// That node was asked to let the object move here, and is gone: whether it is to be here nobody knows, and it is
    /// not.
    void never_came(const object_id& id, node_number from);
    /// Of what a look has found elsewhere: whoever was sent here for an object that never came is told who had it.
    void explain(const object_id& id, wire::object_view& view);

    // ---- S13: nodes that come back (returning.cpp)

    /// S12. A node that is lost counts as a sharer until this is called (lost_nodes.hpp).
    void forget_copies_of(node_number node) noexcept {
        has_copies_[node % lost_.size()].store(false, std::memory_order_seq_cst);
    }
    /// The first name of a transaction of the process that has, or had, that number.
    [[nodiscard]] std::uint64_t first_of(node_number node) const noexcept {
        return first_of_[node % first_of_.size()].load(std::memory_order_relaxed);
    }
    /// Nothing is asked of that node until `admit`. seq_cst: partner of ties, which counts first and looks then.
    void await(node_number node) noexcept {
        lost_[node % lost_.size()].store(true, std::memory_order_seq_cst);
        losses_.fetch_add(1, std::memory_order_relaxed);  // partner: point_as_answered
    }
    /// Of other nodes, so far.
    [[nodiscard]] std::uint64_t losses() const noexcept { return losses_.load(std::memory_order_acquire); }
    /// Whose transactions from `first` on are of a process that runs: those before are of one that is gone.
    void admit(node_number node, std::uint64_t first) {
        forget_sharer(node);
        forget_copies_of(node);
        first_of_[node % first_of_.size()].store(first, std::memory_order_relaxed);
        lost_[node % lost_.size()].store(false, std::memory_order_seq_cst);
    }
    /// Whether the process that ran it is gone.
    [[nodiscard]] bool is_gone(const transaction_name& who) const noexcept {
        return is_lost(who.node) || is_former(who);
    }
    /// Whether another process has that node's number since.
    [[nodiscard]] bool is_former(const transaction_name& who) const noexcept {
        return who.sequence < first_of_[who.node % first_of_.size()].load(std::memory_order_relaxed) &&
               !broken(fault::forget_who_has_gone);
    }
    /// It has ended, as far as is known of it up to `seen`: it does not exist, in that version. REQUIRES: this is its
    /// home.
    void end_here(const object_id& id, std::uint64_t seen, std::uint64_t version);
    /// All that it knows of objects that are elsewhere, or have their home there: who owns them, from which version on.
    [[nodiscard]] std::vector<wire::place> survey();
    /// What has its home here and is `elsewhere` is there; all else does not exist, in that version. REQUIRES: this is
    /// a new node, and no other has asked it for anything.
    void begin_anew(std::uint64_t version, std::span<const wire::place> elsewhere);
    /// What a former process of that node owned up to that version has ended with it. Its home says so: this one.
    void end_former(node_number node, std::uint64_t version);
    /// The owner, as far as this node knows: the home, where it knows no other.
    [[nodiscard]] node_number owner_of(const object_id& id);
    /// How many there are. Each number is of one moment for each shard.
    struct figures {
        std::uint64_t objects = 0;  ///< that exist here
        std::uint64_t entries = 0;  ///< these, pointers, and what is left of those that were erased
        std::uint64_t old_values = 0, old_bytes = 0;
        std::uint64_t outranked = 0;   ///< locks that were not given, since the object was reserved
        std::uint64_t given_way = 0;   ///< times that a transaction which goes first took what another had reserved
        std::uint64_t shared = 0;      ///< objects that other nodes have copies of
        std::uint64_t never_came = 0;  ///< that were to move here from a node that is gone
    };
    [[nodiscard]] figures count();
    /// Calls f(id, bytes) for each object that exists here. For checks when nothing runs.
    void each(const std::function<void(const object_id&, const std::string&)>& f);

private:
    static constexpr node_number nobody = 0xffff;

    /// What an object was here in the times [from, to).
    struct past {
        std::uint64_t from = 0;
        std::uint64_t to = 0;
        node_number came_from = nobody;
        bool exists = false;
        std::string bytes;
        /// Of whom the decision to move it away is still to come, though the object is back already: it will say `to`.
        transaction_name leaver{};
    };
    struct object {
        bool here = false;
        bool exists = false;
        node_number owner = 0;
        node_number came_from = nobody;  ///< who owned it before `version`, if another node did
        std::uint64_t version = 0;
        transaction_name writer;
        std::uint64_t locked_at = 0;  ///< what the clock said when `writer` came: its version will be higher
        std::vector<transaction_name> readers;
        std::string bytes;
        std::unique_ptr<std::deque<past>> history;  ///< S5, oldest first; null rather than empty
        std::size_t kept_bytes = 0;                 ///< what they take
        bool home_knows = true;                     ///< of a pointer: that it leads there
        bool listed = false;                        ///< among the pointers, or the erased
        bool is_shown = false;                      ///< S10
        shown* seen = nullptr;                      ///< where; null: nobody has asked for it
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
        std::uint32_t given = 0;  ///< copies
        std::uint64_t looks = 0;  ///< that those have answered which are back
    };
    /// S12. Of objects of one hash.
    struct look_count {
        std::int16_t looks = 0;   ///< of other nodes, since one of them was written
        std::int16_t enough = 0;  ///< for copies; 0: nothing is known yet
    };
    using shared_objects = std::unordered_map<object_id, sharers, object_id_hash>;
    static constexpr std::size_t look_counts = 64;
    struct alignas(64) shard {
        base::lock guard;
        std::unordered_map<object_id, object, object_id_hash> objects;
        std::uint64_t drops = 0;  ///< entries that it has dropped: what a commit at once has found may be one of them
        std::unordered_map<object_id, watchers, object_id_hash> watched;      ///< S7
        std::unordered_map<object_id, reservation, object_id_hash> reserved;  ///< S8
        shared_objects shared;                                                ///< S12
        std::unordered_map<object_id, node_number, object_id_hash> never_came;
        std::array<look_count, look_counts> looks{};
        std::uint64_t no_grant_until = 0;  ///< S12: the clock has said more
        std::deque<object_id> kept;        ///< those with a history, and some that had one
        // S9. Whoever is here may be something else by now, or gone.
        std::deque<object_id> pointers, erased;
        std::size_t changes_until_look = 0;  ///< at the erased
        std::uint64_t version_of_absent = 0;
        std::deque<shown> all_shown;  ///< W4
        shown* spare_shown = nullptr;
        figures count;  ///< but for the entries, which the map counts
    };
    /// Keeps count of the objects that exist here, and hides one, over its change.
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
    /// Hides one that does not change meanwhile.
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
    /// S10, S11.
    static void hide(object& o) noexcept {
        if (!o.is_shown) return;
        o.seen->close();
        o.is_shown = false;
        if (o.seen->version() == o.version || broken(fault::trust_the_entry)) return;
        o.version = o.seen->version();
        o.seen->copy_to(o.bytes);  // of the size that it had: needs no memory
    }
    /// S10, if it is to be seen. REQUIRES: it is hidden.
    static void show(const shard& s, const object_id& id, object& o) noexcept {
        const bool is_seen = !o.writer.exists() || broken(fault::show_what_is_locked);
        if (o.seen == nullptr || !o.here || !is_seen || o.bytes.size() > shown::most) return;
        o.seen->show(o.exists, o.version, o.bytes, is_guarded(s, id, o));
        o.is_shown = true;
    }
    /// REQUIRES: it was shown before it was hidden, and nothing has changed since.
    static void show_again(object& o) noexcept {
        o.seen->reopen();
        o.is_shown = true;
    }
    /// S11.
    [[nodiscard]] static bool is_guarded(const shard& s, const object_id& id, const object& o) noexcept;
    /// Has it shown from now on, while it may be.
    static void begin_to_show(shard& s, const object_id& id, object& o);

    shard& shard_of(const object_id& id) noexcept { return shards_[(object_id_hash{}(id) >> 20) % shards_.size()]; }
    /// The entry, made if there is none: of an object that was never written, at its home; else a pointer there.
    object& entry(shard& s, const object_id& id);
    void erase(shard& s, const object_id& id);
    void look(const object_id& id, wire::object_view& view, std::uint64_t at, place* found);
    void look_locked(shard& s, const object_id& id, wire::object_view& view, std::uint64_t at, place* found);
    /// S12. REQUIRES: it is here, exists, and is locked for writing by nobody.
    [[nodiscard]] bool give_copy(shard& s, const object_id& id, object& o, node_number with, std::uint64_t grant);
    /// S12. But for those that are lost, and count no more.
    [[nodiscard]] bool has_sharers(shard& s, const object_id& id) const {
        return !s.shared.empty() && !broken(fault::write_beside_copies) && find_sharers(s, id);
    }
    [[nodiscard]] bool find_sharers(shard& s, const object_id& id) const;
    /// S12. REQUIRES: that node is lost.
    void forget_sharer(node_number node);
    /// S12. No node has a copy of it any more.
    static void end_sharing(shard& s, shared_objects::iterator at);
    [[nodiscard]] look_count& looks_at(shard& s, const object_id& id) const noexcept {
        look_count& c = s.looks[(object_id_hash{}(id) >> 30) % look_counts];
        if (c.enough == 0) c.enough = share_after_;
        return c;
    }
    /// It is written: whoever had a copy has none any more.
    void begin_to_count_looks(shard& s, const object_id& id) noexcept {
        if (share_after_ == 0) return;
        looks_at(s, id).looks = 0;
        s.shared.erase(id);
    }
    /// What keeps that transaction, which has read that version, from a lock: `none` if nothing does.
    [[nodiscard]] static wire::obstacle before_reader(shard& s, const object_id& id, const object& o,
                                                      std::uint64_t version, const transaction_name& who,
                                                      const wire::precedence& as);
    [[nodiscard]] wire::obstacle before_writer(shard& s, const object_id& id, object& o, std::uint64_t version,
                                               const transaction_name& who, const wire::precedence& as);
    class locked_shards;
    [[nodiscard]] wire::obstacle before(share& of, const transaction_name& who, const wire::precedence& as);
    /// Installs what is written, unlocks, and tells of it. As the decisions of other commits, it has no way to fail.
    void install_at_once(std::span<share> all, const transaction_name& who, std::uint64_t version,
                         locked_shards& hold) noexcept;
    void tidy(std::span<share> all);
    /// Whether it keeps a lock from that transaction.
    [[nodiscard]] static bool keeps_out(shard& s, const object_id& id, const transaction_name& who,
                                        const wire::precedence& as, bool to_write) noexcept;
    /// The reservation, made or taken over if it may be; null where it is another's, and stays so, or would be one
    /// `more` than may be. `fresh`: it was not the thread's before.
    [[nodiscard]] static reservation* take_reservation(shard& s, const object_id& id, const wire::reserve& how,
                                                       bool more, bool& fresh);
    /// Version of an object without an entry, at its home.
    [[nodiscard]] static std::uint64_t version_of_absent(const shard& s) noexcept {
        return broken(fault::forget_the_version) ? 0 : s.version_of_absent;
    }
    /// S9, for an entry that has changed: lists or drops it, and drops some of those that are listed. It may drop `o`,
    /// and any other that no transaction has locked.
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
    /// False: not now.
    [[nodiscard]] bool drop(shard& s, const object_id& id, object& o);
    [[nodiscard]] bool is_held(const object& o) const noexcept {
        return o.writer.exists() && !(broken(fault::free_what_is_in_doubt) && is_gone(o.writer));
    }
    /// S13. Of a time: whether a former process of this node has kept what was there then. A reader that is
    /// sent on from here may be sent back, for ever.
    [[nodiscard]] bool is_of_former(std::uint64_t time) const noexcept {
        return time < returned_at_ && !broken(fault::send_on_to_the_past);
    }
    /// S13. Of a pointer: whether it leads to what has ended.
    [[nodiscard]] bool is_of_former(const object& o) const noexcept {
        const std::uint64_t ended = ended_[o.owner % ended_.size()].load(std::memory_order_acquire);
        return ended != 0 && o.version <= ended && !broken(fault::believe_former_pointers);
    }
    /// The same, where this is the home, which has to say so.
    [[nodiscard]] bool ends_here(const object_id& id, const object& o) const noexcept {
        return !o.here && is_of_former(o) && home_of(id, nodes_) == self_;
    }
    [[nodiscard]] std::uint64_t ended_version(const object& o) const noexcept {
        return ended_[o.owner % ended_.size()].load(std::memory_order_relaxed);
    }
    void end_locked(shard& s, const object_id& id, object& o, std::uint64_t version);
    void point_locked(shard& s, const object_id& id, const wire::place& to, bool home_knows);
    [[nodiscard]] bool is_still(const shard& s, const object_id& id, std::uint64_t version) const;
    [[nodiscard]] bool reserve_locked(shard& s, const object_id& id, object& o, const wire::reserve& how, bool more,
                                      wire::object_view& view);
    void install_locked(shard& s, const object_id& id, object& o, bool exists, const std::string& bytes,
                        std::uint64_t version, node_number from);
    void settle_locked(shard& s, const object_id& id, object& o, wire::action what, std::string& bytes,
                       std::uint64_t version, const transaction_name& who);
    /// S7: who is to be told when the shard is no longer locked.
    [[nodiscard]] static watchers take_watchers(shard& s, const object_id& id) {
        return s.watched.empty() ? watchers{} : take_these_watchers(s, id);
    }
    [[nodiscard]] static watchers take_these_watchers(shard& s, const object_id& id);
    void tell(const object_id& id, const watchers& whom) const {
        if (!whom.empty()) audience_->changed(id, whom);
    }
    void look_back(const object& o, wire::object_view& view, std::uint64_t at) const;
    /// Keeps the value that ends at `version`, if anybody may ask for it, and forgets what nobody asks for any more.
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
    std::array<std::atomic<bool>, most_nodes> has_copies_{};  ///< S12: of those that are lost
    std::atomic<std::uint64_t> losses_{0};
    std::atomic<bool> some_never_came_{false};
    std::uint64_t returned_at_ = 0;                                  ///< S13: this node
    std::array<std::atomic<std::uint64_t>, most_nodes> first_of_{};  ///< transactions of the process that runs
    std::array<std::atomic<std::uint64_t>, most_nodes> ended_{};     ///< S13: what was there up to that version
};

inline bool store::look_again(place& found, const object_id& id, wire::object_view& view) const {
    if (found.seen == nullptr || !found.seen->see(id, clock_, view, found.word)) return false;
    view.where = wire::whereabouts::here;
    view.owner = self_;
    return true;
}

TUTTI_ALWAYS_INLINE bool store::look_again(place& found, const object_id& id, const detail::image& to,
                                           wire::object_view& view) const noexcept {
    if (found.seen == nullptr || !found.seen->see(id, clock_, to, view, found.word)) return false;
    view.where = wire::whereabouts::here;
    view.owner = self_;
    return true;
}

/// One object of a commit at once.
struct store::share {
    const object_id* id;
    std::uint64_t version;  ///< that was read
    std::string* fresh;     ///< null: it is only read. As `settle` has it
    wire::action what;
    // The store's.
    shard* in = nullptr;
    object* at = nullptr;
    std::uint64_t drops = 0;  ///< `at` is the entry for as long as its shard has dropped no more
    watchers told{};          ///< of its change
};

}  // namespace tutti::cluster
