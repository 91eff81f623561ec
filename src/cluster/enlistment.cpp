#include "cluster/enlistment.hpp"

#include <algorithm>

#include "api/companion.hpp"
#include "cluster/key.hpp"
#include "cluster/peer_body.hpp"
#include "tutti/cluster/serializer.hpp"

namespace tutti::cluster {

enlistment::~enlistment() { body_.bells().withdraw(bell_); }

void enlistment::touch() {
    if (!joined() && descriptor_.bound_to_commit()) {
        throw usage_error{
            "tutti: an irrevocable transaction touched an object of a cluster; other nodes cannot be made to wait for "
            "it: touch the object in a block of its own, before this one"};
    }
    if (!join()) return;
    if (enrolled_) body_.bells().leave(bell_);
    enrolled_ = false;
    if (defeats_ != 0) line_.pause(defeats_);
    const bool snapshot = is_reader();
    if (!work_.begin(snapshot)) restart();
}

/// Whether the outermost block has promised to write nothing.
bool enlistment::is_reader() const noexcept { return descriptor_.run.how->read_only; }

void enlistment::note_defeat(rollback_reason why) noexcept {
    ++defeats_;
    tally_.doom(why);
}

bool enlistment::stand(std::uint64_t& at) {
    core::descriptor& d = descriptor_;
    for (int turn = 0; turn < 16; ++turn) {
        const tutti::detail::word before = d.snapshot_bound;
        if (!api::reads_stand(d)) return false;
        if (d.snapshot_bound == before) return true;
        // The look has moved the snapshot: what it holds now was committed when the clock said no more than this.
        at = std::max(at, site_.clock.now());
    }
    return false;  // others commit faster than this can look
}

void enlistment::restart() {
    note_defeat(work_.why());
    api::start_over(descriptor_);
}

void enlistment::fail(outcome o) {
    if (o == outcome::conflict) restart();
    tally_.doom(work_.why());
    body_.refuse_lost(work_.lost_node(), o == outcome::uncertain);
}

detail::slot& enlistment::open(const object_id& id) {
    touch();
    entry* e = work_.find(id);
    if (e == nullptr) {
        if (const outcome o = work_.open({&id, 1}); o != outcome::good) fail(o);
        e = work_.find(id);
    }
    if (e->user == nullptr) {
        detail::slot& s = add(id, e->bytes, e->exists);
        s.entry = e;
        e->user = &s;
    }
    return *static_cast<detail::slot*>(e->user);
}

void enlistment::open(std::span<const object_id> ids) {
    touch();
    if (const outcome o = work_.open(ids); o != outcome::good) fail(o);
}

bool enlistment::snapshot_moved() {
    if (!joined() || work_.empty()) return true;
    // A snapshot of the objects stays where it is, and the variable may depend on what came after it.
    if (work_.is_snapshot()) {
        note_defeat(rollback_reason::variables);
        return false;
    }
    // What the snapshot now holds was committed when the clock said no more than it does now. Every object anew, also
    // if the clock stands where it stood: a commit without objects draws no version, and may have overwritten what one
    // with objects had read here, which holds its locks until it draws.
    const outcome o = work_.forward(site_.clock.now(), true);
    if (o == outcome::good) return true;
    if (o != outcome::conflict) fail(o);
    note_defeat(work_.why());
    return false;
}

void enlistment::encode_writes() {
    for (std::size_t i = 0; i < slots(); ++i) {
        const detail::slot& s = slot_at(i);
        entry& e = *static_cast<entry*>(s.entry);
        e.written = s.written && (s.exists || e.exists);  // made and erased again: as if never touched
        e.will_exist = s.exists;
        e.fresh.clear();
        if (e.written && s.exists) s.value->encode(e.fresh);
    }
}

vote enlistment::prepare() {
    encode_writes();
    // Readers have an order already: at work_.time(), which the local reads fit in.
    if (!work_.writes() && descriptor_.writes.empty()) return vote::commit;
    const bool alone = api::is_all_of(descriptor_);
    const outcome o = work_.prepare(alone);
    if (o == outcome::good) {
        // All locks are held, here and there; what was only read here was not locked.
        if (alone || api::reads_stand(descriptor_)) return vote::commit;
        work_.abort();
        note_defeat(rollback_reason::variables);
        return vote::restart;
    }
    if (o != outcome::conflict) fail(o);
    note_defeat(work_.why());
    return vote::restart;
}

void enlistment::commit() noexcept {
    if (work_.holds()) work_.commit();
    work_.end_snapshot();
    defeats_ = 0;
    tally_.committed();
}

void enlistment::abort() noexcept { work_.abort(); }

bool enlistment::heed_retry() {
    tally_.doom(rollback_reason::retry);
    if (!joined() || work_.empty()) return true;
    static_cast<void>(bell_.get(descriptor_));
    std::vector<backend::check> watched;
    for (const auto& e : work_.entries()) watched.push_back({key_of(e->id), e->version});
    // Before the owners are asked: what they tell finds the bell. They can always be heard, but while the node ends.
    static_cast<void>(body_.bells().enrol(bell_, watched));
    enrolled_ = true;
    if (const outcome o = work_.watch(); o != outcome::good) fail(o);
    return true;
}

}  // namespace tutti::cluster
