#include "cluster/world.hpp"

#include <algorithm>
#include <cstring>

#include "cluster/protocol/claims.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster::testing {
namespace {

constexpr std::uint64_t patience = 400;      // before a question is asked again
constexpr std::size_t most_steps = 100'000;  // of a run; one takes some thousand
constexpr unsigned attempts_to_seniority = 16;
constexpr unsigned most_attempts_of_one = 100;

std::string bytes_of(writer_tag tag) { return {reinterpret_cast<const char*>(&tag), sizeof tag}; }

writer_tag tag_of(const std::string& bytes) {
    writer_tag tag = 0;
    std::memcpy(&tag, bytes.data(), std::min(bytes.size(), sizeof tag));
    return tag;
}

}  // namespace

plan of_seed(std::uint64_t seed) {
    wire::simulation dice{seed * 7919 + 1, {}, nullptr};
    plan p;
    p.seed = seed;
    p.nodes = static_cast<node_number>(1 + dice.below(4));
    p.clients_of_node = static_cast<unsigned>(1 + dice.below(3));
    p.objects = static_cast<unsigned>(2 + dice.below(5));
    p.how = dice.chance(30) ? moving::never : moving::to_writer;
    p.network.longest = 2 + dice.below(80);
    if (dice.chance(60)) {
        p.network.in_order = false;
        p.network.lost_of_100 = static_cast<unsigned>(dice.below(20));
        p.network.doubled_of_100 = static_cast<unsigned>(dice.below(30));
    }
    if (dice.chance(60)) p.directory = {.pointers = 0, .erased = static_cast<std::size_t>(dice.below(2))};
    return p;
}

/// A thread of a node: a fiber that runs transactions, and the port that they ask others through.
class world::client final : public simulation::caller {
public:
    client(world& w, node_number at, std::uint16_t slot)
        : caller{w, at},
          world_{w},
          site_{w.at(at)},
          work_{site_, *this, slot},
          claims_{site_, *this, slot},
          fiber_{std::size_t{256} * 1024} {
        fiber_.prepare(&start, this);
    }

    void pause(unsigned turn) override {
        bool over = false;
        world_.network().after(1 + world_.network().below(8 * turn + 8), [&] {
            over = true;
            world_.resume(*this);
        });
        while (!over) suspend();
    }

    /// That it has been told it holds.
    [[nodiscard]] std::span<const wire::claim_item> names() const noexcept { return names_; }
    void resume() override { world_.resume(*this); }
    interleaving::fiber& stack() noexcept { return fiber_; }
    [[nodiscard]] bool done() const noexcept { return done_; }
    [[nodiscard]] bool asleep() const noexcept { return asleep_; }
    /// One of the objects that it watches may have changed.
    void ring(const object_id& id) {
        if (!watches_ || work_.find(id) == nullptr) return;
        rung_ = true;
        if (!asleep_) return;
        ++world_.wakes_;
        world_.resume(*this);
    }
    /// Whether every object that it has read is as it was, on the node that owns it. What does not exist may have been
    /// forgotten since (S9), and has another version then.
    [[nodiscard]] bool may_sleep() const {
        for (const auto& e : work_.entries()) {
            bool same = false;
            for (const auto& s : world_.sites()) {
                wire::object_view now;
                s->objects.look(e->id, now);
                same = same || (now.where == wire::whereabouts::here && now.exists == e->exists &&
                                (now.version == e->version || !e->exists));
            }
            if (!same) return false;
        }
        return true;
    }

private:
    static void start(void* self) {
        client& c = *static_cast<client*>(self);
        c.live();
        c.done_ = true;
        interleaving::fiber::leave_for(c.fiber_, c.world_.main_);
    }
    void suspend() override { interleaving::fiber::change(fiber_, world_.main_); }
    [[nodiscard]] std::uint64_t patience() const noexcept override { return testing::patience; }
    void live() {
        for (unsigned i = 0; i < world_.plan_.transactions; ++i) {
            const std::uint64_t what = world_.network().below(~std::uint64_t{0});
            claims_.begin_execution();
            lost_ = 0;
            work_in_vain_ = 0;
            priority_ = static_cast<std::int64_t>(what % 3) - 1;
            for (unsigned turn = 1; !attempt_once(what, turn == 1); ++turn) {
                if (beaten_) count_defeat();
                if (!(beaten_ && work_.is_shielded()) || work_.was_outranked()) pause(turn);
            }
            world_.most_attempts_ = std::max(world_.most_attempts_, lost_ + 1);
        }
    }
    void count_defeat() {
        if (++lost_ == most_attempts_of_one) world_.wrong_ = one_starves;
        work_in_vain_ += 1 + static_cast<std::int64_t>(work_.entries().size());
    }
    /// As the engine's policies do (src/cluster/enlistment.cpp).
    void mind_others() {
        conduct as = world_.plan_.conduct;
        if (as == conduct::mixed) as = static_cast<conduct>(number() % static_cast<unsigned>(conduct::mixed));
        manners m{.waits = as != conduct::hasty};
        bool asserts = false;
        switch (as) {
            case conduct::age: asserts = lost_ != 0; break;
            case conduct::work:
                asserts = lost_ != 0;
                m.as.rank = work_in_vain_;
                m.counts_objects = true;
                break;
            case conduct::priority:
                asserts = priority_ > 0;
                m.as.rank = priority_;
                break;
            case conduct::all:
                asserts = true;
                m.as.rank = highest_rank - 1;
                break;
            default: break;
        }
        if (lost_ >= attempts_to_seniority) m = {.waits = true, .as = {.rank = highest_rank}};
        if (asserts || lost_ >= attempts_to_seniority) {
            m.as.age = claims_.age();
            m.shield = &claims_;
            ++world_.shielded_;
        }
        work_.behave(m);
    }

    /// One attempt, with abstract locks around it in a part of them; as for a block whose every open nested block
    /// commits, what it does meanwhile does not matter to the locks.
    bool attempt_once(std::uint64_t what, bool may_sleep) {
        // By other dice, which leave the transaction as it is without.
        wire::simulation dice{what ^ 0x5bd1e995u, {}, nullptr};
        const bool with_names = !dice.chance(70);
        names_.clear();
        beaten_ = false;
        const bool took = !with_names || take_names(dice);
        const bool done =
            took && (dice.chance(15) ? run_irrevocably(what, dice) : run_once(what, may_sleep && !with_names));
        names_.clear();
        claims_.release();
        world_.waits_ += work_.waits();
        return done;
    }
    /// One attempt of a transaction that becomes irrevocable after some steps, and must commit from then on.
    bool run_irrevocably(std::uint64_t what, wire::simulation& dice) {
        tag_ = world_.history_.begin(number());
        writes_of_100_ = 60;
        planned_.clear();
        static_cast<void>(work_.begin());
        mind_others();
        const unsigned steps = 1 + static_cast<unsigned>(dice.below(5));
        const auto late = static_cast<unsigned>(dice.chance(50) ? 0 : dice.below(steps));
        for (unsigned i = 0; i < steps; ++i) {
            if (i == late && !become_irrevocable(late == 0)) return false;
            wire::simulation step{what + std::uint64_t{i + 1} * 7919, {}, nullptr};
            if (one_step(step) != outcome::good) return fail_irrevocably();
        }
        write_as_planned();
        if (work_.prepare(dice.chance(60)) != outcome::good) return fail_irrevocably();
        if (dice.chance(30)) pause(2);
        work_.commit();
        world_.history_.of(tag_).committed = true;
        world_.history_.of(tag_).version = work_.version();
        world_.irrevocable_ = nullptr;
        ++world_.bound_;
        world_.bound_late_ += late != 0 ? 1u : 0u;
        return true;
    }
    /// False: it has to start over, which it still may if it has opened something.
    bool become_irrevocable(bool from_the_begin) {
        outcome o = claims_.take_token(claims_.name());
        while (o == outcome::conflict && from_the_begin) o = claims_.take_token(claims_.name());
        if (o != outcome::good) return false;
        beaten_ = work_.bind(claims_) != outcome::good;
        if (beaten_) return false;
        if (world_.irrevocable_ != nullptr) world_.wrong_ = two_are_irrevocable;
        world_.irrevocable_ = this;
        return true;
    }
    bool fail_irrevocably() {
        if (work_.is_bound()) world_.wrong_ = bound_starts_over;
        beaten_ = true;
        return false;
    }
    bool take_names(wire::simulation& dice) {
        for (auto more = 1 + dice.below(3); more != 0; --more) {
            std::vector<wire::claim_item> wanted;
            for (auto n = 1 + dice.below(2); n != 0; --n) wanted.push_back({{1, dice.below(4)}, dice.chance(40)});
            if (claims_.take(wanted, claims_.name()) != outcome::good) {
                ++world_.names_refused_;
                return false;
            }
            names_.insert(names_.end(), wanted.begin(), wanted.end());
            ++world_.names_taken_;
            if (world_.is_held_by_two()) world_.wrong_ = two_have_a_name;
            if (dice.chance(50)) pause(2);
        }
        return true;
    }

    /// A nested block of the program: of some steps, or, as a checkpoint, of all that are left.
    struct block {
        unsigned first, last;
        bool checkpoint;
        std::size_t opened, reads, writes;  // before it
    };
    struct planned_write {
        object_id id;
        bool exists;
    };
    /// As `retry` does; returns when it is woken.
    void sleep() {
        watches_ = true;
        rung_ = false;
        const bool current = work_.watch() == outcome::good;
        asleep_ = true;
        while (current && !rung_) suspend();
        watches_ = asleep_ = false;
    }

    /// One attempt of the transaction that `what` describes; true if it has committed.
    bool run_once(std::uint64_t what, bool may_sleep) {
        wire::simulation dice{what, {}, nullptr};
        tag_ = world_.history_.begin(number());
        writes_of_100_ = dice.chance(40) ? 0 : 60;
        const bool snapshot = writes_of_100_ == 0 && dice.chance(70);
        static_cast<void>(work_.begin(snapshot));  // there is nothing beside the objects
        if (!snapshot) mind_others();
        const unsigned steps = 1 + static_cast<unsigned>(dice.below(snapshot ? 6 : 5));
        const bool good = run_steps(what, steps, snapshot || dice.chance(25) ? 0 : 45);
        work_.end_snapshot();
        if (good && may_sleep && dice.chance(15)) {
            claims_.release();  // as a block that is rolled back does
            sleep();
            return false;
        }
        if (!good && snapshot) world_.wrong_ = reader_starts_over;
        beaten_ = !good;
        if (!good) return false;
        if (snapshot) ++world_.snapshots_;
        if (snapshot || (planned_.empty() && !dice.chance(20))) {
            world_.history_.of(tag_).committed = true;
            return true;
        }
        write_as_planned();
        beaten_ = work_.prepare(dice.chance(60)) != outcome::good;
        if (beaten_) return false;
        if (dice.chance(30)) pause(2);
        // Where a part of the transaction that is not ours says no; one message may have decided by now. By other
        // dice: the next attempt must not do the same for ever.
        if (world_.network().chance(5) && !work_.decided()) {
            work_.abort();
            return false;
        }
        work_.commit();
        world_.history_.of(tag_).committed = true;
        world_.history_.of(tag_).version = work_.version();
        return true;
    }

    /// Goes back to a block where a conflict leaves a way, as the engine does. False: the attempt has to start over.
    bool run_steps(std::uint64_t what, unsigned steps, unsigned blocks_of_100) {
        constexpr unsigned most_rewinds = 8;
        std::vector<block> open;
        planned_.clear();
        unsigned rewinds = 0;
        for (unsigned i = 0; i < steps;) {
            wire::simulation dice{what + std::uint64_t{i + 1} * 7919, {}, nullptr};
            const bool opens = dice.chance(blocks_of_100), checkpoint = dice.chance(50);
            const auto length = static_cast<unsigned>(dice.below(3));
            if (opens && (open.empty() || open.back().first != i)) {
                // No longer than the one around it.
                const unsigned most = open.empty() ? steps - 1 : open.back().last;
                open.push_back({i, checkpoint ? most : std::min(i + length, most), checkpoint, work_.entries().size(),
                                world_.history_.of(tag_).reads.size(), planned_.size()});
            }
            outcome o = one_step(dice);
            while (o == outcome::good && !open.empty() && open.back().last == i) {
                if (open.back().checkpoint) o = work_.forward(site_.clock.now(), true);
                if (o == outcome::good) open.pop_back();
            }
            if (o == outcome::good) {
                ++i;
                continue;
            }
            if (o != outcome::conflict || !work_.standing() || rewinds++ == most_rewinds) return false;
            while (!open.empty() && open.back().opened > *work_.standing()) open.pop_back();
            if (open.empty()) return false;
            const block& to = open.back();
            work_.rewind(to.opened);
            planned_.resize(to.writes);
            tag_ = world_.history_.go_on(tag_, to.reads);
            ++world_.rewinds_;
            world_.steps_kept_ += to.first;
            i = to.first;
        }
        return true;
    }
    outcome one_step(wire::simulation& dice) {
        std::vector<object_id> ids{{0, dice.below(world_.plan_.objects)}};
        if (dice.chance(30)) ids.push_back({0, dice.below(world_.plan_.objects)});
        // Also what an attempt has read that then fails was seen by its body, if it got so far.
        outcome o = work_.open(ids);
        while (o == outcome::conflict && work_.is_bound() && work_.why() == rollback_reason::busy) o = work_.open(ids);
        if (o != outcome::good) return o;
        for (const object_id& id : ids) note(id);
        if (dice.chance(writes_of_100_)) plan_write(ids.front(), dice.chance(85));
        if (dice.chance(20)) pause(1);
        return outcome::good;
    }
    void note(const object_id& id) {
        std::vector<seen>& reads = world_.history_.of(tag_).reads;
        if (std::ranges::find(reads, id, &seen::id) != reads.end()) return;
        const entry& e = *work_.find(id);
        reads.push_back({e.id, e.exists, e.version, tag_of(e.bytes)});
    }
    void plan_write(const object_id& id, bool exists) {
        if (std::ranges::find(planned_, id, &planned_write::id) == planned_.end()) planned_.push_back({id, exists});
    }
    void write_as_planned() {
        attempt& a = world_.history_.of(tag_);
        for (const planned_write& w : planned_) {
            entry& e = *work_.find(w.id);
            e.written = true;
            e.will_exist = w.exists;
            e.fresh = w.exists ? bytes_of(tag_) : std::string{};
            a.writes.push_back(w.id);
            if (!w.exists) a.erased.push_back(w.id);
        }
    }

    world& world_;
    site& site_;
    transaction work_;
    claims claims_;
    std::vector<wire::claim_item> names_;
    writer_tag tag_ = 0;  // of the attempt that runs
    unsigned writes_of_100_ = 0;
    bool beaten_ = false;  // the attempt has lost an object to another transaction
    unsigned lost_ = 0;    // of the transaction, attempts that have
    std::int64_t work_in_vain_ = 0, priority_ = 0;
    std::vector<planned_write> planned_;
    interleaving::fiber fiber_;
    bool done_ = false;
    bool watches_ = false;
    bool rung_ = false;
    bool asleep_ = false;
};

world::world(const plan& p) : mesh{p.nodes, p.how, p.seed, p.network}, plan_{p} {
    for (node_number i = 0; i < p.nodes; ++i) at(i).objects.limit(p.directory);
    for (unsigned i = 0; i < p.nodes * p.clients_of_node; ++i) {
        const auto home = static_cast<node_number>(i % p.nodes);
        clients_.push_back(std::make_unique<client>(*this, home, static_cast<std::uint16_t>(i / p.nodes)));
    }
}

world::~world() = default;

void world::resume(client& c) { interleaving::fiber::change(main_, c.stack()); }

/// What the nodes count without looking against what a look finds.
bool world::is_miscounted() {
    return std::ranges::any_of(sites(), [](const auto& s) {
        std::uint64_t found = 0;
        s->objects.each([&found](const object_id&, const std::string&) { ++found; });
        return s->objects.count().objects != found;
    });
}

store::figures world::stood_back() {
    store::figures all;
    for (const auto& s : sites()) {
        const store::figures f = s->objects.count();
        all.outranked += f.outranked;
        all.given_way += f.given_way;
    }
    return all;
}

bool world::is_held_by_two() const {
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

void world::heard_of_change(node_number at, const object_id& id) {
    for (const auto& c : clients_) {
        if (c->home() == at) c->ring(id);
    }
}

std::string world::run() {
    for (const auto& c : clients_) network().after(network().below(50), [this, &c] { resume(*c); });
    std::size_t steps = 0;
    while (wrong_.empty() && network().step()) {
        if (++steps > most_steps) return never_ends;
    }
    for (const auto& c : clients_) {
        if (!wrong_.empty() || c->done()) continue;
        if (!c->asleep()) return "a client waits for ever";
        if (!c->may_sleep()) return sleeps_on;
    }
    const bool is_left = std::ranges::any_of(sites(), [](const auto& s) { return s->locks.held() != 0; });
    if (wrong_.empty() && is_left) return name_is_left;
    const bool is_reserved = std::ranges::any_of(sites(), [](const auto& s) { return s->reserved.held() != 0; });
    if (wrong_.empty() && is_reserved) return object_is_left;
    if (wrong_.empty() && is_miscounted()) return "a node has miscounted its objects";
    return wrong_.empty() ? history_.judge() : wrong_;
}

}  // namespace tutti::cluster::testing
