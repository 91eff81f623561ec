// Transactions in doubt: asks all nodes for them at once, and sends an operator's decision to one node.
#include <charconv>
#include <deque>
#include <functional>
#include <utility>

#include "cluster/visit.hpp"
#include "tutti/cluster/doubts.hpp"
#include "tutti/cluster/errors.hpp"
#include "wire/bytes.hpp"
#include "wire/wire_error.hpp"

namespace tutti::cluster {
namespace {

constexpr std::size_t largest_list = std::size_t{1} << 20;

/// Asks one node one question.
template <class Told>
class doubts_question final : public visit {
public:
    doubts_question(asio::io_context& io, const observer_options& whom, const credentials& by, std::size_t number,
                    wire::message_type what, std::string body, wire::message_type answer)
        : visit{io, whom, by, number}, what_{what}, body_{std::move(body)}, answer_{answer} {}

    [[nodiscard]] std::string address() const { return to_.text; }
    [[nodiscard]] std::string trouble() const { return over() ? trouble_ : overdue(); }
    std::optional<Told> told;

private:
    void greeted() override {
        ask(what_, body_, answer_, largest_list, [this](std::string_view body) {
            Told all;
            if (!wire::decode(body, all)) return end(no_sense);
            told = std::move(all);
            end({});
        });
    }

    const wire::message_type what_;
    const std::string body_;
    const wire::message_type answer_;
};

template <class T>
bool read_number(std::string_view& text, T& to) noexcept {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (failed != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

bool read_dot(std::string_view& text) noexcept {
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
    return true;
}

}  // namespace

std::string transaction_id::text() const {
    return std::to_string(node) + '.' + std::to_string(thread) + '.' + std::to_string(number);
}

std::optional<transaction_id> transaction_id::parse(std::string_view text) {
    transaction_id id;
    const bool is_one = read_number(text, id.node) && read_dot(text) && read_number(text, id.thread) &&
                        read_dot(text) && read_number(text, id.number) && text.empty() && id.number != 0;
    return is_one ? std::optional{id} : std::nullopt;
}

std::vector<doubts_answer> ask_doubts(const observer_options& whom) try {
    using question = doubts_question<wire::doubts_reply>;
    const credentials by{whom};
    asio::io_context io{1};
    std::deque<question> all;
    for (std::size_t i = 0; i < whom.addresses.size(); ++i)
        all.emplace_back(io, whom, by, i, wire::message_type::doubts, std::string{}, wire::message_type::doubts_reply);
    for (question& q : all) q.start();
    io.run_for(whom.within);
    std::vector<doubts_answer> answers;
    for (question& q : all) {
        doubts_answer a{.address = q.address(), .answered = q.told.has_value()};
        if (q.told) a.doubts = std::move(q.told->all);
        else a.trouble = q.trouble();
        answers.push_back(std::move(a));
    }
    return answers;
} catch (const wire::wire_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

settling_answer settle_doubt(const observer_options& whom, std::uint16_t node, const transaction_id& which,
                             bool commits) try {
    static_cast<void>(whom.addresses.at(node));
    const credentials by{whom};
    asio::io_context io{1};
    const wire::resolve_doubt word{{which.node, which.thread, which.number}, commits};
    doubts_question<settling_answer> q{
        io, whom, by, node, wire::message_type::resolve_doubt, wire::encode(word), wire::message_type::resolve_reply};
    q.start();
    io.run_for(whom.within);
    if (q.told) return std::move(*q.told);
    return {.trouble = q.trouble()};
} catch (const wire::wire_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

}  // namespace tutti::cluster
