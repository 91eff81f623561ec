#include "cluster/engine_enlistment.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "api/data_participant.hpp"
#include "cluster/backend/fault_injection.hpp"
#include "cluster/key.hpp"
#include "tutti/cluster/serializer.hpp"

namespace tutti::cluster {
namespace {

using backend::engine_status;
using backend::freshness;

constexpr std::chrono::milliseconds look_again_after{5};  // pause between two looks at another block's lease

}  // namespace

engine_enlistment::~engine_enlistment() { body_.bells().withdraw(bell_); }

void engine_enlistment::touch() {
    const bool bound = descriptor_.must_commit();
    if (joined() && bound && fence_ == 0 && !entries_.empty()) {
        throw usage_error{
            "tutti: code without barriers made a block irrevocable that had opened objects, which others may have "
            "overwritten since: call become_irrevocable before that code, or begin the block with mode irrevocable"};
    }
    if (joined()) return;
    join();
    give_up_lease();  // frees the lease of an attempt that is rolled back and whose handlers run blocks
    if (awaited_ != 0) await_lease();
    if (enrolled_) {
        body_.bells().leave(bell_);
        enrolled_ = false;
    }
    if (defeats_ > 1) {
        // The winner has committed by the time this block learns of the conflict. Several defeats in a row mean high
        // contention.
        random_ = random_ * 6364136223846793005u + 1442695040888963407u;
        const std::uint64_t most = std::uint64_t{50} << std::min(defeats_, 8u);
        std::this_thread::sleep_for(std::chrono::microseconds{(random_ >> 33) % most});
    }
    entries_.clear();
    index_.clear();
    held_.clear();
    snapshot_ = {};
}

detail::slot& engine_enlistment::open(const object_id& id, detail::hint&) {
    api::require_access(descriptor_);
    open({&id, 1});
    entry& e = *index_.find(id)->second;
    if (e.user == nullptr) {
        e.user = &slot_number(e.number);
        fill(*e.user, e.seen.bytes, e.seen.exists);
    }
    return *e.user;
}

void engine_enlistment::open(std::span<const object_id> ids) {
    touch();
    std::vector<backend::key> wanted;
    std::vector<object_id> fresh;
    for (const object_id& id : ids) {
        if (index_.contains(id) || std::ranges::find(fresh, id) != fresh.end()) continue;
        fresh.push_back(id);
        wanted.push_back(key_of(id));
    }
    if (wanted.empty()) return;
    begin_step(entries_.size());
    const backend::read_snapshot before = held_.empty() ? backend::read_snapshot{} : snapshot_;
    const bool bound = descriptor_.must_commit();
    if (bound) get_and_reserve(wanted);
    else get(freshness::same, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const backend::version reserved = bound ? 0 : unwrap(found_[i]);
        entries_.push_back({fresh[i], entries_.size(), std::move(found_[i]), reserved, nullptr});
        held_.push_back({std::move(wanted[i]), entries_.back().seen.at});
        index_.emplace(fresh[i], &entries_.back());
    }
    // After a get that returns to the instant of the first get, the argument for the local reads still holds (E2).
    const bool back = before.at != 0 && snapshot_.is_same_state_as(before);
    if (!back || !body_.engine().abilities().keeps_old_versions) stand();
}

void engine_enlistment::acquire(std::span<const named_lock>) {
    throw usage_error{
        "tutti: an abstract lock by name, in " + body_.engine().abilities().name +
        ": only nodes that hold the objects themselves keep those; give operations that do not commute an "
        "object that they all write"};
}

void engine_enlistment::forget_objects(std::size_t kept) noexcept {
    // The block holds no lease: a block with a lease is irrevocable, and is never rolled back in part.
    for (; entries_.size() > kept; entries_.pop_back()) {
        index_.erase(entries_.back().id);
        held_.pop_back();
    }
}

void engine_enlistment::get(freshness how, std::span<const backend::key> wanted) {
    body_.count_round_trip();
    const engine_status said = body_.engine().get(snapshot_, how, held_, wanted, found_);
    if (said == engine_status::conflict && fence_ != 0) body_.refuse_expired();
    if (said == engine_status::conflict) restart();
    if (said != engine_status::good) body_.refuse_lost(false);
}

void engine_enlistment::stand() {
    core::descriptor& d = descriptor_;
    for (int turn = 0; turn < 16; ++turn) {
        const tutti::detail::word before = d.snapshot_bound;
        if (!api::reads_are_valid(d)) restart();
        if (d.snapshot_bound == before) return;
        get(freshness::now, {});
    }
    restart();  // other transactions commit faster than this one can validate
}

void engine_enlistment::restart() {
    ++defeats_;
    tally_.doom(rollback_reason::changed);
    api::restart_attempt(descriptor_);
}

vote engine_enlistment::say_restart() {
    ++defeats_;
    tally_.doom(rollback_reason::changed);
    return vote::restart;
}

bool engine_enlistment::is_current() {
    body_.count_round_trip();
    const engine_status said = body_.engine().get(snapshot_, freshness::now, held_, {}, found_);
    if (said != engine_status::good && said != engine_status::conflict) body_.refuse_lost(false);
    if (said == engine_status::conflict && fence_ != 0) body_.refuse_expired();
    return said == engine_status::good;
}

void engine_enlistment::take_lease() {
    if (fence_ != 0) return;
    backend::lease_observation others;
    while (true) {
        body_.count_round_trip();
        const engine_status said = body_.leases().try_acquire(irrevocable_lease, others, fence_);
        if (said == engine_status::good) break;
        fence_ = 0;
        if (said != engine_status::conflict) body_.refuse_lost(false);
        std::this_thread::sleep_for(look_again_after);
    }
    held_.push_back({irrevocable_lease, fence_});
}

void engine_enlistment::give_up_lease() noexcept {
    if (fence_ != 0) body_.leases().release(irrevocable_lease, std::exchange(fence_, 0));
}

void engine_enlistment::get_and_reserve(std::span<const backend::key> wanted) {
    take_lease();
    engine_status said = engine_status::conflict;
    // Other blocks may write a wanted object between the get and the commit. Each retry means that another block has
    // committed.
    while (said == engine_status::conflict) {
        get(freshness::now, wanted);
        std::vector<backend::check> checks = held_;
        std::vector<backend::write> writes;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            checks.push_back({wanted[i], found_[i].at});
            static_cast<void>(unwrap(found_[i]));  // any reservation there is of an expired lease, because this block
                                                   // has the lease
            writes.push_back(reserve(wanted[i], found_[i], fence_));
        }
        backend::version at = 0;
        body_.count_round_trip();
        said = commit_in_engine(checks, writes, at);
        if (body_.engine().abilities().groups == 1) {
            for (backend::record& r : found_) r.at = at;
        } else if (said == engine_status::good) {
            said = look_at_reserved(wanted, writes);
        }
    }
    if (said != engine_status::good) body_.refuse_lost(false);
}

engine_status engine_enlistment::look_at_reserved(std::span<const backend::key> wanted,
                                                  std::span<const backend::write> reserved) {
    get(freshness::now, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        // Another block overwrites the reservation only once the lease has expired.
        if (found_[i].bytes != reserved[i].bytes) return engine_status::conflict;
        static_cast<void>(unwrap(found_[i]));
    }
    return engine_status::good;
}

bool engine_enlistment::meets_reservation() {
    for (const entry& e : entries_) {
        if (e.reserved == 0 || e.user == nullptr || !e.user->written) continue;
        body_.count_round_trip();
        backend::lease_observation first;
        const engine_status said = body_.leases().check_ended(irrevocable_lease, e.reserved, first);
        if (said == engine_status::good) continue;
        if (said != engine_status::conflict) body_.refuse_lost(false);
        awaited_ = e.reserved;
        return true;
    }
    return false;
}

void engine_enlistment::await_lease() {
    backend::lease_observation seen;
    while (true) {
        body_.count_round_trip();
        const engine_status said = body_.leases().check_ended(irrevocable_lease, awaited_, seen);
        if (said == engine_status::good) break;
        if (said != engine_status::conflict) body_.refuse_lost(false);
        std::this_thread::sleep_for(look_again_after);
    }
    awaited_ = 0;
}

engine_status engine_enlistment::commit_in_engine(std::vector<backend::check>& checks,
                                                  std::vector<backend::write>& writes, backend::version& at) {
    try {
        return body_.committer().commit(checks, writes, at);
    } catch (const backend::engine_error& r) {
        throw std::length_error{r.what()};
    }
}

bool engine_enlistment::snapshot_moved() {
    if (held_.empty()) snapshot_ = {};  // its reads were rolled back, and the variables have changed
    if (!joined() || held_.empty() || is_current()) return true;  // E3
    ++defeats_;
    tally_.doom(rollback_reason::changed);
    return false;
}

std::vector<backend::write> engine_enlistment::gather() {
    std::vector<backend::write> writes;
    for (entry& e : entries_) {
        if (e.user == nullptr || !e.user->written) {
            if (fence_ != 0) writes.push_back({key_of(e.id), e.seen.exists, e.seen.bytes});  // removes the reservation
            continue;
        }
        if (fence_ == 0 && !e.user->exists && !e.seen.exists) continue;  // created and erased: as if untouched
        backend::write w{key_of(e.id), e.user->exists, {}};
        if (e.user->exists) e.user->value->encode(w.bytes);
        writes.push_back(std::move(w));
    }
    if (fence_ != 0) writes.push_back({irrevocable_lease, false, {}});
    return writes;
}

vote engine_enlistment::prepare() {
    if (descriptor_.must_commit()) touch();
    std::vector<backend::write> writes = gather();
    if (writes.empty()) {
        if (held_.empty()) return vote::commit;
        const bool only = descriptor_.writes.empty() && api::is_sole_voter(descriptor_);
        if (only) return vote::commit;                                                  // ordered at its last read
        if (!is_current() || !api::reads_are_valid(descriptor_)) return say_restart();  // E5
        return vote::commit;
    }
    if (!api::is_last_to_vote(descriptor_, *this)) {
        throw usage_error{"tutti: a block that writes objects of " + body_.engine().abilities().name +
                          " has a participant, or objects of another node, that it touched later: the engine's commit "
                          "is the decision, so it must vote last, and only once: touch its objects after all others"};
    }
    if (backend::injected(backend::fault::unprotected_reads)) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});  // gives the reads time to change in this test
    } else if (!api::lock_reads(descriptor_)) {
        return say_restart();  // E4
    }
    if (meets_reservation()) return say_restart();
    for (;;) {
        std::vector<backend::check> checks = held_;
        std::vector<backend::write> written = writes;
        body_.count_round_trip();
        backend::version at = 0;
        switch (commit_in_engine(checks, written, at)) {
            case engine_status::good: fence_ = 0; return vote::commit;
            case engine_status::conflict:
                if (fence_ == 0) return say_restart();
                // If the lease is still held, the conflict has one of two causes: the engine's own reasons, or a lost
                // answer whose commit was voided. An irrevocable block cannot start over, so it commits again.
                static_cast<void>(is_current());
                continue;
            case engine_status::unreachable: body_.refuse_lost(false);
            case engine_status::unknown:
            case engine_status::refused: break;  // `refused` was already thrown as an exception
        }
        body_.refuse_lost(true);
    }
}

void engine_enlistment::commit() noexcept {
    defeats_ = 0;
    tally_.committed();
}

bool engine_enlistment::heed_retry() {
    tally_.doom(rollback_reason::retry);
    if (!joined() || held_.empty()) return true;
    static_cast<void>(bell_.get(descriptor_));
    if (!body_.bells().enrol(bell_, held_)) body_.refuse_lost(false);
    enrolled_ = true;
    if (!is_current()) restart();
    return true;
}

}  // namespace tutti::cluster
