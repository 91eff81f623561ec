#include "cluster/simulation/mesh.hpp"

#include <algorithm>

#include "wire/bytes.hpp"

namespace tutti::cluster::simulation {
namespace {

constexpr unsigned bits_of_call = 40;  // below the caller's number in the number of a question

}  // namespace

/// Sends what a site has to say by itself; as if over the network also where it is for the node itself.
class mesh::teller final : public audience {
public:
    teller(mesh& in, node_number at) noexcept : mesh_{in}, at_{at} {}

    void changed(const object_id& id, std::span<const node_number> watchers) override {
        for (const node_number n : watchers)
            mesh_.send(at_, n, wire::kind::changed, 0, wire::encode(wire::changed{id}), true);
    }
    bool forgets(const object_id& id, node_number owner, std::uint64_t version) noexcept override {
        const auto nodes = static_cast<node_number>(mesh_.sites_.size());
        mesh_.send(at_, home_of(id, nodes), wire::kind::place, 0, wire::encode(wire::place{id, owner, version}), true);
        ++mesh_.told_homes_;
        return true;
    }

private:
    mesh& mesh_;
    const node_number at_;
};

mesh::mesh(node_number nodes, moving how, std::uint64_t seed, const wire::conditions& network)
    : network_{seed, network, [this](node_number to, const std::string& frame) { arrive(to, frame); }} {
    for (node_number i = 0; i < nodes; ++i) {
        sites_.push_back(std::make_unique<site>(i, nodes, how));
        tellers_.push_back(std::make_unique<teller>(*this, i));
        sites_[i]->objects.tell(*tellers_[i]);
    }
}

mesh::~mesh() = default;

void mesh::send(node_number from, node_number to, wire::kind kind, std::uint64_t call, const std::string& body,
                bool sure) {
    const wire::header h{static_cast<std::uint32_t>(body.size()),
                         kind,
                         wire::protocol_version,
                         from,
                         call,
                         at(from).clock.now(),
                         at(from).readers.promise()};
    network_.send(from, to, wire::encode(h) + body, sure);
}

void mesh::take(node_number to, const std::string& frame) {
    wire::header h;
    const std::string_view all{frame};
    if (!wire::decode(all.substr(0, wire::header::size), h)) return go_wrong("a header cannot be read");
    const std::string_view body = all.substr(wire::header::size);
    if (!at(to).hear(h)) go_wrong("a clock has jumped");
    if (is_answer(h.kind)) return callers_[(h.call >> bits_of_call) - 1]->answer(h.call, body);
    if (h.kind == wire::kind::changed) {
        wire::changed told;
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

void caller::exchange(std::span<call> calls) {
    for (call& c : calls) c.answered = false;
    if (calls.empty()) return;
    waiting_ = calls;
    first_call_ = (std::uint64_t{number_ + 1} << bits_of_call) | next_call_;
    next_call_ += calls.size();
    ask(first_call_);
    while (!all_answered()) suspend();
    waiting_ = {};
}

void caller::post(node_number to, wire::kind kind, std::string body) { mesh_.send(home_, to, kind, 0, body, true); }

void caller::answer(std::uint64_t number, std::string_view body) {
    const std::uint64_t i = number - first_call_;
    if (waiting_.empty() || i >= waiting_.size() || waiting_[i].answered) return;
    waiting_[i].answer = body;
    waiting_[i].answered = true;
    if (all_answered()) resume();
}

bool caller::all_answered() const noexcept { return std::ranges::all_of(waiting_, &call::answered); }

void caller::ask(std::uint64_t first) {
    if (waiting_.empty() || first != first_call_ || all_answered()) return;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
        const call& c = waiting_[i];
        if (!c.answered) mesh_.send(home_, c.to, c.kind, first + i, c.body, false);
    }
    if (patience() != 0) mesh_.network().after(patience(), [this, first] { ask(first); });
}

}  // namespace tutti::cluster::simulation
