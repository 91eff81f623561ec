// TFA, the requester's side: reads at a time of the logical clock, snapshot extension, and commit by locks in at most
// two phases.
//
// Invariants (docs/cluster-protocol.md proves opacity from them):
//   TXN1  For each read there was a moment at which the version that was read was current, the object was not locked
//       for writing, and its owner's clock was `time()` or more. For a read of a copy, this node's clock counts instead
//       (object_cache.hpp, OBC1 and OBC2).
//   TXN2  No read has a version beyond `time()`.
//   TXN3  Before prepare, and after a failed prepare, no object is locked.
//   TXN4  After a conflict, TXN1 and TXN2 hold for the first `valid_prefix()` entries, at the new `time()`. If TXN1 and
//       TXN2 hold for some entries, they hold for every prefix of these. So the latest part of an attempt may be rolled
//       back alone.
//
// A *snapshot reader* reads its first object as it is now. This read fixes `time()`, and every other object is read as
// it was at that time. A snapshot reader validates nothing, never starts over because of other transactions' commits,
// and may not write.
//
// A *reserving* transaction excludes the transactions that it precedes: objects that it opens are reserved for it.
// Since the reservation may pass to another transaction, all general rules apply to a reserving transaction, too
// (docs/cluster-protocol.md, "Contention").
//
// An *irrevocable* transaction is that of an irrevocable block: objects that it opens are reserved for it. So its reads
// stay current, and its prepare soon succeeds (docs/cluster-protocol.md, "Irrevocable blocks").
//
// A transaction object belongs to one thread, which uses it for one attempt after another.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "cluster/ordering/precedence.hpp"
#include "cluster/protocol/commit_references.hpp"
#include "cluster/protocol/entry_table.hpp"
#include "cluster/protocol/network.hpp"
#include "cluster/protocol/protocol_node.hpp"
#include "tutti/cluster/fast_path.hpp"
#include "tutti/cluster/status.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster {

/// How often a busy or moving object is requested before the attempt gives up.
inline constexpr unsigned max_lookups = 24;

enum class protocol_status : std::uint8_t {
    good,
    conflict,   ///< another transaction was first: run again
    lost,       ///< a needed node is lost; `lost_node` says which. Nothing has happened
    too_large,  ///< too large for a message: the block can never commit. Nothing has happened
    uncertain,  ///< a node was lost after it was asked to commit. Whether it has committed is unknown here
};

/// The reads of a body that are not reads of objects: those of local variables.
class local_reads {
public:
    virtual ~local_reads() = default;
    /// Returns true if these reads are valid: all were current at one moment when the node's clock was `at` or more.
    /// Moreover, no value in the snapshot of local variables was committed when the clock was more than `at`. The body
    /// may read further values of this snapshot without another call. May raise `at` to achieve this.
    virtual bool validate(std::uint64_t& at) = 0;
};

class named_lock_client;

class distributed_transaction {
public:
    distributed_transaction(protocol_node& node, network& net, std::uint16_t slot,
                            local_reads* other = nullptr) noexcept
        : node_{node},
          network_{net},
          local_reads_{other},
          name_{node.self, slot, node.last_former_name},
          references_{node} {}
    ~distributed_transaction() {
        discard_prefetched();
        end_snapshot();
    }

    /// Begins an attempt at the current clock. Returns false if the local reads are not valid. `without_local_reads`:
    /// there are no local reads.
    [[nodiscard]] bool begin(bool snapshot = false, bool without_local_reads = false);
    /// Continues a fast-path attempt, as if this transaction had begun at that attempt's time, alone, and had opened
    /// the same objects.
    /// REQUIRES: is_clean; the entries' slots are those of the fast-path attempt's objects.
    void take_over(const detail::fast_path_attempt& from) noexcept;
    /// Returns true if `begin` has nothing to clean up, and the next objects may be fast-path objects.
    [[nodiscard]] bool is_clean() const noexcept { return is_clean_; }
    /// Returns the caller's data of entry number i, whatever its object, or null if there is none.
    [[nodiscard]] void* entry_data_of(std::size_t i) const noexcept {
        return i < entries_.allocated() ? entries_[i].entry_data : nullptr;
    }
    /// Sets the attempt's contention behavior until the next begin. A snapshot reader blocks no transaction, so it
    /// reserves nothing.
    void set_behavior(const contention_behavior& how) noexcept;
    [[nodiscard]] bool has_reservations() const noexcept { return behavior_.reserve_for != nullptr; }
    /// Returns how often this attempt has waited for another transaction to release an object.
    [[nodiscard]] unsigned wait_count() const noexcept { return wait_count_; }
    /// Returns true if the last prepare failed because of a transaction that has precedence.
    [[nodiscard]] bool was_outranked() const noexcept { return refusal_ == wire::lock_refusal::outranked; }
    /// Ends a snapshot reader's claim to old values: all nodes may now forget the values at the reader's time. So a
    /// later `open` may fail, because no node has the object's value at that time any more.
    void end_snapshot() noexcept {
        if (snapshot_entered_) leave_snapshot();
    }
    [[nodiscard]] bool is_snapshot() const noexcept { return snapshot_; }
    /// Makes the transaction irrevocable until the next begin: all open objects, and all that will be opened, are
    /// reserved for `hold`. After the transaction, the caller has to release `hold`. Returns `conflict` if an open
    /// object is not current or stays locked; the transaction is then not irrevocable. In an irrevocable transaction,
    /// `open` returns `conflict` only if an object is busy, and the caller may repeat the call. extend_snapshot and
    /// prepare return `conflict` only because of reads of local variables. REQUIRES: not a snapshot reader; the hold
    /// has the irrevocable token.
    [[nodiscard]] protocol_status reserve_irrevocably(named_lock_client& hold);
    [[nodiscard]] bool is_irrevocable() const noexcept { return irrevocable_hold_ != nullptr; }
    /// Returns the object's entry if this attempt has opened it, or null. Valid until the next begin.
    [[nodiscard]] TUTTI_ALWAYS_INLINE object_entry* find(const object_id& id) noexcept { return entries_.find(id); }
    /// Records that the object may be shown in `at`. The next `open` of the object can then read `at` directly.
    void set_location_hint(const object_id& id, seqlock_object& at) noexcept { location_hint_of(id) = &at; }
    /// Opens the objects that are not open, in one round trip if they are where they are expected. If open,
    /// extend_snapshot or watch returns `conflict`, the caller has to call begin, or has to remove all invalid entries
    /// by roll_back_to (`valid_prefix`). An irrevocable transaction may repeat open instead.
    [[nodiscard]] protocol_status open(std::span<const object_id> ids);
    /// Requests the objects that are on other nodes and not open, without waiting. The first `open` of one of these
    /// objects waits for the answers, and opens all requested objects that are found where they are expected. Before a
    /// new request, opens the objects of an earlier request that are still pending. A transaction that reserves objects
    /// opens them immediately instead.
    [[nodiscard]] protocol_status prefetch(std::span<const object_id> ids);
    /// Moves `time()` to `to` or more if every read is still current. Checks only reads that are not known to have been
    /// current at that time. `all_reads`: checks all reads as of now.
    [[nodiscard]] protocol_status extend_snapshot(std::uint64_t to, bool all_reads = false);

    /// Prepares the caller's sleep until one of the objects changes. Checks that all open objects are current, and has
    /// their owners report the next change of each. Returns `conflict` if an object has changed already.
    [[nodiscard]] protocol_status watch();

    /// Returns how many entries, in the order of opening, are valid (TXN4) after open, extend_snapshot or watch has
    /// returned `conflict`. The next entry is stale. If all entries are valid, the object to be opened was unavailable.
    /// Returns nothing if the local reads are not valid, or the snapshot is too old. In these cases no entry is known
    /// to be current.
    [[nodiscard]] std::optional<std::size_t> valid_prefix() const noexcept { return valid_prefix_; }
    /// Forgets all entries but the first `kept`, which belong to the blocks that are not rolled back.
    void roll_back_to(std::size_t kept) noexcept;

    /// Acquires all locks. `decisive`: no other participant's vote is needed, so one message may both lock and decide.
    /// A decisive prepare may also wait for transactions that have precedence, since it holds no locks meanwhile. After
    /// `good`, commit() or abort() must follow. After any other outcome, nothing is held.
    [[nodiscard]] protocol_status prepare(bool decisive);
    /// Tries an in-place commit, which a decisive prepare does first. Returns false if nothing has happened; another
    /// kind of commit may then succeed.
    [[nodiscard]] bool prepare_in_place() noexcept;
    void commit();
    void abort();

    [[nodiscard]] const wire::transaction_name& name() const noexcept { return name_; }
    [[nodiscard]] std::uint64_t time() const noexcept { return time_; }
    [[nodiscard]] bool writes() const noexcept;
    /// Returns true between a successful prepare and commit or abort.
    [[nodiscard]] bool is_prepared() const noexcept { return prepared_; }
    [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
    [[nodiscard]] std::span<const std::unique_ptr<object_entry>> entries() const noexcept { return entries_.all(); }
    /// Returns true if the answer to prepare was the decision. In that case abort() may not follow.
    [[nodiscard]] bool is_decided() const noexcept { return decided_; }
    [[nodiscard]] node_number lost_node() const noexcept { return lost_; }
    /// Returns the reason of the last outcome that was not good.
    [[nodiscard]] rollback_reason why() const noexcept { return why_; }
    /// Returns the version of the last commit, or of the prepared one.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

private:
    struct object_lookup {
        object_id id;
        node_number at;
        unsigned hops = 0;
        bool busy = false;        ///< as of the latest read
        bool guessed = false;     ///< a pointer of this node has named `owner`, and no answer has confirmed it yet
        node_number owner = 0;    ///< the latest owner that was named
        std::uint64_t since = 0;  ///< the version at which that owner got the object
        object_directory::lookup_hint found{};  ///< the hint of the latest read here
        bool in_copy = false;                   ///< true if the latest read used a copy
        std::uint64_t invalidations = 0;        ///< number of invalidations before the owner was asked (OBC3)
        std::uint64_t losses = 0;               ///< number of node losses before another node was asked (DIR13)
    };

    /// Returns the ids that are not open, each once, with this node as the first node to ask. O(ids).
    [[nodiscard]] std::vector<object_lookup> lookups_of_unopened(std::span<const object_id> ids);
    protocol_status locate(std::vector<object_lookup>& wants);
    /// Returns the node to ask first for an object that is not here, according to this node's directory.
    [[nodiscard]] object_lookup first_lookup(object_lookup w, const wire::object_view& view) const;
    protocol_status open_prefetched();
    void discard_prefetched() {
        if (!prefetched_.objects.empty()) cancel_prefetch();
    }
    void cancel_prefetch();
    /// Records whether the next object may be a *fast-path object*. Such an object is here and shown, and opening it
    /// needs neither a snapshot extension nor a message. Three cases exclude this. A reserved object needs a message to
    /// its owner. The first object of a snapshot reader fixes its time. All prefetched objects are opened together with
    /// the first of them.
    void update_fast_path() noexcept {
        opens_on_fast_path_ = hold() == nullptr && (!snapshot_ || !entries_.empty()) && prefetched_.objects.empty();
    }
    [[nodiscard]] bool open_by_hint(const object_id& id);
    void leave_snapshot() noexcept;
    /// Reads this node's copy of the object. Returns false if there is no valid copy.
    [[nodiscard]] bool read_copy(const object_id& id, wire::object_view& view);
    void record_before_asking(std::span<object_lookup> objects);
    /// Reads the object on this node. Adds it to `again` if it has to be read again. Adds it to `remote`,
    /// with the node to ask next, if it is elsewhere.
    protocol_status read_here(const object_lookup& w, std::vector<object_lookup>& again,
                              std::vector<object_lookup>& remote);
    /// Sends one query to each node, and returns the nodes' views of the objects in `views`, in their order.
    /// `body_of` encodes a query. Ends at the first node that does not answer.
    /// REQUIRES: `objects` is sorted by node.
    template <class BodyOf>
    protocol_status query_nodes(std::span<const object_lookup> objects, wire::message_type what, BodyOf&& body_of,
                                std::vector<wire::object_view>& views);
    template <class BodyOf>
    void make_queries(std::span<const object_lookup> objects, wire::message_type what, BodyOf&& body_of,
                      std::vector<call>& calls, std::vector<std::size_t>& asked) const;
    protocol_status collect_views(std::span<const call> calls, std::span<const std::size_t> asked,
                                  std::vector<wire::object_view>& views);
    /// Queries the nodes as query_nodes does, and has them reserve the objects.
    protocol_status request_reservations(std::span<const object_lookup> objects, wire::reserve what,
                                         named_lock_client& hold, std::vector<wire::object_view>& views);
    /// Has open objects reserved: all of them, or only the written ones if `before_write`. A request that is both
    /// irrevocable and `before_write` is repeated until it succeeds.
    protocol_status reserve_open(named_lock_client& hold, bool irrevocable, bool before_write);
    /// Returns the hold for which objects are reserved now, or null.
    [[nodiscard]] named_lock_client* hold() const noexcept {
        if (irrevocable_hold_ != nullptr) return injected(fault::open_without_reserving) ? nullptr : irrevocable_hold_;
        return behavior_.reserve_for;
    }
    [[nodiscard]] wire::precedence precedence() const noexcept;
    /// Returns the message for owners when an object is opened.
    /// REQUIRES: hold().
    [[nodiscard]] wire::reserve reservation_request() const;
    /// Prepares a transaction that is not irrevocable.
    protocol_status lock_with_retries(bool decisive);
    /// Returns true if a failed prepare may be repeated.
    [[nodiscard]] bool may_wait(bool decisive) const noexcept;
    /// Compares an entry with its owner's view. Adds the object to `again` if it has to be requested again.
    protocol_status compare(const object_lookup& w, const wire::object_view& view, std::vector<object_lookup>& again);
    /// Acquires the locks of one prepare.
    protocol_status lock_all(bool decisive);
    /// Returns true if this node owns all open objects, and they are few enough.
    [[nodiscard]] bool may_commit_locally() const noexcept;
    protocol_status commit_locally();
    /// Encodes `fresh` of the entries whose values are copied.
    void encode();
    protocol_status fail_refused(node_number by, wire::lock_refusal why) noexcept {
        is_clean_ = false;
        refused_by_ = by;
        refusal_ = why;
        return fail_with(rollback_reason::prepare_refused);
    }
    /// Returns true if a message with that body and that many objects may be sent.
    [[nodiscard]] bool fits(const std::string& body, std::size_t objects) const noexcept {
        return body.size() <= node_.max_message_bytes && objects <= wire::max_elements;
    }
    /// Processes the view of an object. `view` is in next_entry() or in another place, and its content may be moved
    /// out.
    protocol_status take_view(const object_lookup& w, wire::object_view& view, std::vector<object_lookup>& again);
    /// Returns the node to ask next for an object that is not at `w.at`.
    [[nodiscard]] object_lookup next_lookup(object_lookup w, const wire::object_view& view);
    /// Records a conflict that leaves the first `prefix` entries valid.
    protocol_status fail_with(rollback_reason why, std::optional<std::size_t> prefix = std::nullopt) noexcept {
        why_ = why;
        valid_prefix_ = prefix && injected(fault::overlook_stale_read) ? entries_.size() : prefix;
        return protocol_status::conflict;
    }
    protocol_status fail_node_lost(node_number node) noexcept {
        lost_ = node;
        why_ = rollback_reason::node_lost;
        return protocol_status::lost;
    }
    /// Records that an object is in doubt, because `view.owner`, the node whose process has locked the object, is lost.
    /// `view.owner` may be this node, because a former process of this node may have locked the object. If no such
    /// process can exist, the node `asked`, which sent the answer, is treated as lost instead.
    protocol_status fail_in_doubt(const wire::object_view& view, node_number asked) noexcept {
        const bool there_is = view.owner < node_.nodes && (view.owner != node_.self || node_.is_successor());
        return fail_node_lost(there_is ? view.owner : asked);
    }
    [[nodiscard]] std::uint64_t read_time() const noexcept {
        return snapshot_ && !entries_.empty() && !injected(fault::newest_for_old_time) ? time_ : wire::newest;
    }
    /// Returns the entry for the next object to be opened.
    [[nodiscard]] object_entry& next_entry() {
        if (entries_.size() == entries_.allocated()) entries_.allocate();
        return entries_[entries_.size()];
    }
    object_entry& add(const object_id& id, const object_directory::lookup_hint& found);
    static constexpr std::size_t max_location_hints = 256;  // the number of values of a hash's highest 8 bits
    /// Returns where an object was shown when this thread last opened one of the same hash.
    [[nodiscard]] seqlock_object*& location_hint_of(const object_id& id) noexcept {
        // A cheap hash is enough, because a collision only costs a read.
        const std::uint64_t mixed = (id.high ^ id.low) * 0x9e3779b97f4a7c15u;
        return location_hints_[mixed >> 56];
    }
    /// Asks the owners of the entries that `concerns` selects whether each has the version that was read. Calls `here`
    /// for entries of this node, and sends one message of type `what` to each other node. Sets `current` to the number
    /// of entries before the first stale one; entries that are not selected count as current. Returns `conflict` if an
    /// entry is stale.
    template <class Concerns, class Here>
    protocol_status query_owners(wire::message_type what, Concerns&& concerns, Here&& here, std::size_t& current);
    /// Returns true if a value that was read in a copy of this node is still in that copy. If not, only the owner knows
    /// whether the value is current.
    [[nodiscard]] bool is_valid_in_copy(object_entry& e);
    /// Drops this node's copy of an object that is about to be written.
    void drop_copy(const object_entry& e);
    wire::action action_for(const object_entry& e) const noexcept;
    /// Makes the part of a prepare for each node that owns an open object.
    void make_parts();
    void install_moved();
    void notify_homes();

    protocol_node& node_;
    network& network_;
    local_reads* const local_reads_;
    transaction_name name_;
    std::uint64_t time_ = 0;
    bool snapshot_ = false;
    bool opens_on_fast_path_ = false;
    bool is_clean_ = false;
    named_lock_client* irrevocable_hold_ = nullptr;
    contention_behavior behavior_;
    unsigned wait_count_ = 0;
    node_number refused_by_ = 0;
    wire::lock_refusal refusal_{};  ///< the most severe refusal of the last prepare
    std::optional<std::size_t> valid_prefix_;
    std::optional<std::uint64_t> snapshot_entered_;  ///< the time that snapshot_tracker::leave requires
    std::uint64_t version_ = 0;
    node_number lost_ = 0;
    rollback_reason why_ = rollback_reason::other;

    entry_table entries_;
    std::array<seqlock_object*, max_location_hints>
        location_hints_{};  // by hash; a later object replaces an earlier one

    /// Returns true if the participants decide together (CMT10). `remote` is the number of other nodes with a part.
    [[nodiscard]] bool is_decided_by_all(bool decisive, std::size_t remote) const noexcept;
    [[nodiscard]] bool withdraw();
    void list_participants(prepare_part& to) const;
    std::vector<prepare_part> parts_;
    commit_references references_;
    std::vector<call> calls_;
    // These vectors are members so that each call reuses their memory.
    std::vector<object_lookup> retry_, remote_;
    std::vector<object_directory::local_write> local_writes_;
    struct prefetched_objects {
        std::vector<object_lookup> objects;
        std::vector<call> calls;
        std::vector<std::size_t> asked;  // the number of objects of each call
    };
    prefetched_objects prefetched_;
    bool prepared_ = false;
    bool decided_ = false;  // true if the answer to prepare was the decision
};

}  // namespace tutti::cluster
