// The observer's side: one question to each node, all at once, none for longer than the asker waits.
#include <deque>

#include "tutti/cluster/errors.hpp"
#include "tutti/cluster/status.hpp"
#include "wire/address.hpp"
#include "wire/bytes.hpp"
#include "wire/connection.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {
namespace {

using clock = std::chrono::steady_clock;
using wire::header;

/// The facts of the largest cluster take a tenth of it.
constexpr std::size_t largest_answer = std::size_t{64} << 10;

/// Hello to one node, and what comes back.
class question {
public:
    question(asio::io_context& io, const observer_options& whom, const wire::tls* tls, std::size_t number)
        : whom_{whom},
          tls_{tls},
          number_{number},
          to_{wire::parse_address(whom.addresses[number],
                                  tls != nullptr || wire::is_of_zeromq(whom.addresses[number]))},
          link_{std::make_shared<wire::connection>(io)} {}

    void start() {
        if (to_.zeromq)
            return end("speaks ZeroMQ, over which nodes answer no observers: give it metrics, and look at those");
        link_->socket.async_connect(to_.endpoint, [this](asio::error_code failed) {
            if (failed) return end("cannot be reached: " + failed.message() + "; is it running?");
            stage_ = "has accepted the connection, but said nothing: it is stopped, or not a node";
            if (tls_ != nullptr)
                link_->tls = tls_->call(wire::certificate_name(static_cast<wire::node_number>(number_), whom_.cluster));
            link_->shake_hands([this](asio::error_code refused) {
                if (refused) return end(link_->tls->trouble());
                greet();
            });
        });
    }

    node_answer answer() && {
        node_answer a{.address = to_.text, .facts = std::move(facts_), .trouble = std::move(trouble_), .took = took_};
        if (over_) return a;
        a.took = whom_.within;
        a.trouble = std::string{stage_} + " (within " + std::to_string(whom_.within.count()) + " ms)";
        return a;
    }

private:
    [[nodiscard]] wire::hello said() const {
        return {wire::cluster_number(whom_.cluster, whom_.addresses),
                static_cast<std::uint16_t>(whom_.addresses.size())};
    }

    void greet() {
        say(wire::kind::hello, wire::encode(said()));
        input_.resize(header::size + wire::encode(said()).size());
        read([this] { hear_hello(); });
    }

    /// A node that has gone meanwhile is noticed by what is read.
    void say(wire::kind what, const std::string& body) {
        header h;
        h.length = static_cast<std::uint32_t>(body.size());
        h.kind = what;
        h.from = wire::observer_number;
        output_.push_back(wire::encode(h) + body);
        asio::async_write(*link_, asio::buffer(output_.back()), [](asio::error_code, std::size_t) {});
    }

    template <class F>
    void read(F&& then) {
        asio::async_read(*link_, asio::buffer(input_), [this, then](asio::error_code failed, std::size_t n) {
            if (!failed) return then();
            const std::string why = link_->tls ? link_->tls->trouble() : std::string{};
            if (!why.empty()) return end(why);
            if (!link_->tls && wire::looks_like_alert(std::string_view{input_}.substr(0, n)))
                return end("speaks TLS: give a certificate, its key and the authority of the nodes");
            end("has ended the connection: it is going down, or something else listens there");
        });
    }

    void hear_hello() {
        const std::string_view all{input_};
        wire::hello theirs;
        if (!wire::decode(all.substr(0, header::size), header_) || header_.kind != wire::kind::hello)
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
        say(wire::kind::status, {});
        input_.resize(header::size);
        read([this] { hear_header(); });
    }

    void hear_header() {
        if (!wire::decode(input_, header_) || header_.kind != wire::kind::status_told ||
            header_.version != wire::protocol_version || header_.length > largest_answer)
            return end(no_sense);
        input_.resize(header_.length);
        read([this] { hear_answer(); });
    }

    void hear_answer() {
        wire::status_told told;
        if (!wire::decode(input_, told)) return end(no_sense);
        if (!told.admitted) return end("has as many observers as it answers at a time; ask again");
        facts_ = std::move(told.facts);
        end({});
    }

    void end(std::string trouble) {
        over_ = true;
        trouble_ = std::move(trouble);
        took_ = std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - began_);
        asio::error_code ignored;
        link_->socket.close(ignored);
    }

    static constexpr const char* no_sense = "answered something that makes no sense: something else listens there";

    const observer_options& whom_;
    const wire::tls* const tls_;  // null: in the clear
    const std::size_t number_;
    const wire::address to_;
    const std::shared_ptr<wire::connection> link_;
    const clock::time_point began_ = clock::now();
    const char* stage_ = "does not accept the connection";
    std::deque<std::string> output_;  // until the end, for writes that are under way
    std::string input_;
    header header_;
    bool over_ = false;
    std::optional<node_facts> facts_;
    std::string trouble_;
    std::chrono::microseconds took_{0};
};

}  // namespace

std::vector<node_answer> ask_nodes(const observer_options& whom) try {
    std::optional<const wire::tls> tls;
    const wire::tls_files files{whom.tls.certificate, whom.tls.key, whom.tls.authority};
    if (files.wanted()) tls.emplace(files, std::vector<std::string>{});
    asio::io_context io{1};
    std::deque<question> all;
    for (std::size_t i = 0; i < whom.addresses.size(); ++i) all.emplace_back(io, whom, tls ? &*tls : nullptr, i);
    for (question& q : all) q.start();
    io.run_for(whom.within);
    std::vector<node_answer> answers;
    for (question& q : all) answers.push_back(std::move(q).answer());
    return answers;
} catch (const wire::refusal& e) {
    throw connection_error{std::string{"tutti: "} + e.what()};
}

}  // namespace tutti::cluster
