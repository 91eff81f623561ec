#include "cluster/visit.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "cluster/backend/tls_files.hpp"
#include "wire/bytes.hpp"
#include "wire/wire_error.hpp"

namespace tutti::cluster {

using wire::header;

namespace {

constexpr const char* accepted = "has accepted the connection, but said nothing: it is stopped, or not a node";

}  // namespace

credentials::credentials(const observer_options& whom) {
    const bool over_zeromq = !whom.addresses.empty() && wire::is_of_zeromq(whom.addresses.front());
    const wire::tls_files files = files_of(whom.tls);
    wire::require_known(files.protocol);
    const wire::curve_files keys{whom.curve.key, whom.curve.nodes};
    if (!over_zeromq && files.are_set()) tls.emplace(files, std::vector<std::string>{});
    if (over_zeromq && keys.are_set()) curve.emplace(wire::curve_keys::read(keys, std::nullopt, whom.addresses.size()));
}

visit::visit(asio::io_context& io, const observer_options& whom, const credentials& by, std::size_t number)
    : whom_{whom},
      to_{wire::parse_address(whom.addresses[number],
                              wire::is_of_zeromq(whom.addresses[number]) ? by.curve.has_value() : by.tls.has_value())},
      io_{io},
      by_{by},
      number_{number},
      link_{std::make_shared<wire::connection>(io)} {}

void visit::start() {
    if (to_.zeromq) return start_over_zeromq();
    link_->socket.async_connect(to_.endpoint, [this](asio::error_code failed) {
        if (failed) return end("cannot be reached: " + failed.message() + "; is it running?");
        stage_ = accepted;
        if (by_.tls)
            link_->tls = by_.tls->call(wire::certificate_name(static_cast<wire::node_number>(number_), whom_.cluster));
        link_->shake_hands([this](asio::error_code refused) {
            if (refused) return end(link_->tls->error());
            greet();
        });
    });
}

void visit::start_over_zeromq() try {
    using enum wire::zeromq_call::stage;
    call_ = wire::call_over_zeromq(io_, to_, by_.curve ? &*by_.curve : nullptr, static_cast<wire::node_number>(number_),
                                   [this](wire::zeromq_call::stage what, const std::string& why) {
                                       if (what == over) return end(why);
                                       stage_ = ::tutti::cluster::accepted;
                                       if (what == connected) greet();
                                   });
} catch (const wire::wire_error& r) {
    end(r.what());
}

wire::hello visit::said() const {
    return {wire::cluster_number(whom_.cluster, whom_.addresses), static_cast<std::uint16_t>(whom_.addresses.size())};
}

void visit::greet() {
    say(wire::message_type::hello, wire::encode(said()));
    input_.resize(header::size + wire::encode(said()).size());
    read([this] { hear_hello(); });
}

/// Sends a message. A lost node is noticed by the next read.
void visit::say(wire::message_type what, const std::string& body) {
    header h;
    h.length = static_cast<std::uint32_t>(body.size());
    h.type = what;
    h.from = wire::observer_number;
    if (call_) return call_->send(wire::encode(h) + body);
    output_.push_back(wire::encode(h) + body);
    asio::async_write(*link_, asio::buffer(output_.back()), [](asio::error_code, std::size_t) {});
}

void visit::read(std::function<void()> then) {
    if (call_) return call_->read(input_, std::move(then));
    asio::async_read(*link_, asio::buffer(input_),
                     [this, then = std::move(then)](asio::error_code failed, std::size_t n) {
                         if (!failed) return then();
                         const std::string why = link_->tls ? link_->tls->error() : std::string{};
                         if (!why.empty()) return end(why);
                         if (!link_->tls && wire::looks_like_alert(std::string_view{input_}.substr(0, n)))
                             return end("speaks TLS: give a certificate, its key and the authority of the nodes");
                         end("has ended the connection: it is going down, or something else listens there");
                     });
}

void visit::hear_hello() {
    const std::string_view all{input_};
    wire::hello theirs;
    if (!wire::decode(all.substr(0, header::size), header_) || header_.type != wire::message_type::hello)
        return end("is no node: something else listens there");
    if (header_.version != wire::protocol_version) {
        return end("speaks version " + std::to_string(header_.version) + " of the protocol, and this program " +
                   std::to_string(wire::protocol_version) + ": ask with the release of Tutti that the node is of");
    }
    if (!wire::decode(all.substr(header::size), theirs) || theirs.cluster != said().cluster ||
        theirs.nodes != said().nodes) {
        return end(
            "belongs to another cluster: give the name and the list of addresses that the nodes were given, in "
            "the same order");
    }
    if (header_.from != number_)
        return end("is node " + std::to_string(header_.from) + ": the addresses are not in the order of the nodes");
    stage_ = "said hello and then nothing: it is busy, or stopped";
    greeted();
}

void visit::ask(wire::message_type what, const std::string& body, wire::message_type answer, std::size_t largest,
                std::function<void(std::string_view)> then) {
    say(what, body);
    input_.resize(header::size);
    read([this, answer, largest, then = std::move(then)] {
        if (!wire::decode(input_, header_) || header_.type != answer || header_.version != wire::protocol_version ||
            header_.length > largest)
            return end(no_sense);
        input_.resize(header_.length);
        read([this, then] { then(input_); });
    });
}

void visit::end(std::string trouble) {
    over_ = true;
    trouble_ = std::move(trouble);
    took_ = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - began_);
    asio::error_code ignored;
    link_->socket.close(ignored);
    if (call_) call_->end();
}

std::string visit::overdue() const {
    return std::string{stage_} + " (within " + std::to_string(whom_.within.count()) + " ms)";
}

}  // namespace tutti::cluster
