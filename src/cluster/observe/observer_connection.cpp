#include "cluster/observe/observer_connection.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "cluster/backend/tls_files.hpp"
#include "wire/bytes.hpp"
#include "wire/wire_error.hpp"

namespace tutti::cluster {

using wire::header;

namespace {

constexpr const char* accepted = "accepted the connection, but sent nothing: it is stopped, or not a node";

}  // namespace

credentials::credentials(const observer_options& options) {
    const bool over_zeromq = !options.addresses.empty() && wire::is_of_zeromq(options.addresses.front());
    const wire::tls_files files = files_of(options.tls);
    wire::require_known(files.protocol);
    const wire::curve_files keys{options.curve.key, options.curve.nodes};
    if (!over_zeromq && files.are_set()) tls.emplace(files, std::vector<std::string>{});
    if (over_zeromq && keys.are_set())
        curve.emplace(wire::curve_keys::read(keys, std::nullopt, options.addresses.size()));
}

observer_connection::observer_connection(asio::io_context& io, const observer_options& options,
                                         const credentials& own_credentials, std::size_t number)
    : options_{options},
      address_{wire::parse_address(options.addresses[number], wire::is_of_zeromq(options.addresses[number])
                                                                  ? own_credentials.curve.has_value()
                                                                  : own_credentials.tls.has_value())},
      io_{io},
      credentials_{own_credentials},
      number_{number},
      connection_{std::make_shared<wire::connection>(io)} {}

void observer_connection::start() {
    if (address_.zeromq) return start_over_zeromq();
    connection_->socket.async_connect(address_.endpoint, [this](asio::error_code failed) {
        if (failed) return end("cannot be reached: " + failed.message() + "; is it running?");
        stage_ = accepted;
        if (credentials_.tls)
            connection_->tls = credentials_.tls->call(
                wire::certificate_name(static_cast<wire::node_number>(number_), options_.cluster));
        connection_->shake_hands([this](asio::error_code refused) {
            if (refused) return end(connection_->tls->error());
            send_hello();
        });
    });
}

void observer_connection::start_over_zeromq() try {
    using enum wire::zeromq_call::stage;
    zeromq_call_ = wire::call_over_zeromq(io_, address_, credentials_.curve ? &*credentials_.curve : nullptr,
                                          static_cast<wire::node_number>(number_),
                                          [this](wire::zeromq_call::stage what, const std::string& why) {
                                              if (what == over) return end(why);
                                              stage_ = ::tutti::cluster::accepted;
                                              if (what == connected) send_hello();
                                          });
} catch (const wire::wire_error& r) {
    end(r.what());
}

wire::hello observer_connection::own_hello() const {
    return {wire::cluster_number(options_.cluster, options_.addresses),
            static_cast<std::uint16_t>(options_.addresses.size())};
}

void observer_connection::send_hello() {
    send(wire::message_type::hello, wire::encode(own_hello()));
    input_.resize(header::size + wire::encode(own_hello()).size());
    read([this] { receive_hello(); });
}

/// Sends a message. Errors are ignored, because the next read fails if the connection is lost.
void observer_connection::send(wire::message_type what, const std::string& body) {
    header h;
    h.length = static_cast<std::uint32_t>(body.size());
    h.type = what;
    h.from = wire::observer_number;
    if (zeromq_call_) return zeromq_call_->send(wire::encode(h) + body);
    output_.push_back(wire::encode(h) + body);
    asio::async_write(*connection_, asio::buffer(output_.back()), [](asio::error_code, std::size_t) {});
}

void observer_connection::read(std::function<void()> then) {
    if (zeromq_call_) return zeromq_call_->read(input_, std::move(then));
    asio::async_read(*connection_, asio::buffer(input_),
                     [this, then = std::move(then)](asio::error_code failed, std::size_t n) {
                         if (!failed) return then();
                         const std::string why = connection_->tls ? connection_->tls->error() : std::string{};
                         if (!why.empty()) return end(why);
                         if (!connection_->tls && wire::looks_like_alert(std::string_view{input_}.substr(0, n)))
                             return end("speaks TLS: give a certificate, its key and the authority of the nodes");
                         end("closed the connection: it is ending, or another program listens there");
                     });
}

void observer_connection::receive_hello() {
    const std::string_view all{input_};
    wire::hello other;
    if (!wire::decode(all.substr(0, header::size), header_) || header_.type != wire::message_type::hello)
        return end("is not a node: another program listens there");
    if (header_.version != wire::protocol_version) {
        return end("speaks version " + std::to_string(header_.version) + " of the protocol, and this program " +
                   std::to_string(wire::protocol_version) + ": ask with the release of Tutti that the node is of");
    }
    if (!wire::decode(all.substr(header::size), other) || other.cluster != own_hello().cluster ||
        other.nodes != own_hello().nodes) {
        return end(
            "belongs to another cluster: give the name and the list of addresses that the nodes were given, in "
            "the same order");
    }
    if (header_.from != number_)
        return end("is node " + std::to_string(header_.from) + ": the addresses are not in the order of the nodes");
    stage_ = "sent a hello and nothing more: it is busy, or stopped";
    on_hello();
}

void observer_connection::send_query(wire::message_type what, const std::string& body, wire::message_type answer,
                                     std::size_t largest, std::function<void(std::string_view)> then) {
    send(what, body);
    input_.resize(header::size);
    read([this, answer, largest, then = std::move(then)] {
        if (!wire::decode(input_, header_) || header_.type != answer || header_.version != wire::protocol_version ||
            header_.length > largest)
            return end(malformed_answer);
        input_.resize(header_.length);
        read([this, then] { then(input_); });
    });
}

void observer_connection::end(std::string error) {
    ended_ = true;
    error_ = std::move(error);
    elapsed_ = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started_);
    asio::error_code ignored;
    connection_->socket.close(ignored);
    if (zeromq_call_) zeromq_call_->end();
}

std::string observer_connection::timeout_reason() const {
    return std::string{stage_} + " (within " + std::to_string(options_.timeout.count()) + " ms)";
}

}  // namespace tutti::cluster
