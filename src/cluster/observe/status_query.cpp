// Sends one query to all nodes at once. Waits for an answer no longer than the caller allows.
#include <deque>
#include <utility>

#include "cluster/observe/observer_connection.hpp"
#include "tutti/cluster/errors.hpp"
#include "wire/bytes.hpp"
#include "wire/wire_error.hpp"

namespace tutti::cluster {
namespace {

/// The largest status answer that is accepted, in bytes. The status of the largest cluster takes a tenth of this size.
constexpr std::size_t max_answer_bytes = std::size_t{64} << 10;

class status_query final : public observer_connection {
public:
    using observer_connection::observer_connection;

    node_reply answer() && {
        node_reply a{
            .address = address_.text, .status = std::move(status_), .error = std::move(error_), .took = elapsed_};
        if (has_ended()) return a;
        a.took = options_.timeout;
        a.error = timeout_reason();
        return a;
    }

private:
    void on_hello() override {
        send_query(wire::message_type::status, {}, wire::message_type::status_reply, max_answer_bytes,
                   [this](std::string_view body) {
                       wire::status_reply reply;
                       if (!wire::decode(body, reply)) return end(malformed_answer);
                       if (!reply.admitted) return end("has its maximum number of observers; ask again");
                       status_ = std::move(reply.status);
                       end({});
                   });
    }

    std::optional<node_status> status_;
};

}  // namespace

std::vector<node_reply> query_nodes(const observer_options& options) try {
    const credentials by{options};
    asio::io_context io{1};
    std::deque<status_query> all;
    for (std::size_t i = 0; i < options.addresses.size(); ++i) all.emplace_back(io, options, by, i);
    for (status_query& q : all) q.start();
    io.run_for(options.timeout);
    std::vector<node_reply> answers;
    for (status_query& q : all) answers.push_back(std::move(q).answer());
    return answers;
} catch (const wire::wire_error& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

}  // namespace tutti::cluster
