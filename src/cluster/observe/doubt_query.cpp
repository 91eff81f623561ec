// Asks all nodes at once for their transactions in doubt. Sends an operator's decision to one node.
#include <charconv>
#include <deque>
#include <functional>
#include <utility>

#include "cluster/observe/observer_connection.hpp"
#include "tutti/cluster/doubts.hpp"
#include "tutti/cluster/errors.hpp"
#include "wire/bytes.hpp"
#include "wire/wire_error.hpp"

namespace tutti::cluster {
namespace {

constexpr std::size_t max_list_bytes = std::size_t{1} << 20;

/// Sends one query to one node.
template <class Told>
class doubt_query final : public observer_connection {
public:
    doubt_query(asio::io_context& io, const observer_options& options, const credentials& by, std::size_t number,
                wire::message_type what, std::string body, wire::message_type answer)
        : observer_connection{io, options, by, number}, what_{what}, body_{std::move(body)}, answer_{answer} {}

    [[nodiscard]] std::string address() const { return address_.text; }
    [[nodiscard]] std::string error() const { return has_ended() ? error_ : timeout_reason(); }
    std::optional<Told> reply;

private:
    void on_hello() override {
        send_query(what_, body_, answer_, max_list_bytes, [this](std::string_view body) {
            Told all;
            if (!wire::decode(body, all)) return end(malformed_answer);
            reply = std::move(all);
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

std::vector<doubts_reply> query_doubts(const observer_options& options) try {
    using question = doubt_query<wire::doubts_reply>;
    const credentials by{options};
    asio::io_context io{1};
    std::deque<question> all;
    for (std::size_t i = 0; i < options.addresses.size(); ++i)
        all.emplace_back(io, options, by, i, wire::message_type::doubts, std::string{},
                         wire::message_type::doubts_reply);
    for (question& q : all) q.start();
    io.run_for(options.timeout);
    std::vector<doubts_reply> answers;
    for (question& q : all) {
        doubts_reply a{.address = q.address(), .answered = q.reply.has_value()};
        if (q.reply) a.doubts = std::move(q.reply->all);
        else a.error = q.error();
        answers.push_back(std::move(a));
    }
    return answers;
} catch (const wire::wire_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

resolve_reply resolve_doubt(const observer_options& options, std::uint16_t node, const transaction_id& which,
                            bool commits) try {
    static_cast<void>(options.addresses.at(node));
    const credentials by{options};
    asio::io_context io{1};
    const wire::resolve_doubt order{{which.node, which.thread, which.number}, commits};
    doubt_query<resolve_reply> q{io,
                                 options,
                                 by,
                                 node,
                                 wire::message_type::resolve_doubt,
                                 wire::encode(order),
                                 wire::message_type::resolve_reply};
    q.start();
    io.run_for(options.timeout);
    if (q.reply) return std::move(*q.reply);
    return {.error = q.error()};
} catch (const wire::wire_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

}  // namespace tutti::cluster
