#include "cluster/client.hpp"

#include <algorithm>
#include <optional>

namespace bench::cluster {

using tutti::cluster::call;
using tutti::cluster::node_number;

namespace {

constexpr std::size_t stack_bytes = std::size_t{64} * 1024;
constexpr unsigned max_partial_rollbacks = 64;  // in one attempt, as in the engine

}  // namespace

client::client(tutti::cluster::simulation::simulated_cluster& in, node_number at, std::uint16_t slot, const plan& how,
               const pattern& what, processors& runs_on, run_counts& counts, interleaving::fiber& main)
    : simulated_thread{in, at},
      plan_{how},
      pattern_{what},
      keys_{how.locks ? what.keys() : nullptr},
      processors_{runs_on},
      counts_{counts},
      main_{main},
      fiber_{stack_bytes},
      work_{in.at(at), *this, slot},
      claims_{in.at(at), *this, slot},
      block_{work_, how.singly, [this](std::size_t objects) { work(objects * plan_.each.object); }},
      dice_{how.seed * 0x10001 + number() + 1} {
    fiber_.prepare(&start, this);
}

void client::start(void* self) {
    client& c = *static_cast<client*>(self);
    c.live();
    interleaving::fiber::leave_for(c.fiber_, c.main_);
}

void client::sleep(std::uint64_t nanoseconds) {
    cluster_.network().after(nanoseconds, [this] { resume(); });
    suspend();
}

void client::work(std::uint64_t nanoseconds) {
    const std::uint64_t began = now();
    sleep(processors_.done(began, nanoseconds) - began);
}

void client::exchange(std::span<call> calls) {
    if (calls.empty()) return;
    counts_.round_trips += counts_.measuring;
    work(calls.size() * plan_.each.send);
    simulated_thread::exchange(calls);
}

void client::post(node_number to, tutti::wire::message_type kind, std::string body) {
    work(plan_.each.send);
    simulated_thread::post(to, kind, std::move(body));
}

/// Waits as long as the threads of a real node (line::pause in src/cluster/rpc/rpc_endpoint.cpp). The first waits only
/// yield.
void client::pause(unsigned turn) {
    if (turn < 3) return sleep(plan_.each.attempt);
    sleep(dice_.below(std::uint64_t{20'000} << std::min(turn, 8u)));
}

template <class What>
void client::spend(std::uint64_t split<std::uint64_t>::* part, What&& what) {
    const std::uint64_t began = now();
    what();
    if (counts_.measuring) counts_.spent.*part += now() - began;
}

void client::live() {
    while (!counts_.over) {
        reads_ = dice_.below(100) < pattern_.reads_of_100().value_or(plan_.reads);
        operations_.clear();
        for (unsigned i = 0; i < plan_.inner; ++i) operations_.push_back(dice_.next());
        const std::uint64_t began = now();
        // Each open operation is a separate transaction. In the other modes, all operations are one transaction.
        const std::size_t together = plan_.nesting == nesting::open ? 1 : operations_.size();
        const unsigned parts = pattern_.parts(dice{operations_.front()}, reads_);
        for (part_ = 0; part_ < parts; ++part_) {
            if (keys_ != nullptr) {
                run_under_locks();
                continue;
            }
            for (std::size_t first = 0; first < operations_.size(); first += together)
                run_as_one(first, first + together);
        }
        if (counts_.measuring) counts_.parts += parts - 1;
        if (counts_.measuring) counts_.latencies.push_back(now() - began);
    }
}

void client::run_as_one(std::size_t first, std::size_t last) {
    for (unsigned turn = 1; !counts_.over && !attempt_once(first, last); ++turn)
        spend(&split<std::uint64_t>::pauses, [&] { pause(turn); });
}

void client::run_under_locks() {
    claims_.begin_execution();
    for (unsigned turn = 1; !counts_.over; ++turn) {
        have_changed_.clear();
        while (have_changed_.size() < operations_.size() && run_next_under_lock()) continue;
        const bool all = have_changed_.size() == operations_.size();
        if (!all) spend(&split<std::uint64_t>::undoing, [this] { take_back(); });
        spend(&split<std::uint64_t>::commits, [this] { claims_.release(); });
        if (all) return;
        spend(&split<std::uint64_t>::pauses, [&] { pause(turn); });
    }
}

bool client::run_next_under_lock() {
    const std::size_t next = have_changed_.size();
    const tutti::wire::claim_item wanted{keys_->lock_of(dice{operations_[next]}), reads_};
    protocol_status had{};
    spend(&split<std::uint64_t>::locks, [&] { had = claims_.acquire({&wanted, 1}, claims_.name()); });
    if (had != protocol_status::good) {
        counts_.refused += counts_.measuring;
        return false;
    }
    run_as_one(next, next + 1);
    have_changed_.push_back(changed_ ? 1 : 0);
    return true;
}

void client::take_back() {
    for (; !have_changed_.empty(); have_changed_.pop_back()) {
        if (have_changed_.back() == 0) continue;
        counts_.undone += counts_.measuring;
        const auto body = [this] {
            try {
                keys_->take_back(block_, dice{operations_[have_changed_.size() - 1]});
                return true;
            } catch (const overtaken&) {
                return false;
            }
        };
        for (unsigned turn = 1; !counts_.over && !attempt(body).good; ++turn) pause(turn);
    }
}

template <class Body>
client::trial client::attempt(Body&& body) {
    const std::uint64_t began = now();
    work(plan_.each.attempt);
    static_cast<void>(work_.begin(reads_ && !pattern_.readers_write()));  // the transaction uses only objects
    const bool ran = body();
    const std::uint64_t ended = now();
    const bool good = ran && commit();
    work_.end_snapshot();
    return {good, ended - began, now() - ended};
}

bool client::attempt_once(std::size_t first, std::size_t last) {
    counts_.attempts += counts_.measuring;
    const trial t = attempt([&] { return run_operations(first, last); });
    if (counts_.measuring) {
        (t.good ? counts_.spent.steps : counts_.spent.lost) += t.running;
        (t.good ? counts_.spent.commits : counts_.spent.lost) += t.committing;
    }
    return t.good;
}

bool client::commit() {
    if (!work_.writes()) return true;
    if (work_.prepare(true) != protocol_status::good) {
        counts_.at_commit += counts_.measuring;
        return false;
    }
    work_.commit();
    return true;
}

bool client::run_operations(std::size_t first, std::size_t last) {
    marks_.clear();
    unsigned partial_rollbacks = 0;
    for (std::size_t i = first; i <= last;) {
        bool good = true;
        if (i < last) {
            marks_.resize(i - first);
            marks_.push_back(mark_here());
            try {
                changed_ = keys_ != nullptr && !reads_ && keys_->change(block_, dice{operations_[i]});
                if (keys_ == nullptr || reads_) pattern_.run_part(block_, dice{operations_[i]}, reads_, part_);
            } catch (const overtaken&) {
                good = false;
            }
        } else if (plan_.nesting == nesting::checkpoint && !work_.is_snapshot()) {
            // A conflict found at commit cannot be resolved by a partial roll-back, so the last checkpoint validates
            // all earlier reads.
            good = work_.extend_snapshot(cluster_.at(home()).clock.now(), true) == protocol_status::good;
        }
        if (good) {
            ++i;
            continue;
        }
        count_conflict(first, std::min(i, last - 1));
        const auto to = way_back(first, std::min(i, last - 1));
        if (!to || ++partial_rollbacks > max_partial_rollbacks) return false;
        go_back(marks_[*to - first]);
        counts_.partial_rollbacks += counts_.measuring;
        counts_.to_the_first += counts_.measuring && *to == first;
        i = *to;
    }
    return true;
}

void client::count_conflict(std::size_t first, std::size_t at) {
    if (!counts_.measuring) return;
    ++counts_.running;
    if (work_.valid_prefix() && marks_[at - first].opened <= *work_.valid_prefix()) ++counts_.inside;
}

std::optional<std::size_t> client::way_back(std::size_t first, std::size_t at) const {
    if (plan_.nesting != nesting::closed && plan_.nesting != nesting::checkpoint) return std::nullopt;
    if (!work_.valid_prefix()) return std::nullopt;
    // A closed block that has ended belongs to the block around it, so a conflict cannot roll back to its start.
    const std::size_t least = plan_.nesting == nesting::closed ? at : first;
    for (std::size_t i = at + 1; i-- > least;) {
        if (begins_part(i) && marks_[i - first].opened <= *work_.valid_prefix()) return i;
    }
    return std::nullopt;
}

bool client::begins_part(std::size_t operation) const noexcept {
    const auto part_of = [this](std::size_t o) { return o * plan_.checkpoints / plan_.inner; };
    return plan_.checkpoints == 0 || operation == 0 || part_of(operation) != part_of(operation - 1);
}

client::mark client::mark_here() const {
    mark m{work_.entries().size(), {}};
    if (plan_.inner == 1) return m;
    for (const auto& e : work_.entries()) {
        if (e->written) m.writes.push_back({e.get(), e->will_exist, e->fresh});
    }
    return m;
}

void client::go_back(const mark& to) {
    work_.roll_back_to(to.opened);
    for (const auto& e : work_.entries()) e->written = false;
    for (const written& w : to.writes) {
        w.what->written = true;
        w.what->will_exist = w.will_exist;
        w.what->fresh = w.bytes;
    }
}

}  // namespace bench::cluster
