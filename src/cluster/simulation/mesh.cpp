#include "cluster/simulation/mesh.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "wire/bytes.hpp"

namespace tutti::cluster::simulation {
namespace {

constexpr unsigned bits_of_call = 40;  // the low bits of a question's number; the caller's number is above

}  // namespace

/// Sends the messages that a site sends by itself. Even messages for the site's own node go over the network.
class mesh::teller final : public audience {
public:
    teller(mesh& in, node_number at) noexcept : mesh_{in}, at_{at} {}

    void changed(const object_id& id, std::span<const node_number> watchers) override {
        for (const node_number n : watchers)
            mesh_.send(at_, n, wire::message_type::object_changed, 0, wire::encode(wire::object_changed{id}), true);
    }
    bool forgets(const object_id& id, node_number owner, std::uint64_t version) noexcept override {
        const auto nodes = static_cast<node_number>(mesh_.sites_.size());
        mesh_.send(at_, home_of(id, nodes), wire::message_type::owner_update, 0,
                   wire::encode(wire::owner_update{id, owner, version}), true);
        ++mesh_.told_homes_;
        return true;
    }

    void invalidate(const object_id& id, node_number sharer, std::uint64_t grant) noexcept override {
        mesh_.send(at_, sharer, wire::message_type::invalidate, 0,
                   wire::encode(wire::invalidation{.id = id, .grant = grant}), false);
    }

private:
    mesh& mesh_;
    const node_number at_;
};

/// Sends the messages about returns.
class mesh::doorman final : public gate {
public:
    doorman(mesh& in, node_number at) noexcept : mesh_{in}, at_{at} {}

    void say(node_number to, wire::message_type kind, std::string body) override {
        mesh_.send(at_, to, kind, 0, body, true);
    }
    std::uint64_t process_of(node_number n) override { return mesh_.links_[at_][n]; }

private:
    mesh& mesh_;
    const node_number at_;
};

mesh::mesh(node_number nodes, moving how, std::uint64_t seed, const wire::network_conditions& network)
    : how_{how},
      lives_(nodes, life::runs),
      processes_(nodes, 1),
      links_(nodes, std::vector<process>(nodes, 1)),
      network_{seed, network, [this](node_number to, const std::string& frame) { arrive(to, frame); }} {
    for (node_number i = 0; i < nodes; ++i) {
        sites_.push_back(std::make_unique<site>(i, nodes, how));
        tellers_.push_back(std::make_unique<teller>(*this, i));
        sites_[i]->objects.tell(*tellers_[i]);
        doormen_.push_back(std::make_unique<doorman>(*this, i));
        sites_[i]->speak_through(*doormen_[i]);
        admissions_.push_back(std::make_unique<admission>(*sites_[i], *doormen_[i]));
    }
}

mesh::~mesh() = default;

void mesh::send(node_number from, node_number to, wire::message_type kind, std::uint64_t call, const std::string& body,
                bool sure) {
    const bool has_lost = from != to && at(from).objects.is_lost(to);
    if (has_lost && !wire::is_rejoin_message(kind) && !injected(fault::let_back_in)) return;
    const wire::header h{static_cast<std::uint32_t>(body.size()),
                         kind,
                         wire::protocol_version,
                         from,
                         call,
                         at(from).clock.now(),
                         at(from).readers.promise()};
    const ends of{processes_[from], from == to ? processes_[to] : links_[from][to]};
    std::string frame{reinterpret_cast<const char*>(&of), sizeof of};
    network_.send(from, to, std::move(frame) + wire::encode(h) + body, sure);
}

void mesh::end(node_number n, std::uint64_t notice) {
    end_unseen(n);
    for (node_number other = 0; other < lives_.size(); ++other) {
        if (other == n) continue;
        network_.after(1 + network_.random_below(notice), [this, other, n, ended = processes_[n]] {
            if (links_[other][n] == ended) lose(other, n);
        });
    }
}

void mesh::start_again(node_number n, std::uint64_t notice) {
    begin_return(n);
    if (!serves(n)) be_let_in(n, processes_[n], notice);
}

void mesh::begin_return(node_number n) {
    const auto nodes = static_cast<node_number>(sites_.size());
    former_.push_back(std::exchange(sites_[n], std::make_unique<site>(n, nodes, how_)));
    sites_[n]->objects.tell(*tellers_[n]);
    sites_[n]->speak_through(*doormen_[n]);
    equip(*sites_[n]);
    former_admissions_.push_back(std::exchange(admissions_[n], std::make_unique<admission>(*sites_[n], *doormen_[n])));
    const process fresh = ++processes_[n];
    for (node_number other = 0; other < nodes; ++other) {
        links_[n][other] = lives_[other] == life::ended && other != n ? 0 : processes_[other];
        if (injected(fault::let_back_in)) links_[other][n] = fresh;
    }
    lives_[n] = life::comes;
    if (injected(fault::let_back_in)) {
        lives_[n] = life::again;
        return heard_of_return(n);
    }
    std::vector<bool> serving;
    for (node_number other = 0; other < nodes; ++other) serving.push_back(serves(other));
    admissions_[n]->begin(serving);
}

bool mesh::is_let_in(node_number n) {
    if (lives_[n] != life::comes || !admissions_[n]->over()) return false;
    lives_[n] = life::again;
    heard_of_return(n);
    return true;
}

void mesh::be_let_in(node_number n, process which, std::uint64_t notice) {
    if (processes_[n] != which || lives_[n] != life::comes) return;
    admission& a = *admissions_[n];
    if (a.gone()) {
        end(n, notice);
        return network_.after(2 * notice, [this, n, notice] { start_again(n, notice); });
    }
    if (is_let_in(n)) return;
    // If a node has not been started again, there is no process to connect with.
    if (std::ranges::find(lives_, life::ended) == lives_.end()) a.repeat();
    network_.after(50, [this, n, which, notice] { be_let_in(n, which, notice); });
}

void mesh::lose(node_number at, node_number gone) {
    if (lives_[at] == life::ended) return;
    links_[at][gone] = 0;
    this->at(at).lose(gone);
    admissions_[at]->lose(gone);
    for (caller* const c : callers_) {
        if (c->home() == at) c->give_up_on(gone);
    }
    heard_of_end(at, gone);
}

bool mesh::hears(node_number to, const wire::header& h, ends of) {
    if (lives_[to] == life::ended) return false;
    if (to == h.from || injected(fault::believe_late_messages) || injected(fault::let_back_in)) return true;
    process& known = links_[to][h.from];
    // A new process is connected with as soon as its former process is lost.
    const bool calls =
        wire::is_rejoin_message(h.type) && lives_[h.from] != life::ended && of.from == processes_[h.from];
    if (known == 0 && calls) known = of.from;
    return of.to == processes_[to] && of.from == known;
}

bool mesh::knows_gone(node_number at, node_number other) {
    return this->at(at).objects.is_lost(other) && !injected(fault::let_back_in);
}

bool mesh::read_header(const std::string& frame, wire::header& h) {
    return frame.size() >= sizeof(ends) + wire::header::size &&
           wire::decode(std::string_view{frame}.substr(sizeof(ends), wire::header::size), h);
}

void mesh::take(node_number to, const std::string& frame) {
    wire::header h;
    ends of{};
    std::memcpy(&of, frame.data(), sizeof of);
    if (!read_header(frame, h)) return go_wrong("a header cannot be read");
    if (!hears(to, h, of)) return;
    const std::string_view body = body_of(frame);
    if (!at(to).hear(h)) go_wrong("a clock has jumped");
    if (wire::is_rejoin_message(h.type)) {
        if (!admissions_[to]->hear(h, body)) go_wrong("a message of a return cannot be read");
        return;
    }
    const bool is_lost = to != h.from && at(to).objects.is_lost(h.from) && !injected(fault::let_back_in);
    if (is_lost && !admissions_[to]->hear_other(h.from)) {
        if (!injected(fault::believe_late_messages)) go_wrong("one that is lost asks for something");
        return;
    }
    if (is_reply(h.type)) return callers_[(h.call >> bits_of_call) - 1]->answer(h.call, body);
    if (h.type == wire::message_type::object_changed) {
        wire::object_changed told;
        if (!wire::decode(body, told)) return go_wrong("a change cannot be read");
        return heard_of_change(to, told.id);
    }
    bool sound = true;
    if (auto a = at(to).serve(h, body, sound)) send(to, h.from, a->kind, h.call, a->body, false);
    if (!sound) go_wrong("a message cannot be read");
}

caller::caller(mesh& in, node_number at) : mesh_{in}, home_{at}, number_{static_cast<unsigned>(in.callers_.size())} {
    in.callers_.push_back(this);
}

bool caller::round::complete() const noexcept {
    return std::ranges::all_of(calls, [](const call& c) { return c.answered || c.gone; });
}

void caller::start(round& r, std::span<call> calls) {
    for (call& c : calls) {
        c.answered = false;
        c.gone = mesh_.knows_gone(home_, c.to);
        c.sent = !c.gone;
    }
    r.calls = calls;
    r.first = (std::uint64_t{number_ + 1} << bits_of_call) | next_call_;
    next_call_ += calls.size();
    ask(r.first);
}

void caller::await(round& r) {
    struct at_end {  // also runs when the caller's node ends and its stack is unwound
        caller& of;
        round& r;
        ~at_end() {
            of.awaited_ = nullptr;
            r.calls = {};
        }
    } const forgets_them{*this, r};
    awaited_ = &r;
    while (!r.complete()) suspend();
}

void caller::exchange(std::span<call> calls) {
    if (calls.empty()) return;
    start(now_, calls);
    await(now_);
}

void caller::begin(std::span<call> calls) { start(ahead_, calls); }

void caller::finish() { await(ahead_); }

void caller::post(node_number to, wire::message_type kind, std::string body) {
    mesh_.send(home_, to, kind, 0, body, true);
}

bool caller::hears(node_number node) const noexcept { return !mesh_.knows_gone(home_, node); }

void caller::answer(std::uint64_t number, std::string_view body) {
    for (round& r : rounds_) {
        const std::uint64_t i = number - r.first;
        if (i >= r.calls.size() || r.calls[i].answered || r.calls[i].gone) continue;
        r.calls[i].answer = body;
        r.calls[i].answered = true;
        if (awaited_ == &r && r.complete()) return resume();
    }
}

void caller::give_up_on(node_number gone) {
    const bool waits = awaited_ != nullptr && !awaited_->complete();
    for (round& r : rounds_) {
        for (call& c : r.calls) c.gone = c.gone || (c.to == gone && !c.answered);
    }
    if (waits && awaited_->complete()) resume();
}

void caller::ask(std::uint64_t first) {
    for (round& r : rounds_) {
        if (r.first != first || r.complete()) continue;
        for (std::size_t i = 0; i < r.calls.size(); ++i) {
            const call& c = r.calls[i];
            if (!c.answered && !c.gone) mesh_.send(home_, c.to, c.kind, first + i, c.body, false);
        }
        if (patience() != 0) mesh_.network().after(patience(), [this, first] { ask(first); });
    }
}

}  // namespace tutti::cluster::simulation
