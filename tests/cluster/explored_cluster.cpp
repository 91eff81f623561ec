#include "cluster/explored_cluster.hpp"

#include <algorithm>

#include "cluster/protocol/named_lock_client.hpp"
#include "cluster/recording.hpp"
#include "cluster/seeded_cluster.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster::testing {
namespace {

constexpr unsigned max_rollbacks = 2;  // of an attempt
constexpr unsigned setter_up = ~0u;    // the writer of the initial values
constexpr std::size_t stack = std::size_t{64} * 1024;

/// Object n of a program is at home on node n modulo the number of nodes.
std::vector<object_id> objects_of(const small_program& p) {
    std::vector<object_id> all;
    object_id next{7, 0};
    for (unsigned n = 0; n < p.objects; ++n, ++next.low) {
        while (home_of(next, p.nodes) != n % p.nodes) ++next.low;
        all.push_back(next);
    }
    return all;
}

const char* name_of(wire::message_type k) {
    switch (k) {
        case wire::message_type::fetch: return "fetch";
        case wire::message_type::validate: return "validate";
        case wire::message_type::watch: return "watch";
        case wire::message_type::object_changed: return "changed";
        case wire::message_type::prepare: return "prepare";
        case wire::message_type::decide: return "decide";
        case wire::message_type::withdraw: return "withdraw";
        case wire::message_type::owner_update: return "place";
        case wire::message_type::claim: return "claim";
        case wire::message_type::release: return "release";
        case wire::message_type::reserve: return "reserve";
        case wire::message_type::invalidate: return "invalidate";
        case wire::message_type::invalidate_reply: return "invalidated";
        case wire::message_type::fate_query: return "inquire";
        case wire::message_type::fate_report: return "verdict";
        case wire::message_type::lost_node: return "lost_node";
        case wire::message_type::rejoin_request: return "gather";
        case wire::message_type::ownership_report: return "ownership_report";
        case wire::message_type::rejoin_done: return "opened";
        case wire::message_type::rejoin_ack: return "admitted";
        default: return is_reply(k) ? "answer" : "message";
    }
}

/// Thrown when a client's wait takes too long.
struct gives_up {};
/// Thrown when a client's node has ended, to unwind its stack.
struct node_has_ended {};

}  // namespace

class explored_cluster::client final : public simulation::simulated_thread {
public:
    client(explored_cluster& w, const small_client& program, std::uint16_t slot)
        : simulated_thread{w, program.at},
          owner_{w},
          protocol_node_{w.at(program.at)},
          transactions_{program.transactions},
          work_{protocol_node_, *this, slot},
          inner_{protocol_node_, *this, static_cast<std::uint16_t>(slot + 100)},
          record_{work_, w.history_},
          inner_record_{inner_, w.history_},
          named_locks_{protocol_node_, *this, slot},
          fiber_{stack} {
        fiber_.prepare(&start, this);
    }

    void resume() override { owner_.resume(*this); }
    void pause(unsigned) override {
        if (pauses_++ == owner_.program_.pauses) throw gives_up{};
        let_others();
    }
    interleaving::fiber& stack_of() noexcept { return fiber_; }
    [[nodiscard]] bool done() const noexcept { return done_; }
    [[nodiscard]] bool asleep() const noexcept { return asleep_; }
    [[nodiscard]] bool has_name() const noexcept { return has_name_; }
    [[nodiscard]] bool may_sleep() const { return is_as_it_was_read(work_, owner_.protocol_nodes()); }
    void wake(const object_id& id) {
        if (watches_ && work_.find(id) != nullptr) wake_all();
    }
    void wake_all() {
        rung_ = true;
        if (asleep_) owner_.resume(*this);
    }
    /// Ends the client, because its node has ended.
    void end() {
        has_ended_ = true;
        owner_.resume(*this);
    }

private:
    static void start(void* self) {
        client& c = *static_cast<client*>(self);
        try {
            if (!c.has_ended_) c.live();
        } catch (const node_has_ended&) {
            c.record_.left_alone();
        }
        c.begin({});  // the slot no longer sends requests
        c.done_ = true;
        interleaving::fiber::leave_for(c.fiber_, c.owner_.main_);
    }
    void suspend() override {
        interleaving::fiber::change(fiber_, owner_.main_);
        if (has_ended_) throw node_has_ended{};
    }
    /// Lets other clients run here if the program is `fine`.
    void between() {
        if (owner_.program_.fine) let_others();
    }
    void let_others() {
        owner_.later(home(), "client " + std::to_string(number()) + " continues", [this] { owner_.resume(*this); });
        suspend();
    }

    void live() {
        for (const small_transaction& t : transactions_) {
            named_locks_.begin_execution();
            try {
                bool done = false;
                for (unsigned i = 0; i < owner_.program_.attempts && !done; ++i) {
                    done = attempt_once(t);
                    has_name_ = false;
                    named_locks_.release();
                    between();
                }
                if (done) ++owner_.committed_;
            } catch (const gives_up&) {
                if (owner_.irrevocable_ == this) owner_.irrevocable_ = nullptr;
                work_.end_snapshot();
                has_name_ = false;
                named_locks_.release();
            }
        }
    }

    bool attempt_once(const small_transaction& t) {
        if (t.how == form::open && !run_inner(t.openings.front())) return false;
        const bool good = run_once(t);
        // The undo of an open nested block that has committed must not fail.
        while (t.how == form::open && !good && !run_inner_once(t.openings.front())) pause(0);
        return good;
    }

    bool run_inner(const opening& a) {
        const wire::claim_item name{{1, 0}, false};
        if (named_locks_.acquire({&name, 1}, named_locks_.name()) != protocol_status::good) return false;
        if (owner_.holders_of_name() != 0) owner_.fail(two_have_a_name);
        has_name_ = true;
        return run_inner_once(a);
    }
    /// Runs the open nested block. The history records the nested block for a client of its own. The check therefore
    /// does not order the nested block with the block around it.
    bool run_inner_once(const opening& a) {
        between();
        inner_record_.begin(number() + 100);
        static_cast<void>(inner_.begin());
        inner_.set_behavior({.waits = false});
        if (open(inner_, inner_record_, a) != protocol_status::good) return false;
        return commit(inner_, inner_record_, true);
    }

    bool run_once(const small_transaction& t) {
        record_.begin(number());
        static_cast<void>(work_.begin(t.how == form::snapshot));
        if (t.how != form::snapshot) work_.set_behavior({.waits = false});
        const bool good = run_openings(t);
        work_.end_snapshot();
        const bool is_notified = owner_.program_.ends && work_.why() == rollback_reason::node_lost;
        // A node that rejoined has not kept its former versions.
        const bool is_too_late =
            !good && work_.why() == rollback_reason::snapshot_too_old && work_.time() < owner_.latest_rejoin_version();
        if (is_too_late) ++owner_.readers_too_late_;
        if (t.how == form::snapshot && !good && work_.why() != rollback_reason::busy && !is_notified && !is_too_late)
            owner_.fail(reader_starts_over);
        if (!good) return fail();
        if (t.how == form::sleeper && !owner_.is_changed(work_)) {
            sleep();
            return false;
        }
        if (!record_.writes()) {
            record_.entry_in_history().committed = true;
            return true;
        }
        return commit(work_, record_, !t.variables_beside) || fail();
    }
    bool fail() {
        if (work_.is_irrevocable()) owner_.fail(irrevocable_starts_over);
        return false;
    }

    bool run_openings(const small_transaction& t) {
        const auto last = static_cast<unsigned>(t.openings.size()) - 1;
        const unsigned first = t.how == form::open ? 1 : 0;
        unsigned rollbacks = 0;
        for (unsigned i = first; i <= last;) {
            if (i != first) between();
            const bool has_block = (t.how == form::checkpoint && i > 0) || (t.how == form::closed && i == 1);
            if (has_block && record_.may_begin_block(i)) record_.open_block(i, last, t.how == form::checkpoint);
            if (i == (t.how == form::late ? 1u : 0u) && (t.how == form::late || t.how == form::irrevocable)) {
                if (!become_irrevocable()) return false;
            }
            protocol_status o = open(work_, record_, t.openings[i]);
            if (o == protocol_status::good) o = record_.end_blocks(i, protocol_node_.clock.now());
            if (o == protocol_status::good) {
                ++i;
                continue;
            }
            if (o != protocol_status::conflict || rollbacks++ == max_rollbacks) return false;
            const std::optional<unsigned> to = record_.go_back();
            if (!to) return false;
            ++owner_.partial_rollbacks_;
            i = *to;
        }
        return true;
    }
    bool become_irrevocable() {
        if (named_locks_.acquire_token(named_locks_.name()) != protocol_status::good ||
            work_.reserve_irrevocably(named_locks_) != protocol_status::good)
            return false;
        if (owner_.irrevocable_ != nullptr) owner_.fail(two_are_irrevocable);
        owner_.irrevocable_ = this;
        return true;
    }

    protocol_status open(distributed_transaction& by, recording& as, const opening& a) {
        std::vector<object_id> ids;
        for (const unsigned n : a.objects) ids.push_back(owner_.objects_[n]);
        protocol_status o = by.open(ids);
        while (o == protocol_status::conflict && by.is_irrevocable() && by.why() == rollback_reason::busy) {
            pause(0);
            o = by.open(ids);
        }
        if (o != protocol_status::good) return o;
        for (const object_id& id : ids) {
            as.saw(id);
            if (a.writes) as.plan_write(id);
        }
        return o;
    }
    bool commit(distributed_transaction& of, recording& as, bool decisive) {
        between();
        as.write_as_planned();
        const protocol_status o = of.prepare(decisive);
        if (o == protocol_status::uncertain) as.left_alone();
        if (o != protocol_status::good) return false;
        if (!of.is_decided()) between();
        of.commit();
        as.committed(of.version());
        if (owner_.irrevocable_ == this) owner_.irrevocable_ = nullptr;
        return true;
    }
    void sleep() {
        watches_ = true;
        rung_ = false;
        const bool current = work_.watch() == protocol_status::good;
        asleep_ = true;
        while (current && !rung_) suspend();
        watches_ = asleep_ = false;
    }

    explored_cluster& owner_;
    protocol_node& protocol_node_;
    const std::vector<small_transaction>& transactions_;
    distributed_transaction work_, inner_;
    recording record_, inner_record_;
    named_lock_client named_locks_;
    interleaving::fiber fiber_;
    unsigned pauses_ = 0;
    bool done_ = false, has_ended_ = false, has_name_ = false;
    bool watches_ = false, rung_ = false, asleep_ = false;
};

explored_cluster::explored_cluster(const small_program& p)
    : simulated_cluster{p.nodes, p.how, 1, {.min_delay = 1, .max_delay = 1, .in_order = false}},
      program_{p},
      objects_{objects_of(p)} {
    fill();
    for (const small_client& c : program_.clients) add_client(c);
    for (const auto& cut : program_.cut) {
        for (const auto& [at, other] : {cut, std::pair{cut.second, cut.first}}) {
            later(at, "node " + std::to_string(at) + " loses " + std::to_string(other),
                  [this, at = at, other = other] { lose_node(at, other); });
        }
    }
    if (program_.ends) later(*program_.ends, "node " + std::to_string(*program_.ends) + " ends", [this] { end_one(); });
}

explored_cluster::~explored_cluster() = default;

void explored_cluster::add_client(const small_client& c) {
    clients_.push_back(std::make_unique<client>(*this, c, static_cast<std::uint16_t>(clients_.size())));
    client* const fresh = clients_.back().get();
    later(c.at, "client " + std::to_string(fresh->number()) + " begins", [this, fresh] { resume(*fresh); });
}

/// Gives every object a value at its home.
void explored_cluster::fill() {
    const writer_tag tag = history_.begin(setter_up);
    attempt& a = history_.of(tag);
    a.committed = true;
    a.version = 1;
    a.writes = objects_;
    for (const object_id& id : objects_) {
        a.reads.push_back({.id = id});
        object_directory& home = at(home_of(id, program_.nodes)).objects;
        const transaction_name by{.node = home_of(id, program_.nodes), .slot = 99, .sequence = 1};
        if (home.lock_to_write(id, 0, by) != wire::lock_refusal::none) fail("a new object is locked");
        home.apply_decision(id, wire::action::put, bytes_of(tag), 1, by);
    }
    if (program_.copied) copy_all();
    if (program_.ahead) at(*program_.ahead).clock.raise_to(9);
}

void explored_cluster::copy_all() {
    for (const auto& s : protocol_nodes()) {
        s->objects.set_copy_threshold(1);
        s->cache.limit(std::size_t{1} << 20);
    }
    for (const object_id& id : objects_) {
        if (program_.only_copy && id != objects_[program_.only_copy->object]) continue;
        const node_number home = home_of(id, program_.nodes);
        for (const auto& s : protocol_nodes()) {
            if (s->self == home || (program_.only_copy && s->self != program_.only_copy->at)) continue;
            wire::object_view view;
            at(home).objects.read_and_grant_copy(id, view, s->self);
            s->clock.raise_to(at(home).clock.now());
            s->cache.insert(id, home, view, s->cache.invalidations(id));
        }
    }
    if (!program_.only_copy) return;
    for (const auto& s : protocol_nodes()) s->objects.set_copy_threshold(0);
}

void explored_cluster::later(node_number at, std::string name, std::function<void()> what) {
    event_set_.add(at, std::move(name), [this, at, what = std::move(what)] {
        if (is_running(at)) what();
        // Every message sent so far may arrive from now on.
        while (network().step()) continue;
    });
}

void explored_cluster::on_arrival(node_number to, const std::string& frame) {
    wire::header h;
    if (!read_header(frame, h)) return fail("no header");
    // If losses do not matter, a message about a loss only raises a clock, as a heartbeat does. Neither message is an
    // event.
    if (h.type == wire::message_type::lost_node && !program_.losses_matter()) {
        if (at(to).objects.count().cached_elsewhere != 0) fail("a word of a loss matters");
        losses_.emplace_back(to, frame);
        return;
    }
    const std::string name = std::string{name_of(h.type)} + " " + std::to_string(h.from) + " to " + std::to_string(to);
    const bool asks_for_locks = h.type == wire::message_type::prepare || h.type == wire::message_type::claim;
    for (unsigned i = program_.twice && asks_for_locks ? 2 : 1; i != 0; --i)
        later(to, name, [this, to, frame] {
            deliver(to, frame);
            is_admitted(to);
        });
}

void explored_cluster::deliver_losses() {
    // The receivers relay some of these messages. This loop delivers the relayed messages after the others.
    for (std::size_t i = 0; i < losses_.size(); ++i) {
        const auto [to, frame] = losses_[i];
        if (is_running(to)) deliver(to, frame);
        while (network().step()) continue;
    }
    losses_.clear();
    if (!event_set_.pending().empty()) fail("a message about an irrelevant loss has caused something");
}

void explored_cluster::end_one() {
    const node_number gone = *program_.ends;
    end_unnoticed(gone);
    for (const auto& c : clients_) {
        if (c->home() == gone && !c->done()) c->end();
    }
    for (node_number n = 0; n < program_.nodes; ++n) {
        if (n == gone) continue;
        later(n, "node " + std::to_string(n) + " learns of it", [this, n, gone] { lose_node(n, gone); });
    }
}

void explored_cluster::start_one() {
    const node_number n = *program_.ends;
    begin_rejoin(n);
    resend_requests(n);
}

void explored_cluster::on_rejoined(node_number n) {
    if (const std::uint64_t version = rejoin_version(n); version != 0) history_.node_returns(version);
    add_client(*program_.returns);
}

void explored_cluster::resume(client& c) { interleaving::fiber::change(main_, c.stack_of()); }

void explored_cluster::on_change(node_number at, const object_id& id) {
    for (const auto& c : clients_) {
        if (c->home() == at) c->wake(id);
    }
}

void explored_cluster::on_node_lost(node_number at, node_number /*gone*/) {
    if (program_.follows && program_.follows->at == at) add_client(*program_.follows);
    for (const auto& c : clients_) {
        if (c->home() == at) c->wake_all();
    }
    if (++notified_nodes_ == program_.nodes - 1u && program_.returns) start_one();
}

std::size_t explored_cluster::holders_of_name() const {
    return static_cast<std::size_t>(std::ranges::count_if(clients_, [](const auto& c) { return c->has_name(); }));
}

bool explored_cluster::is_changed(const distributed_transaction& work) const {
    return std::ranges::none_of(work.entries(), [](const auto& e) { return tag_of(e->bytes) == 1; });
}

void explored_cluster::resolve_outcomes() {
    for (const object_id& id : objects_) {
        for (const auto& s : protocol_nodes()) {
            if (!is_serving(s->self)) continue;
            wire::object_view view;
            s->objects.read(id, view);
            if (view.where != wire::lookup_result::here || !view.exists) continue;
            const writer_tag tag = tag_of(view.bytes);
            if (tag == 0) continue;
            attempt& writer = history_.of(tag);
            if (!writer.maybe) continue;
            writer.committed = true;
            writer.version = view.version;
        }
    }
}

std::string explored_cluster::verdict() {
    deliver_losses();
    if (!wrong_.empty()) return wrong_;
    for (const auto& c : clients_) {
        if (c->done()) continue;
        if (!c->asleep()) return "a client waits for ever";
        if (!c->may_sleep()) return sleeps_on;
    }
    resolve_outcomes();
    history_.settle_doubts();
    if (std::string wrong = history_.judge(); !wrong.empty()) return wrong;
    for (const auto& s : protocol_nodes()) {
        if (!is_serving(s->self)) continue;
        if (s->locks.held() != 0) return name_is_left;
        if (s->reserved_objects.held() != 0) return object_is_left;
    }
    for (const object_id& id : objects_) {
        if (std::string wrong = program_.ends ? lost_with(id) : wrong_with(id); !wrong.empty()) return wrong;
    }
    return program_.ends ? doubted_in_part() : "";
}

commit_participant::statistics explored_cluster::doubts() const {
    commit_participant::statistics all;
    for (const auto& s : protocol_nodes()) {
        if (!is_serving(s->self)) continue;
        const commit_participant::statistics some = s->commits.count();
        all.in_doubt += some.in_doubt;
        all.committed += some.committed;
        all.aborted += some.aborted;
    }
    return all;
}

bool explored_cluster::is_in_doubt(const object_id& id) const {
    return std::ranges::any_of(protocol_nodes(), [&](const auto& s) {
        wire::object_view view;
        s->objects.read(id, view);
        return is_serving(s->self) && view.where == wire::lookup_result::in_doubt;
    });
}

/// Checks the objects that a transaction of the ended node writes on several other nodes. If some of them are in doubt
/// and others are not, a remaining node has not told another one what it knows.
std::string explored_cluster::doubted_in_part() const {
    for (const small_client& c : program_.clients) {
        if (c.at != *program_.ends) continue;
        for (const small_transaction& t : c.transactions) {
            if (t.others_written(c.at, program_.nodes) < 2) continue;
            std::size_t objects = 0, doubted = 0;
            for (const opening& a : t.openings) {
                for (const unsigned n : a.objects) {
                    if (!a.writes || n % program_.nodes == c.at) continue;
                    ++objects;
                    doubted += is_in_doubt(objects_[n]) ? 1u : 0u;
                }
            }
            if (doubted != 0 && doubted != objects) return "an object is in doubt whose fate another node knows";
        }
    }
    return {};
}

/// Checks that at most one remaining node has the object. The object must be unlocked, or in doubt where the program
/// allows doubt.
std::string explored_cluster::lost_with(const object_id& id) {
    const bool may_be_in_doubt = std::ranges::any_of(program_.clients, [this](const small_client& c) {
        return std::ranges::any_of(c.transactions, [&](const small_transaction& t) {
            return t.variables_beside || t.others_written(c.at, program_.nodes) > 1;
        });
    });
    std::size_t owners = 0;
    for (const auto& s : protocol_nodes()) {
        if (!is_serving(s->self)) continue;
        wire::object_view view;
        s->objects.read(id, view);
        if (view.where == wire::lookup_result::elsewhere) continue;
        if (view.where == wire::lookup_result::in_doubt && may_be_in_doubt) continue;
        if (view.where != wire::lookup_result::here) return "an object of a node that runs is out of reach";
        ++owners;
    }
    return owners > 1 ? "an object is on several nodes" : "";
}

/// Checks that exactly one node has the object, in its last version and unlocked, and that every node finds it there.
std::string explored_cluster::wrong_with(const object_id& id) {
    std::uint64_t version = 0;
    for (const attempt& a : history_.attempts()) {
        if (a.committed && std::ranges::find(a.writes, id) != a.writes.end()) version = std::max(version, a.version);
    }
    std::vector<node_number> owners;
    for (const auto& s : protocol_nodes()) {
        wire::object_view view;
        s->objects.read(id, view);
        if (view.where == wire::lookup_result::elsewhere) continue;
        if (view.where != wire::lookup_result::here) return "an object is locked for no running transaction";
        if (view.version != version) return "a node has an old version of an object";
        owners.push_back(s->self);
    }
    if (owners.size() != 1) return "an object is on several nodes, or on none";
    for (const auto& s : protocol_nodes()) {
        if (!leads_to(id, s->self, owners.front())) return "an object cannot be found";
    }
    return {};
}

/// Returns true if pointers, and then the home, lead from `from` to `owner`.
bool explored_cluster::leads_to(const object_id& id, node_number from, node_number owner) {
    for (unsigned hops = 0; hops <= program_.nodes; ++hops) {
        if (from == owner) return true;
        from = at(from).objects.owner_of(id);
    }
    return false;
}

}  // namespace tutti::cluster::testing
