#include <algorithm>
#include <deque>
#include <numeric>
#include <stdexcept>

#include "cluster/client.hpp"
#include "cluster/plan.hpp"
#include "wire/bytes.hpp"

namespace bench::cluster {
namespace {

using tutti::cluster::node_number;
namespace wire = tutti::wire;

constexpr std::size_t bytes_of_copies = std::size_t{64} << 20;  // node_options::cache

void require(bool right, const std::string& otherwise) {
    if (!right) throw std::invalid_argument{otherwise};
}

void check(const plan& p) {
    require(p.nodes >= 1 && p.nodes <= tutti::cluster::max_nodes,
            "nodes: from 1 to " + std::to_string(tutti::cluster::max_nodes));
    require(p.threads >= 1 && p.threads < wire::max_slots - 1u, "threads: from 1 to 4094");
    require(p.processors >= 1, "processors: a node has at least one");
    require(p.reads <= 100, "reads: of 100 operations, so from 0 to 100");
    require(p.inner >= 1, "inner: a transaction has at least one operation");
    require(p.inner == 1 || p.workload != "tpcc", "inner: a Delivery is ten transactions, so tpcc has one operation");
    require(p.checkpoints == 0 || (p.nesting == nesting::checkpoint && p.checkpoints <= p.inner),
            "checkpoints: of a transaction nested so, and no more than it has operations");
    require(!p.locks || p.nesting == nesting::open, "locks: of operations that are open nested");
    require(p.duration >= 1, "milliseconds: time has to pass");
    require(p.each.attempt + p.each.object >= 1, "an attempt that costs nothing never ends");
}

/// The nodes, their processors and their threads.
class simulated final : private tutti::cluster::simulation::simulated_cluster {
public:
    explicit simulated(const plan& p)
        : simulated_cluster{static_cast<node_number>(p.nodes),
                            p.moves ? tutti::cluster::object_placement::writer : tutti::cluster::object_placement::home,
                            p.seed,
                            {.min_delay = p.each.latency, .max_delay = p.each.latency + p.each.spread}},
          plan_{p},
          pattern_{make_pattern(p.workload, p.objects)},
          processors_(p.nodes, processors{p.processors}) {
        for (const auto& s : protocol_nodes()) {
            s->objects.set_copy_threshold(p.share_after < 0
                                              ? tutti::cluster::object_directory::default_copy_threshold(s->nodes)
                                              : static_cast<unsigned>(p.share_after));
            if (p.share_after != 0) s->cache.limit(bytes_of_copies);
        }
        require(!p.locks || pattern_->keys() != nullptr, "locks: of keys, which list, skiplist, tree and hash have");
        pattern_->fill([this](const object_id& id, std::string bytes) { make(id, std::move(bytes)); });
        for (unsigned i = 0; i < p.nodes * p.threads; ++i) {
            const auto home = static_cast<node_number>(i % p.nodes);
            simulated_cluster& here = *this;
            clients_.emplace_back(here, home, static_cast<std::uint16_t>(i / p.nodes), plan_, *pattern_,
                                  processors_[home], counts_, main_);
        }
    }

    figures go() {
        for (client& c : clients_) network().after(network().random_below(10'000), [&c] { c.resume(); });
        network().after(plan_.warm_up, [this] { begin_to_count(); });
        network().after(plan_.warm_up + plan_.duration, [this] { stop_counting(); });
        while (network().step()) {}
        return found_;
    }

private:
    /// Makes an object by a commit at its home node, from a thread that does nothing else.
    void make(const object_id& id, std::string bytes) {
        const node_number home = tutti::cluster::home_of(id, static_cast<node_number>(plan_.nodes));
        constexpr std::uint16_t slot = wire::max_slots - 1;
        at(home).commits.prepare({.who = {home, slot, ++made_},
                                  .decides = wire::decider::receiver,
                                  .reads = {},
                                  .writes = {{id, 0, wire::action::put, std::move(bytes)}}});
    }

    void on_arrival(node_number to, const std::string& frame) override {
        wire::header h;
        if (!read_header(frame, h)) return fail("no header");
        const std::string_view body = body_of(frame);
        count(h, body);
        const bool asks = h.call != 0 && !wire::is_reply(h.type);
        const std::uint64_t work =
            plan_.each.receive + plan_.each.byte * (wire::header::size + body.size()) + (asks ? plan_.each.send : 0);
        const std::uint64_t now = network().now();
        network().after(processors_[to].done(now, work) - now, [this, to, f = frame] { deliver(to, f); });
    }
    void count(const wire::header& h, std::string_view body) {
        if (!counts_.measuring) return;
        ++messages_;
        bytes_ += wire::header::size + body.size();
        if (h.type == wire::message_type::owner_update) ++directory_;
        wire::fetch_reply found;
        if (!plan_.moves || h.type != wire::message_type::fetch_reply) return;
        if (!wire::decode(body, found)) return fail("no views");
        directory_ +=
            std::ranges::any_of(found.objects, [](const auto& v) { return v.where == wire::lookup_result::elsewhere; });
    }
    void on_change(node_number /*at*/, const object_id& /*id*/) override {}
    void fail(const char* what) override { throw std::logic_error{what}; }

    void begin_to_count() {
        counts_.measuring = true;
        for (const processors& p : processors_) busy_before_.push_back(p.busy(network().now()));
    }
    void stop_counting() {
        counts_.measuring = false;
        counts_.over = true;
        figures& f = found_;
        f.transactions = counts_.latencies.size();
        f.operations = f.transactions * plan_.inner;
        const double all = std::max(1.0, static_cast<double>(f.transactions));
        const auto each = [all](std::uint64_t n) { return static_cast<double>(n) / all; };
        f.per_second = static_cast<double>(f.transactions) * 1e9 / static_cast<double>(plan_.duration);
        const std::uint64_t due = (plan_.nesting == nesting::open ? f.operations : f.transactions) + counts_.parts;
        f.aborts = each(counts_.attempts - std::min(counts_.attempts, due));
        f.partial_rollbacks = each(counts_.partial_rollbacks);
        f.anew = f.aborts + each(counts_.to_the_first);
        f.refused = each(counts_.refused);
        f.undone = each(counts_.undone);
        const auto microseconds = [&](std::uint64_t nanoseconds) { return each(nanoseconds) / 1000; };
        f.spent = {.steps = microseconds(counts_.spent.steps),
                   .commits = microseconds(counts_.spent.commits),
                   .lost = microseconds(counts_.spent.lost),
                   .pauses = microseconds(counts_.spent.pauses),
                   .locks = microseconds(counts_.spent.locks),
                   .undoing = microseconds(counts_.spent.undoing)};
        f.at_commit = each(counts_.at_commit);
        f.running = each(counts_.running);
        f.inside = each(counts_.inside);
        f.round_trips = each(counts_.round_trips);
        f.messages = each(messages_);
        f.bytes = each(bytes_);
        f.directory = each(directory_);
        f.median = percentile(50);
        f.of_99 = percentile(99);
        inspect_nodes(f);
    }
    double percentile(unsigned of_100) {
        std::vector<std::uint64_t>& all = counts_.latencies;
        if (all.empty()) return 0;
        const auto nth = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) * of_100 / 100);
        std::ranges::nth_element(all, nth);
        return static_cast<double>(*nth) / 1000;
    }
    void inspect_nodes(figures& f) {
        std::uint64_t lowest = ~std::uint64_t{0};
        for (unsigned i = 0; i < plan_.nodes; ++i) {
            const double share = static_cast<double>(processors_[i].busy(network().now()) - busy_before_[i]) /
                                 static_cast<double>(plan_.duration * plan_.processors);
            f.busy += share / plan_.nodes;
            f.busiest = std::max(f.busiest, share);
            const auto n = static_cast<node_number>(i);
            const auto held = at(n).objects.count();
            f.directory_entries += static_cast<double>(held.directory_entries) / plan_.nodes;
            f.old_versions += static_cast<double>(held.old_versions) / plan_.nodes;
            f.clock = std::max(f.clock, at(n).clock.now());
            lowest = std::min(lowest, at(n).clock.now());
        }
        f.clock_apart = static_cast<double>(f.clock) / static_cast<double>(std::max<std::uint64_t>(lowest, 1));
    }

    const plan plan_;
    const std::unique_ptr<pattern> pattern_;
    std::vector<processors> processors_;
    std::vector<std::uint64_t> busy_before_;
    run_counts counts_;
    std::uint64_t made_ = 0, messages_ = 0, bytes_ = 0, directory_ = 0;
    figures found_;
    interleaving::fiber main_;
    std::deque<client> clients_;
};

}  // namespace

figures run(const plan& p) {
    check(p);
    return simulated{p}.go();
}

}  // namespace bench::cluster
