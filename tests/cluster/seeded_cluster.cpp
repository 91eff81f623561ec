#include "cluster/seeded_cluster.hpp"

#include <algorithm>

#include "cluster/protocol/named_lock_client.hpp"
#include "cluster/recording.hpp"

namespace tutti::cluster::testing {
namespace {

constexpr std::uint64_t silence_limit = 400;  // time without an answer until a query is sent again
constexpr std::size_t max_steps = 100'000;    // limit for one run; a run usually takes some thousand steps
constexpr unsigned attempts_to_seniority = 16;
constexpr unsigned max_attempts_of_one = 100;

/// Thrown when a client's node has ended, to unwind its stack.
struct node_has_ended {};

}  // namespace

plan of_seed(std::uint64_t seed) {
    wire::simulated_network dice{seed * 7919 + 1, {}, nullptr};
    plan p;
    p.seed = seed;
    p.nodes = static_cast<node_number>(1 + dice.random_below(4));
    p.clients_of_node = static_cast<unsigned>(1 + dice.random_below(3));
    p.objects = static_cast<unsigned>(2 + dice.random_below(5));
    p.how = dice.chance(30) ? object_placement::home : object_placement::writer;
    p.network.max_delay = 2 + dice.random_below(80);
    if (dice.chance(60)) {
        p.network.in_order = false;
        p.network.loss_percent = static_cast<unsigned>(dice.random_below(20));
        p.network.duplicate_percent = static_cast<unsigned>(dice.random_below(30));
    }
    if (dice.chance(60)) p.directory = {.pointers = 0, .erased = static_cast<std::size_t>(dice.random_below(2))};
    if (dice.chance(50)) p.copy_threshold = static_cast<unsigned>(1 + dice.random_below(3));
    // With this limit, each of the cache's 64 shards has room for one object or a few. The hash of an object's id
    // selects the shard.
    if (dice.chance(30)) p.cache = 64 * (200 + dice.random_below(300));
    return p;
}

plan with_an_end(std::uint64_t seed) {
    wire::simulated_network dice{seed * 6271 + 5, {}, nullptr};
    plan p = of_seed(seed);
    p.nodes = static_cast<node_number>(2 + dice.random_below(3));
    p.one_ends = true;
    p.erases = false;
    p.ends_at = 1 + dice.random_below(40 * p.network.max_delay);
    p.which_ends = static_cast<node_number>(dice.random_below(p.nodes));
    // The others notice the end soon, so that decisions in transit reach some nodes and miss others.
    if (seed % 2 == 0) p.notice = 1 + p.network.max_delay / 2;
    return p;
}

plan with_a_rejoin(std::uint64_t seed) {
    plan p = with_an_end(seed);
    wire::simulated_network dice{seed * 4871 + 11, {}, nullptr};
    p.rejoins = true;
    p.transactions += static_cast<unsigned>(dice.random_below(10));
    p.another_ends = p.nodes > 2 && dice.chance(40);
    p.other_ends_at =
        dice.chance(50) ? p.ends_at + dice.random_below(1500) : 1 + dice.random_below(40 * p.network.max_delay);
    p.other_that_ends = static_cast<node_number>((p.which_ends + 1 + dice.random_below(p.nodes - 1u)) % p.nodes);
    return p;
}

/// A thread of a node: a fiber that runs transactions, and the port through which they send requests.
class seeded_cluster::client final : public simulation::simulated_thread {
public:
    client(seeded_cluster& w, node_number at, std::uint16_t slot)
        : simulated_thread{w, at},
          owner_{w},
          protocol_node_{w.at(at)},
          work_{protocol_node_, *this, slot},
          record_{work_, w.history_},
          named_locks_{protocol_node_, *this, slot},
          fiber_{std::size_t{256} * 1024} {
        fiber_.prepare(&start, this);
    }

    void pause(unsigned turn) override {
        pausing_ = true;
        owner_.network().after(1 + owner_.network().random_below(8 * turn + 8), [this] {
            pausing_ = false;
            owner_.resume(*this);
        });
        while (pausing_) suspend();
    }

    /// Returns the names that the client holds, as far as it was told.
    [[nodiscard]] std::span<const wire::claim_item> names() const noexcept { return names_; }
    void resume() override { owner_.resume(*this); }
    interleaving::fiber& stack() noexcept { return fiber_; }
    [[nodiscard]] bool done() const noexcept { return done_; }
    [[nodiscard]] bool asleep() const noexcept { return asleep_; }
    /// Wakes the client because a watched object may have changed.
    void wake(const object_id& id) {
        if (!watches_ || work_.find(id) == nullptr) return;
        rung_ = true;
        if (!asleep_) return;
        ++owner_.wakes_;
        owner_.resume(*this);
    }
    [[nodiscard]] bool may_sleep() const { return is_as_it_was_read(work_, owner_.protocol_nodes()); }
    /// Wakes the client because a node that may own watched objects is lost.
    void wake_all() {
        rung_ = true;
        if (asleep_) owner_.resume(*this);
    }
    /// Ends the client, because its node has ended.
    void end() {
        has_ended_ = true;
        owner_.resume(*this);
    }
    void be_auditor() noexcept { audits_ = true; }

private:
    static void start(void* self) {
        client& c = *static_cast<client*>(self);
        try {
            if (c.audits_) c.audit();
            else if (!c.has_ended_) c.live();
        } catch (const node_has_ended&) {
            c.work_.end_snapshot();
            c.watches_ = c.asleep_ = false;
            c.names_.clear();
            c.record_.left_alone();
            if (c.owner_.irrevocable_ == &c) c.owner_.irrevocable_ = nullptr;
        }
        c.begin({});  // the slot no longer sends requests
        c.done_ = true;
        interleaving::fiber::leave_for(c.fiber_, c.owner_.main_);
    }
    void suspend() override {
        interleaving::fiber::change(fiber_, owner_.main_);
        if (has_ended_) throw node_has_ended{};
    }
    [[nodiscard]] std::uint64_t failure_timeout() const noexcept override { return testing::silence_limit; }
    void live() {
        for (unsigned i = 0; i < owner_.plan_.transactions; ++i) {
            const std::uint64_t what = owner_.network().random_below(~std::uint64_t{0});
            named_locks_.begin_execution();
            lost_ = 0;
            work_in_vain_ = 0;
            priority_ = static_cast<std::int64_t>(what % 3) - 1;
            is_notified_ = false;
            for (unsigned turn = 1; !attempt_once(what, turn == 1) && !is_notified_; ++turn) {
                if (conflicted_) count_conflict();
                if (!(conflicted_ && work_.has_reservations()) || work_.was_outranked()) pause(turn);
            }
            owner_.max_attempts_ = std::max(owner_.max_attempts_, lost_ + 1);
        }
    }
    /// Checks outcomes that report a lost node. They end the transaction, and the named node must really have
    /// ended.
    protocol_status check_outcome(protocol_status o, node_number gone) {
        if (o != protocol_status::lost && o != protocol_status::uncertain) return o;
        if (!owner_.has_ended(gone)) owner_.wrong_ = runs_and_is_lost;
        is_notified_ = true;
        ++owner_.errors_;
        if (o != protocol_status::uncertain) return o;
        ++owner_.uncertain_;
        record_.left_alone();
        return o;
    }
    protocol_status check_outcome(protocol_status o) { return check_outcome(o, work_.lost_node()); }
    void count_conflict() {
        if (++lost_ == max_attempts_of_one) owner_.wrong_ = one_starves;
        work_in_vain_ += 1 + static_cast<std::int64_t>(work_.entries().size());
    }
    /// Sets the behavior in conflicts as the engine's policies do (src/cluster/participant/enlistment.cpp).
    void mind_others() {
        conduct as = owner_.plan_.conduct;
        if (as == conduct::mixed) as = static_cast<conduct>(number() % static_cast<unsigned>(conduct::mixed));
        contention_behavior m{.waits = as != conduct::hasty};
        bool asserts = false;
        switch (as) {
            case conduct::age: asserts = lost_ != 0; break;
            case conduct::work:
                asserts = lost_ != 0;
                m.precedence.rank = work_in_vain_;
                m.counts_objects = true;
                break;
            case conduct::priority:
                asserts = priority_ > 0;
                m.precedence.rank = priority_;
                break;
            case conduct::all:
                asserts = true;
                m.precedence.rank = highest_rank - 1;
                break;
            default: break;
        }
        if (lost_ >= attempts_to_seniority) m = {.waits = true, .precedence = {.rank = highest_rank}};
        if (asserts || lost_ >= attempts_to_seniority) {
            m.precedence.age = named_locks_.age();
            m.reserve_for = &named_locks_;
            ++owner_.reserving_attempts_;
        }
        work_.set_behavior(m);
    }

    /// Runs one attempt, sometimes with abstract locks around it. The locks behave as for a block all of whose open
    /// nested blocks commit. The attempt's own steps therefore do not affect the locks.
    bool attempt_once(std::uint64_t what, bool may_sleep) {
        // A separate generator keeps the transaction the same as without locks.
        wire::simulated_network dice{what ^ 0x5bd1e995u, {}, nullptr};
        const bool with_names = !dice.chance(70);
        names_.clear();
        conflicted_ = false;
        const bool took = !with_names || take_names(dice);
        const bool done =
            took && (dice.chance(15) ? run_irrevocably(what, dice) : run_once(what, may_sleep && !with_names));
        names_.clear();
        named_locks_.release();
        owner_.waits_ += work_.wait_count();
        return done;
    }
    /// Runs one attempt of a transaction that becomes irrevocable after some steps, and must commit from then on.
    bool run_irrevocably(std::uint64_t what, wire::simulated_network& dice) {
        record_.begin(number());
        writes_of_100_ = 60;
        static_cast<void>(work_.begin());
        mind_others();
        const unsigned steps = 1 + static_cast<unsigned>(dice.random_below(5));
        const auto late = static_cast<unsigned>(dice.chance(50) ? 0 : dice.random_below(steps));
        for (unsigned i = 0; i < steps; ++i) {
            if (i == late && !become_irrevocable(late == 0)) return false;
            wire::simulated_network step{what + std::uint64_t{i + 1} * 7919, {}, nullptr};
            if (one_step(step) != protocol_status::good) return fail_irrevocably();
        }
        record_.write_as_planned();
        if (check_outcome(work_.prepare(dice.chance(60))) != protocol_status::good) return fail_irrevocably();
        if (dice.chance(30)) pause(2);
        work_.commit();
        record_.committed(work_.version(), now());
        owner_.irrevocable_ = nullptr;
        ++owner_.irrevocable_blocks_;
        owner_.late_irrevocable_blocks_ += late != 0 ? 1u : 0u;
        return true;
    }
    /// Returns false if the attempt has to start over, which is allowed only after it has opened an object.
    bool become_irrevocable(bool from_the_begin) {
        protocol_status o = named_locks_.acquire_token(named_locks_.name());
        while (o == protocol_status::conflict && from_the_begin) o = named_locks_.acquire_token(named_locks_.name());
        if (check_outcome(o, named_locks_.lost_node()) != protocol_status::good) return false;
        conflicted_ = check_outcome(work_.reserve_irrevocably(named_locks_)) != protocol_status::good;
        if (conflicted_) return false;
        if (owner_.irrevocable_ != nullptr) owner_.wrong_ = two_are_irrevocable;
        owner_.irrevocable_ = this;
        return true;
    }
    bool fail_irrevocably() {
        if (work_.is_irrevocable() && !is_notified_) owner_.wrong_ = irrevocable_starts_over;
        if (owner_.irrevocable_ == this) owner_.irrevocable_ = nullptr;
        record_.refused();
        conflicted_ = true;
        return false;
    }
    bool take_names(wire::simulated_network& dice) {
        for (auto more = 1 + dice.random_below(3); more != 0; --more) {
            std::vector<wire::claim_item> wanted;
            for (auto n = 1 + dice.random_below(2); n != 0; --n)
                wanted.push_back({{1, dice.random_below(4)}, dice.chance(40)});
            const protocol_status o = named_locks_.acquire(wanted, named_locks_.name());
            if (check_outcome(o, named_locks_.lost_node()) != protocol_status::good) {
                ++owner_.names_refused_;
                return false;
            }
            names_.insert(names_.end(), wanted.begin(), wanted.end());
            ++owner_.names_acquired_;
            if (owner_.is_held_by_two()) owner_.wrong_ = two_have_a_name;
            if (dice.chance(50)) pause(2);
        }
        return true;
    }

    /// Sleeps as `retry` does, and returns when it is woken.
    void sleep() {
        watches_ = true;
        rung_ = false;
        const bool current = check_outcome(work_.watch()) == protocol_status::good;
        asleep_ = true;
        while (current && !rung_) suspend();
        watches_ = asleep_ = false;
    }

    /// Runs one attempt of the transaction that `what` describes. Returns true if the attempt has committed.
    bool run_once(std::uint64_t what, bool may_sleep) {
        wire::simulated_network dice{what, {}, nullptr};
        record_.begin(number());
        writes_of_100_ = dice.chance(40) ? 0 : 60;
        const bool snapshot = writes_of_100_ == 0 && dice.chance(70);
        static_cast<void>(work_.begin(snapshot));  // the transaction uses nothing but objects
        if (!snapshot) mind_others();
        const unsigned steps = 1 + static_cast<unsigned>(dice.random_below(snapshot ? 6 : 5));
        const bool good = run_steps(what, steps, snapshot || dice.chance(25) ? 0 : 45);
        work_.end_snapshot();
        if (good && may_sleep && dice.chance(15)) {
            named_locks_.release();  // as a block that is rolled back does
            sleep();
            return false;
        }
        if (!good && snapshot && !is_notified_) {
            // A node that rejoined has not kept its former versions.
            if (work_.why() != rollback_reason::snapshot_too_old || work_.time() >= owner_.latest_rejoin_version())
                owner_.wrong_ = reader_starts_over;
            ++owner_.readers_too_late_;
        }
        conflicted_ = !good;
        if (!good) return false;
        if (snapshot) ++owner_.snapshots_;
        if (snapshot || (!record_.writes() && !dice.chance(20))) {
            record_.committed(0, now());
            return true;
        }
        record_.write_as_planned();
        conflicted_ = check_outcome(work_.prepare(dice.chance(60))) != protocol_status::good;
        if (conflicted_) {
            record_.refused();
            return false;
        }
        if (dice.chance(30)) pause(2);
        // Another part of the transaction refuses to commit, unless one message has already decided. A separate
        // generator ensures that the next attempt does not always do the same.
        if (owner_.network().chance(5) && !work_.is_decided()) {
            work_.abort();
            record_.refused();
            return false;
        }
        work_.commit();
        record_.committed(work_.version(), now());
        owner_.committed_after_ += protocol_node_.last_former_name != 0 ? 1u : 0u;
        return true;
    }
    [[nodiscard]] std::uint64_t now() { return owner_.network().now() + 1; }

    /// Runs the steps. A conflict rolls back to an open block if possible, as in the engine. Returns false if the
    /// attempt has to start over.
    bool run_steps(std::uint64_t what, unsigned steps, unsigned blocks_of_100) {
        constexpr unsigned max_rollbacks = 8;
        unsigned rollbacks = 0;
        for (unsigned i = 0; i < steps;) {
            wire::simulated_network dice{what + std::uint64_t{i + 1} * 7919, {}, nullptr};
            const bool opens = dice.chance(blocks_of_100), checkpoint = dice.chance(50);
            const auto length = static_cast<unsigned>(dice.random_below(3));
            if (opens && record_.may_begin_block(i))
                record_.open_block(i, checkpoint ? steps - 1 : std::min(i + length, steps - 1), checkpoint);
            protocol_status o = check_outcome(prefetch_some(what + i));
            if (o == protocol_status::good) o = one_step(dice);
            if (o == protocol_status::good) o = check_outcome(record_.end_blocks(i, protocol_node_.clock.now()));
            if (o == protocol_status::good) {
                ++i;
                continue;
            }
            if (o != protocol_status::conflict || rollbacks++ == max_rollbacks) return false;
            const std::optional<unsigned> to = record_.go_back();
            if (!to) return false;
            ++owner_.partial_rollbacks_;
            owner_.steps_kept_ += *to;
            i = *to;
        }
        return true;
    }
    /// Sometimes prefetches: objects that this step opens, that a later step opens, or that are never opened.
    protocol_status prefetch_some(std::uint64_t seed) {
        wire::simulated_network dice{seed * 31 + 7, {}, nullptr};
        if (!dice.chance(20)) return protocol_status::good;
        std::vector<object_id> ids;
        for (auto n = 1 + dice.random_below(2); n != 0; --n)
            ids.push_back({0, dice.random_below(owner_.plan_.objects)});
        return work_.prefetch(ids);
    }
    protocol_status one_step(wire::simulated_network& dice) {
        std::vector<object_id> ids{{0, dice.random_below(owner_.plan_.objects)}};
        if (dice.chance(30)) ids.push_back({0, dice.random_below(owner_.plan_.objects)});
        // The body of an attempt that fails later has also seen these values.
        protocol_status o = work_.open(ids);
        while (o == protocol_status::conflict && work_.is_irrevocable() && work_.why() == rollback_reason::busy)
            o = work_.open(ids);
        if (check_outcome(o) != protocol_status::good) return o;
        for (const object_id& id : ids) record_.saw(id);
        if (dice.chance(writes_of_100_)) record_.plan_write(ids.front(), dice.chance(85) || !owner_.plan_.erases);
        if (dice.chance(20)) pause(1);
        return protocol_status::good;
    }

    /// Opens every object alone, and then all existing objects together. A client that was told of a commit must see
    /// that commit.
    void audit() {
        std::vector<object_id> there;
        for (std::uint64_t i = 0; i < owner_.plan_.objects; ++i) {
            if (read_object({{0, i}})) there.push_back({0, i});
            else note_out_of_reach({0, i});
        }
        owner_.still_there_ += there.size();
        if (!read_object(there)) owner_.wrong_ = "objects that are there cannot be read together";
    }
    void note_out_of_reach(const object_id& id) {
        ++owner_.out_of_reach_;
        // When all nodes are back, only a commit of a former process can still lock the object.
        const bool in_doubt = std::ranges::any_of(owner_.protocol_nodes(), [&id](const auto& s) {
            wire::object_view view;
            s->objects.read(id, view);
            return view.where == wire::lookup_result::in_doubt;
        });
        if (owner_.plan_.rejoins && !in_doubt) owner_.wrong_ = out_of_reach_for_nothing;
    }
    /// Returns false if a needed node is lost.
    bool read_object(const std::vector<object_id>& ids) {
        for (unsigned turn = 1;; ++turn) {
            record_.begin(number());
            record_.entry_in_history().begun = now() + 1;
            static_cast<void>(work_.begin());
            const protocol_status o = check_outcome(work_.open(ids));
            for (std::size_t i = 0; i < ids.size() && o == protocol_status::good; ++i) record_.saw(ids[i]);
            if (o == protocol_status::good) record_.committed(0);
            if (o != protocol_status::conflict) return o == protocol_status::good;
            if (turn == max_attempts_of_one) owner_.wrong_ = one_starves;
            pause(turn);
        }
    }

    seeded_cluster& owner_;
    protocol_node& protocol_node_;
    distributed_transaction work_;
    recording record_;
    named_lock_client named_locks_;
    std::vector<wire::claim_item> names_;
    unsigned writes_of_100_ = 0;
    bool conflicted_ = false;  // the attempt has lost an object to another transaction
    unsigned lost_ = 0;        // failed attempts of the transaction
    std::int64_t work_in_vain_ = 0, priority_ = 0;
    interleaving::fiber fiber_;
    bool done_ = false;
    bool pausing_ = false;
    bool is_notified_ = false;  // the client was told that a node is lost
    bool has_ended_ = false;    // the client's own node has ended
    bool audits_ = false;
    bool watches_ = false;
    bool rung_ = false;
    bool asleep_ = false;
};

seeded_cluster::seeded_cluster(const plan& p) : simulated_cluster{p.nodes, p.how, p.seed, p.network}, plan_{p} {
    for (node_number i = 0; i < p.nodes; ++i) seeded_cluster::on_new_node(at(i));
    for (unsigned i = 0; i < p.nodes * p.clients_of_node; ++i)
        add_client(static_cast<node_number>(i % p.nodes), i / p.nodes);
    if (p.one_ends) network().after(p.ends_at, [this] { end_one(plan_.which_ends); });
    if (p.another_ends) network().after(p.other_ends_at, [this] { end_one(plan_.other_that_ends); });
}

seeded_cluster::~seeded_cluster() = default;

void seeded_cluster::on_new_node(protocol_node& fresh) {
    fresh.objects.limit(plan_.directory);
    fresh.objects.set_copy_threshold(plan_.copy_threshold);
    if (plan_.copy_threshold != 0) fresh.cache.limit(plan_.cache);
}

seeded_cluster::client& seeded_cluster::add_client(node_number at, unsigned slot) {
    clients_.push_back(std::make_unique<client>(*this, at, static_cast<std::uint16_t>(slot)));
    return *clients_.back();
}

void seeded_cluster::start(client& c) {
    network().after(network().random_below(50), [this, &c] { resume(c); });
}

void seeded_cluster::resume(client& c) {
    if (!c.done()) interleaving::fiber::change(main_, c.stack());
}

void seeded_cluster::end_one(node_number n) {
    end_node(n, plan_.notice);
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        if (clients_[i]->home() == n) clients_[i]->end();
    }
    if (!plan_.rejoins && !injected(fault::rejoin_as_former)) return;
    network().after(2 * plan_.notice, [this, n] { restart_node(n, plan_.notice); });
}

void seeded_cluster::on_rejoined(node_number n) {
    ++rejoined_nodes_;
    if (const std::uint64_t version = rejoin_version(n); version != 0) history_.node_returns(version);
    for (unsigned i = 0; i < plan_.clients_of_node; ++i) start(add_client(n, i));
}

void seeded_cluster::on_node_lost(node_number at, node_number /*gone*/) {
    for (const auto& c : clients_) {
        if (c->home() == at) c->wake_all();
    }
}

void seeded_cluster::audit() {
    for (node_number n = 0; n < plan_.nodes; ++n) {
        if (!is_serving(n)) continue;
        client& auditor = add_client(n, plan_.clients_of_node);
        auditor.be_auditor();
        start(auditor);
    }
}

/// Compares the counters of the nodes with the counts that a scan finds.
bool seeded_cluster::is_miscounted() {
    return std::ranges::any_of(protocol_nodes(), [](const auto& s) {
        std::uint64_t found = 0;
        s->objects.for_each([&found](const object_id&, const std::string&) { ++found; });
        return s->objects.count().objects != found;
    });
}

bool seeded_cluster::is_on_several() {
    for (std::uint64_t i = 0; i < plan_.objects; ++i) {
        const auto owners = std::ranges::count_if(protocol_nodes(), [i](const auto& s) {
            wire::object_view view;
            s->objects.read({0, i}, view);
            return view.where == wire::lookup_result::here;
        });
        if (owners > 1) return true;
    }
    return false;
}

object_directory::statistics seeded_cluster::object_statistics() {
    object_directory::statistics all;
    for (const auto& s : protocol_nodes()) {
        const object_directory::statistics f = s->objects.count();
        all.outranked += f.outranked;
        all.reservations_lost += f.reservations_lost;
    }
    return all;
}

commit_participant::statistics seeded_cluster::doubts() {
    commit_participant::statistics all;
    for (const auto& s : protocol_nodes()) {
        const commit_participant::statistics some = s->commits.count();
        all.in_doubt += some.in_doubt;
        all.committed += some.committed;
        all.aborted += some.aborted;
    }
    return all;
}

std::uint64_t seeded_cluster::copy_reads() {
    std::uint64_t all = 0;
    for (const auto& s : protocol_nodes()) all += s->cache.count().hits;
    return all;
}

std::uint64_t seeded_cluster::copy_reads_after_rejoin() {
    std::uint64_t all = 0;
    for (const auto& s : protocol_nodes()) all += s->last_former_name != 0 ? s->cache.count().hits : 0;
    return all;
}

bool seeded_cluster::is_held_by_two() const {
    for (const auto& one : clients_) {
        for (const auto& two : clients_) {
            if (one == two) continue;
            for (const wire::claim_item& n : one->names()) {
                if (std::ranges::any_of(two->names(), [&n](const wire::claim_item& m) {
                        return m.name == n.name && !(m.shared && n.shared);
                    }))
                    return true;
            }
        }
    }
    return false;
}

void seeded_cluster::on_change(node_number at, const object_id& id) {
    for (const auto& c : clients_) {
        if (c->home() == at) c->wake(id);
    }
}

std::string seeded_cluster::run_to_the_end() {
    std::size_t steps = 0;
    while (wrong_.empty() && network().step()) {
        if (++steps > max_steps) return never_ends;
    }
    return wrong_;
}

std::string seeded_cluster::run() {
    for (std::size_t i = 0; i < clients_.size(); ++i) start(*clients_[i]);
    if (std::string wrong = run_to_the_end(); !wrong.empty()) return wrong;
    for (const auto& c : clients_) {
        if (c->done()) continue;
        if (!c->asleep()) return "a client waits for ever";
        if (!c->may_sleep()) return sleeps_on;
    }
    for (const auto& s : protocol_nodes()) {
        if (!is_serving(s->self)) {
            if (plan_.rejoins) return stays_out;
            continue;
        }
        if (s->locks.held() != 0) return name_is_left;
        if (s->reserved_objects.held() != 0) return object_is_left;
    }
    if (is_miscounted()) return "a node has miscounted its objects";
    if (plan_.rejoins && is_on_several()) return on_several;
    if (plan_.one_ends) audit();
    if (std::string wrong = run_to_the_end(); !wrong.empty()) return wrong;
    history_.settle_doubts();
    return history_.judge();
}

}  // namespace tutti::cluster::testing
