// Acquires a block's abstract locks and, if the block is irrevocable, the token and the reservations of its objects.
#include "cluster/participant/enlistment.hpp"
#include "cluster/participant/peer_node.hpp"

namespace tutti::cluster {

void enlistment::acquire(std::span<const named_lock> locks) {
    if (descriptor_.must_commit()) {
        throw usage_error{
            "tutti: an irrevocable transaction asks for an abstract lock by name, whose holder on another node cannot "
            "be made to give it up: take it in a block of its own"};
    }
    ensure_joined();
    std::vector<wire::claim_item> items;
    for (const named_lock& l : locks) items.push_back({l.name, l.shared});
    const protocol_status o = named_locks_.acquire(items, root_execution());
    if (o == protocol_status::good) return;
    if (o != protocol_status::conflict) fail_to_lock(o);
    record_conflict(rollback_reason::busy);
    api::restart_attempt(descriptor_);
}

/// Returns the name of the hold of the outermost block. This block acquires its locks with this name, so that they do
/// not conflict with the locks of the blocks around it.
const transaction_name& enlistment::root_execution() const {
    core::descriptor* outermost = &descriptor_;
    while (outermost->outer != nullptr) outermost = outermost->outer;
    return static_cast<const enlistment&>(node_.participant_of(*outermost)).named_locks_.name();
}

void enlistment::fail_to_lock(protocol_status o) {
    if (o == protocol_status::too_large) {
        throw usage_error{"tutti: a block holds no more than " + std::to_string(wire::max_elements) +
                          " abstract locks whose names have their home on one node, and asks for no more than fit "
                          "into one message: take one for many of its operations"};
    }
    counters_.set_reason(rollback_reason::node_lost);
    node_.refuse_lost(named_locks_.lost_node(), false);
}

void enlistment::refuse_second_cluster() const {
    for (const core::deferred& e : descriptor_.deferred_log) {
        if (e.what != core::deferred::kind::data_participant) continue;
        const auto* const other = dynamic_cast<const enlistment*>(static_cast<const participant*>(e.object));
        if (other == nullptr || other == this || !other->transaction_.is_irrevocable()) continue;
        throw usage_error{
            "tutti: an irrevocable block uses objects of two clusters, in each of which one such block runs at a time: "
            "two of them could wait for each other forever. Use those of one cluster"};
    }
}

void enlistment::become_irrevocable() {
    if (!transaction_.empty()) {
        throw usage_error{
            "tutti: code without barriers made a block irrevocable that had opened objects of a cluster, which other "
            "nodes may have overwritten since: call become_irrevocable before that code, or begin the block with mode "
            "irrevocable"};
    }
    reserve_irrevocably();
}

void enlistment::reserve_irrevocably() {
    refuse_second_cluster();
    protocol_status o = named_locks_.acquire_token(root_execution());
    while (o == protocol_status::conflict) o = named_locks_.acquire_token(root_execution());
    if (o != protocol_status::good) fail_to_lock(o);
    reopen_.clear();
    if (transaction_.is_snapshot()) {
        static_cast<void>(transaction_.begin());  // no local read of an irrevocable block is stale
        rpc_client_.set_attempt(transaction_.name().sequence);
    }
    static_cast<void>(transaction_.reserve_irrevocably(named_locks_));  // reserves nothing: no object is open
}

bool enlistment::freeze() {
    leave_fast_path_if_active();
    if (!is_joined() || transaction_.empty() || transaction_.is_irrevocable()) return true;
    refuse_second_cluster();
    if (transaction_.is_snapshot()) return false;  // a snapshot reader reads the past, so it cannot become irrevocable
    protocol_status o = named_locks_.acquire_token(root_execution());
    if (o != protocol_status::good && o != protocol_status::conflict) fail_to_lock(o);
    if (o == protocol_status::conflict) {
        record_conflict(rollback_reason::busy);
        return false;
    }
    o = transaction_.reserve_irrevocably(named_locks_);
    if (o == protocol_status::good) return true;
    if (o != protocol_status::conflict) fail(o);
    record_conflict(transaction_.why());
    return false;
}

}  // namespace tutti::cluster
