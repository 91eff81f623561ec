#include "cluster/participant/engine_enlistment.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "api/hooks/data_participant.hpp"
#include "cluster/backend/fault_injection.hpp"
#include "cluster/rpc/key.hpp"
#include "tutti/cluster/serializer.hpp"

namespace tutti::cluster {
namespace {

using backend::engine_status;
using backend::freshness;

constexpr std::chrono::milliseconds lease_retry_pause{5};  // the pause between two reads of another block's lease

}  // namespace

engine_enlistment::~engine_enlistment() { node_.notifier().unsubscribe_and_wait(wakeup_); }

void engine_enlistment::ensure_joined() {
    const bool irrevocable = descriptor_.must_commit();
    if (is_joined() && irrevocable && fence_ == 0 && !objects_.empty()) {
        throw usage_error{
            "tutti: code without barriers made a block irrevocable that had opened objects, which others may have "
            "overwritten since: call become_irrevocable before that code, or begin the block with mode irrevocable"};
    }
    if (is_joined()) return;
    join();
    release_lease();  // a rolled-back attempt's handler may run this block before that attempt has freed its lease
    if (awaited_fence_ != 0) await_lease();
    if (subscribed_) {
        node_.notifier().unsubscribe(wakeup_);
        subscribed_ = false;
    }
    if (conflicts_in_a_row_ > 1) {
        // Usually no pause is needed, because the other transaction has committed by the time this block learns of the
        // conflict. Several conflicts in a row indicate high contention.
        random_ = random_ * 6364136223846793005u + 1442695040888963407u;
        const std::uint64_t most = std::uint64_t{50} << std::min(conflicts_in_a_row_, 8u);
        std::this_thread::sleep_for(std::chrono::microseconds{(random_ >> 33) % most});
    }
    objects_.clear();
    index_.clear();
    checks_.clear();
    snapshot_ = {};
}

detail::slot& engine_enlistment::open(const object_id& id, detail::location_hint&) {
    api::require_access(descriptor_);
    open({&id, 1});
    engine_object& e = *index_.find(id)->second;
    if (e.user == nullptr) {
        e.user = &slot_at(e.number);
        fill(*e.user, e.seen.bytes, e.seen.exists);
    }
    return *e.user;
}

void engine_enlistment::open(std::span<const object_id> ids) {
    ensure_joined();
    std::vector<backend::key> keys;
    std::vector<object_id> fresh;
    for (const object_id& id : ids) {
        if (index_.contains(id) || std::ranges::find(fresh, id) != fresh.end()) continue;
        fresh.push_back(id);
        keys.push_back(key_of(id));
    }
    if (keys.empty()) return;
    begin_step(objects_.size());
    const backend::read_snapshot before = checks_.empty() ? backend::read_snapshot{} : snapshot_;
    const bool irrevocable = descriptor_.must_commit();
    if (irrevocable) get_and_reserve(keys);
    else get(freshness::same, keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const backend::version reserved = irrevocable ? 0 : unwrap(records_[i]);
        objects_.push_back({fresh[i], objects_.size(), std::move(records_[i]), reserved, nullptr});
        checks_.push_back({std::move(keys[i]), objects_.back().seen.at});
        index_.emplace(fresh[i], &objects_.back());
    }
    // If this get has read the same state as the previous get, ENL2 still applies to the local reads.
    const bool back = before.at != 0 && snapshot_.is_same_state_as(before);
    if (!back || !node_.engine().abilities().keeps_old_versions) validate_local_reads();
}

void engine_enlistment::acquire(std::span<const named_lock>) {
    throw usage_error{
        "tutti: an abstract lock by name, in " + node_.engine().abilities().name +
        ": only nodes that hold the objects themselves keep those; give operations that do not commute an "
        "object that they all write"};
}

void engine_enlistment::drop_objects(std::size_t kept) noexcept {
    // checks_ has no lease entry here: a block with a lease is irrevocable, and is never partially rolled back.
    for (; objects_.size() > kept; objects_.pop_back()) {
        index_.erase(objects_.back().id);
        checks_.pop_back();
    }
}

void engine_enlistment::get(freshness how, std::span<const backend::key> keys) {
    node_.count_round_trip();
    const engine_status status = node_.engine().get(snapshot_, how, checks_, keys, records_);
    if (status == engine_status::conflict && fence_ != 0) node_.refuse_expired();
    if (status == engine_status::conflict) restart();
    if (status != engine_status::good) node_.refuse_lost(false);
}

void engine_enlistment::validate_local_reads() {
    core::descriptor& d = descriptor_;
    for (int attempt = 0; attempt < 16; ++attempt) {
        const tutti::detail::word before = d.snapshot_bound;
        if (!api::reads_are_valid(d)) restart();
        if (d.snapshot_bound == before) return;
        get(freshness::now, {});
    }
    restart();  // other transactions commit faster than this one can validate
}

void engine_enlistment::restart() {
    ++conflicts_in_a_row_;
    counters_.set_reason(rollback_reason::validation);
    api::restart_attempt(descriptor_);
}

vote engine_enlistment::vote_restart() {
    ++conflicts_in_a_row_;
    counters_.set_reason(rollback_reason::validation);
    return vote::restart;
}

bool engine_enlistment::is_current() {
    node_.count_round_trip();
    const engine_status status = node_.engine().get(snapshot_, freshness::now, checks_, {}, records_);
    if (status != engine_status::good && status != engine_status::conflict) node_.refuse_lost(false);
    if (status == engine_status::conflict && fence_ != 0) node_.refuse_expired();
    return status == engine_status::good;
}

void engine_enlistment::acquire_lease() {
    if (fence_ != 0) return;
    backend::lease_observation others;
    while (true) {
        node_.count_round_trip();
        const engine_status status = node_.leases().try_acquire(irrevocable_lease, others, fence_);
        if (status == engine_status::good) break;
        fence_ = 0;
        if (status != engine_status::conflict) node_.refuse_lost(false);
        std::this_thread::sleep_for(lease_retry_pause);
    }
    checks_.push_back({irrevocable_lease, fence_});
}

void engine_enlistment::release_lease() noexcept {
    if (fence_ != 0) node_.leases().release(irrevocable_lease, std::exchange(fence_, 0));
}

void engine_enlistment::get_and_reserve(std::span<const backend::key> keys) {
    acquire_lease();
    engine_status status = engine_status::conflict;
    // Other blocks may write a wanted object between the get and the commit. Retries are not limited, because each
    // retry means that another block has committed.
    while (status == engine_status::conflict) {
        get(freshness::now, keys);
        std::vector<backend::check> checks = checks_;
        std::vector<backend::write> writes;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            checks.push_back({keys[i], records_[i].at});
            static_cast<void>(unwrap(records_[i]));  // a reservation found here is of an expired lease: this block has
                                                     // the lease
            writes.push_back(reserve(keys[i], records_[i], fence_));
        }
        backend::version at = 0;
        node_.count_round_trip();
        status = commit_in_engine(checks, writes, at);
        if (node_.engine().abilities().groups == 1) {
            for (backend::record& r : records_) r.at = at;
        } else if (status == engine_status::good) {
            status = read_reserved_versions(keys, writes);
        }
    }
    if (status != engine_status::good) node_.refuse_lost(false);
}

engine_status engine_enlistment::read_reserved_versions(std::span<const backend::key> keys,
                                                        std::span<const backend::write> reserved) {
    get(freshness::now, keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        // Another block overwrites the reservation only once the lease has expired.
        if (records_[i].bytes != reserved[i].bytes) return engine_status::conflict;
        static_cast<void>(unwrap(records_[i]));
    }
    return engine_status::good;
}

bool engine_enlistment::writes_reserved_object() {
    for (const engine_object& e : objects_) {
        if (e.reserved == 0 || e.user == nullptr || !e.user->written) continue;
        node_.count_round_trip();
        backend::lease_observation first;
        const engine_status status = node_.leases().check_ended(irrevocable_lease, e.reserved, first);
        if (status == engine_status::good) continue;
        if (status != engine_status::conflict) node_.refuse_lost(false);
        awaited_fence_ = e.reserved;
        return true;
    }
    return false;
}

void engine_enlistment::await_lease() {
    backend::lease_observation seen;
    while (true) {
        node_.count_round_trip();
        const engine_status status = node_.leases().check_ended(irrevocable_lease, awaited_fence_, seen);
        if (status == engine_status::good) break;
        if (status != engine_status::conflict) node_.refuse_lost(false);
        std::this_thread::sleep_for(lease_retry_pause);
    }
    awaited_fence_ = 0;
}

engine_status engine_enlistment::commit_in_engine(std::vector<backend::check>& checks,
                                                  std::vector<backend::write>& writes, backend::version& at) {
    try {
        return node_.committer().commit(checks, writes, at);
    } catch (const backend::engine_error& r) {
        throw std::length_error{r.what()};
    }
}

bool engine_enlistment::on_snapshot_extended() {
    if (checks_.empty()) snapshot_ = {};  // all object reads were rolled back, so the next get begins a new snapshot
    if (!is_joined() || checks_.empty() || is_current()) return true;  // ENL3
    ++conflicts_in_a_row_;
    counters_.set_reason(rollback_reason::validation);
    return false;
}

std::vector<backend::write> engine_enlistment::collect_writes() {
    std::vector<backend::write> writes;
    for (engine_object& e : objects_) {
        if (e.user == nullptr || !e.user->written) {
            if (fence_ != 0) writes.push_back({key_of(e.id), e.seen.exists, e.seen.bytes});  // removes the reservation
            continue;
        }
        if (fence_ == 0 && !e.user->exists && !e.seen.exists) continue;  // created and erased: nothing to write
        backend::write w{key_of(e.id), e.user->exists, {}};
        if (e.user->exists) e.user->value->encode(w.bytes);
        writes.push_back(std::move(w));
    }
    if (fence_ != 0) writes.push_back({irrevocable_lease, false, {}});
    return writes;
}

vote engine_enlistment::prepare() {
    if (descriptor_.must_commit()) ensure_joined();
    std::vector<backend::write> writes = collect_writes();
    if (writes.empty()) {
        if (checks_.empty()) return vote::commit;
        const bool only = descriptor_.writes.empty() && api::is_sole_voter(descriptor_);
        if (only) return vote::commit;                                                   // ordered at its last read
        if (!is_current() || !api::reads_are_valid(descriptor_)) return vote_restart();  // ENL5
        return vote::commit;
    }
    if (!api::is_last_to_vote(descriptor_, *this)) {
        throw usage_error{"tutti: a block that writes objects of " + node_.engine().abilities().name +
                          " has a participant, or objects of another node, that it used later: the engine's commit "
                          "is the decision, so it must vote last, and only once: use its objects after all others"};
    }
    if (backend::injected(backend::fault::unprotected_reads)) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});  // in this test, other threads change the reads now
    } else if (!api::lock_reads(descriptor_)) {
        return vote_restart();  // ENL4
    }
    if (writes_reserved_object()) return vote_restart();
    for (;;) {
        std::vector<backend::check> checks = checks_;
        std::vector<backend::write> written = writes;
        node_.count_round_trip();
        backend::version at = 0;
        switch (commit_in_engine(checks, written, at)) {
            case engine_status::good: fence_ = 0; return vote::commit;
            case engine_status::conflict:
                if (fence_ == 0) return vote_restart();
                // `is_current` throws if this block no longer holds the lease. Otherwise the engine had an internal
                // reason for the conflict, or a commit was aborted because its answer was lost. An irrevocable block
                // cannot start over, so it commits again.
                static_cast<void>(is_current());
                continue;
            case engine_status::unreachable: node_.refuse_lost(false);
            case engine_status::unknown:
            case engine_status::refused: break;  // `refused` does not occur here: exactly_once throws instead
        }
        node_.refuse_lost(true);
    }
}

void engine_enlistment::commit() noexcept {
    conflicts_in_a_row_ = 0;
    counters_.count_commit();
}

bool engine_enlistment::on_retry() {
    counters_.set_reason(rollback_reason::retry);
    if (!is_joined() || checks_.empty()) return true;
    static_cast<void>(wakeup_.get(descriptor_));
    if (!node_.notifier().subscribe(wakeup_, checks_)) node_.refuse_lost(false);
    subscribed_ = true;
    if (!is_current()) restart();
    return true;
}

}  // namespace tutti::cluster
