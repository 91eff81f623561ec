// Sends one question to all nodes at once. No answer is waited for longer than the asker allows.
#include <deque>
#include <utility>

#include "cluster/visit.hpp"
#include "tutti/cluster/errors.hpp"
#include "wire/bytes.hpp"
#include "wire/wire_error.hpp"

namespace tutti::cluster {
namespace {

/// The largest status answer that is accepted, in bytes. The facts of the largest cluster take a tenth of this.
constexpr std::size_t largest_answer = std::size_t{64} << 10;

class question final : public visit {
public:
    using visit::visit;

    node_answer answer() && {
        node_answer a{.address = to_.text, .facts = std::move(facts_), .trouble = std::move(trouble_), .took = took_};
        if (over()) return a;
        a.took = whom_.within;
        a.trouble = overdue();
        return a;
    }

private:
    void greeted() override {
        ask(wire::message_type::status, {}, wire::message_type::status_reply, largest_answer,
            [this](std::string_view body) {
                wire::status_reply told;
                if (!wire::decode(body, told)) return end(no_sense);
                if (!told.admitted) return end("has as many observers as it answers at a time; ask again");
                facts_ = std::move(told.status);
                end({});
            });
    }

    std::optional<node_facts> facts_;
};

}  // namespace

std::vector<node_answer> ask_nodes(const observer_options& whom) try {
    const credentials by{whom};
    asio::io_context io{1};
    std::deque<question> all;
    for (std::size_t i = 0; i < whom.addresses.size(); ++i) all.emplace_back(io, whom, by, i);
    for (question& q : all) q.start();
    io.run_for(whom.within);
    std::vector<node_answer> answers;
    for (question& q : all) answers.push_back(std::move(q).answer());
    return answers;
} catch (const wire::wire_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

}  // namespace tutti::cluster
