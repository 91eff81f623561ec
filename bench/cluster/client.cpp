#include "cluster/client.hpp"

#include <algorithm>
#include <optional>

namespace bench::cluster {

using tutti::cluster::call;
using tutti::cluster::node_number;

namespace {

constexpr std::size_t stack_bytes = std::size_t{64} * 1024;
constexpr unsigned most_rewinds = 64;  // of one attempt, as in the engine

}  // namespace

client::client(tutti::cluster::simulation::mesh& in, node_number at, std::uint16_t slot, const plan& how,
               const pattern& what, processors& runs_on, tally& counts, interleaving::fiber& main)
    : caller{in, at},
      plan_{how},
      pattern_{what},
      processors_{runs_on},
      tally_{counts},
      main_{main},
      fiber_{stack_bytes},
      work_{in.at(at), *this, slot},
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
    mesh_.network().after(nanoseconds, [this] { resume(); });
    suspend();
}

void client::work(std::uint64_t nanoseconds) {
    const std::uint64_t now = mesh_.network().now();
    sleep(processors_.done(now, nanoseconds) - now);
}

void client::exchange(std::span<call> calls) {
    if (calls.empty()) return;
    tally_.round_trips += tally_.counts;
    work(calls.size() * plan_.each.send);
    caller::exchange(calls);
}

void client::post(node_number to, tutti::wire::kind kind, std::string body) {
    work(plan_.each.send);
    caller::post(to, kind, std::move(body));
}

/// As long as the threads of a real node (line::pause in src/cluster/channel.cpp): at first they only give way.
void client::pause(unsigned turn) {
    if (turn < 3) return sleep(plan_.each.attempt);
    sleep(dice_.below(std::uint64_t{20'000} << std::min(turn, 8u)));
}

void client::live() {
    while (!tally_.over) {
        reads_ = dice_.below(100) < pattern_.reads_of_100().value_or(plan_.reads);
        operations_.clear();
        for (unsigned i = 0; i < plan_.inner; ++i) operations_.push_back(dice_.next());
        const std::uint64_t began = mesh_.network().now();
        // Each open operation is a transaction by itself; of the others all are one.
        const std::size_t together = plan_.nesting == nesting::open ? 1 : operations_.size();
        const unsigned parts = pattern_.parts(dice{operations_.front()}, reads_);
        for (part_ = 0; part_ < parts; ++part_) {
            for (std::size_t first = 0; first < operations_.size() && !tally_.over; first += together) {
                for (unsigned turn = 1; !attempt_once(first, first + together) && !tally_.over; ++turn) pause(turn);
            }
        }
        if (tally_.counts) tally_.parts += parts - 1;
        if (tally_.counts) tally_.latencies.push_back(mesh_.network().now() - began);
    }
}

bool client::attempt_once(std::size_t first, std::size_t last) {
    tally_.attempts += tally_.counts;
    work(plan_.each.attempt);
    static_cast<void>(work_.begin(reads_ && !pattern_.readers_write()));  // there is nothing beside the objects
    const bool good = run_operations(first, last) && commit();
    work_.end_snapshot();
    return good;
}

bool client::commit() {
    if (!work_.writes()) return true;
    if (work_.prepare(true) != outcome::good) {
        tally_.at_commit += tally_.counts;
        return false;
    }
    work_.commit();
    return true;
}

bool client::run_operations(std::size_t first, std::size_t last) {
    marks_.clear();
    unsigned rewinds = 0;
    for (std::size_t i = first; i <= last;) {
        bool good = true;
        if (i < last) {
            marks_.resize(i - first);
            marks_.push_back(mark_here());
            try {
                pattern_.run_part(block_, dice{operations_[i]}, reads_, part_);
            } catch (const overtaken&) {
                good = false;
            }
        } else if (plan_.nesting == nesting::checkpoint && !work_.is_snapshot()) {
            // What is found at commit has no way back, so the last checkpoint looks at everything before.
            good = work_.forward(mesh_.at(home()).clock.now(), true) == outcome::good;
        }
        if (good) {
            ++i;
            continue;
        }
        count_conflict(first, std::min(i, last - 1));
        const auto to = way_back(first, std::min(i, last - 1));
        if (!to || ++rewinds > most_rewinds) return false;
        go_back(marks_[*to - first]);
        tally_.rewinds += tally_.counts;
        i = *to;
    }
    return true;
}

void client::count_conflict(std::size_t first, std::size_t at) {
    if (!tally_.counts) return;
    ++tally_.running;
    if (work_.standing() && marks_[at - first].opened <= *work_.standing()) ++tally_.inside;
}

std::optional<std::size_t> client::way_back(std::size_t first, std::size_t at) const {
    if (plan_.nesting != nesting::closed && plan_.nesting != nesting::checkpoint) return std::nullopt;
    if (!work_.standing()) return std::nullopt;
    // A closed block that has ended is part of the one around it: no conflict leads back to its beginning.
    const std::size_t least = plan_.nesting == nesting::closed ? at : first;
    for (std::size_t i = at + 1; i-- > least;) {
        if (marks_[i - first].opened <= *work_.standing()) return i;
    }
    return std::nullopt;
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
    work_.rewind(to.opened);
    for (const auto& e : work_.entries()) e->written = false;
    for (const written& w : to.writes) {
        w.what->written = true;
        w.what->will_exist = w.will_exist;
        w.what->fresh = w.bytes;
    }
}

}  // namespace bench::cluster
