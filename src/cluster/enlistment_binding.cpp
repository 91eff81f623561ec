// What a block makes other blocks wait for: its abstract locks and, if it is irrevocable, the token and its objects.
#include "cluster/enlistment.hpp"
#include "cluster/peer_body.hpp"

namespace tutti::cluster {

void enlistment::acquire(std::span<const named_lock> locks) {
    if (descriptor_.must_commit()) {
        throw usage_error{
            "tutti: an irrevocable transaction asks for an abstract lock by name, whose holder on another node cannot "
            "be made to give it up: take it in a block of its own"};
    }
    touch();
    std::vector<wire::claim_item> wanted;
    for (const named_lock& l : locks) wanted.push_back({l.name, l.shared});
    const outcome o = claims_.take(wanted, family());
    if (o == outcome::good) return;
    if (o != outcome::conflict) fail_to_claim(o);
    note_defeat(rollback_reason::busy);
    api::restart_attempt(descriptor_);
}

/// Returns the name of the claims of the outermost block. The locks of the blocks around this one do not conflict with
/// its own.
const transaction_name& enlistment::family() const {
    core::descriptor* outermost = &descriptor_;
    while (outermost->outer != nullptr) outermost = outermost->outer;
    return static_cast<const enlistment&>(body_.here(*outermost)).claims_.name();
}

void enlistment::fail_to_claim(outcome o) {
    if (o == outcome::too_large) {
        throw usage_error{"tutti: a block holds no more than " + std::to_string(wire::max_elements) +
                          " abstract locks whose names have their home on one node, and asks for no more than fit "
                          "into one message: take one for many of its operations"};
    }
    tally_.doom(rollback_reason::lost);
    body_.refuse_lost(claims_.lost_node(), false);
}

void enlistment::refuse_second_cluster() const {
    for (const core::deferred& e : descriptor_.deferred_log) {
        if (e.what != core::deferred::kind::data_participant) continue;
        const auto* const other = dynamic_cast<const enlistment*>(static_cast<const participant*>(e.object));
        if (other == nullptr || other == this || !other->work_.is_bound()) continue;
        throw usage_error{
            "tutti: an irrevocable block uses objects of two clusters, in each of which one such block runs at a time: "
            "two of them could wait for each other for ever. Use those of one cluster"};
    }
}

void enlistment::touch_bound() {
    if (!work_.empty()) {
        throw usage_error{
            "tutti: code without barriers made a block irrevocable that had opened objects of a cluster, which other "
            "nodes may have overwritten since: call become_irrevocable before that code, or begin the block with mode "
            "irrevocable"};
    }
    bind();
}

void enlistment::bind() {
    refuse_second_cluster();
    outcome o = claims_.take_token(family());
    while (o == outcome::conflict) o = claims_.take_token(family());
    if (o != outcome::good) fail_to_claim(o);
    again_.clear();
    if (work_.is_snapshot()) {
        static_cast<void>(work_.begin());  // no local read of an irrevocable block is stale
        line_.works_for(work_.name().sequence);
    }
    static_cast<void>(work_.bind(claims_));  // reserves nothing: no object is open
}

bool enlistment::freeze() {
    tell();
    if (!joined() || work_.empty() || work_.is_bound()) return true;
    refuse_second_cluster();
    if (work_.is_snapshot()) return false;  // a snapshot is of the past
    outcome o = claims_.take_token(family());
    if (o != outcome::good && o != outcome::conflict) fail_to_claim(o);
    if (o == outcome::conflict) {
        note_defeat(rollback_reason::busy);
        return false;
    }
    o = work_.bind(claims_);
    if (o == outcome::good) return true;
    if (o != outcome::conflict) fail(o);
    note_defeat(work_.why());
    return false;
}

}  // namespace tutti::cluster
