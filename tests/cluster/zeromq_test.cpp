// Nodes over ZeroMQ: their messages, which peers are admitted, and how peers that are not nodes are treated.
#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <zmq.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/cluster/status.hpp>
#include <tutti/cluster/timeline.hpp>
#include <tutti/tutti.hpp>

#include "beyond_loopback.hpp"
#include "certificates.hpp"
#include "cli/port.hpp"
#include "cluster/nodes.hpp"
#include "cluster/raw_peer.hpp"
#include "support/watchdog.hpp"
#include "wire/bytes.hpp"
#include "wire/frames.hpp"
#include "wire/message.hpp"

namespace {

using namespace tutti;
using namespace std::chrono_literals;
using cluster::node;
using cluster::node_options;
using cluster::ref;
using cluster::testing::error_of;
using cluster::testing::raw_peer;
using strangers::certificates;

const certificates& keys() {
    static const certificates all{"zeromq", "tutti", "curve"};
    return all;
}
const certificates& other_keys() {
    static const certificates all{"zeromq-others", "tutti", "curve"};
    return all;
}

cluster::curve_options keys_of(const certificates& whose, unsigned number, const certificates& list) {
    return {.key = whose.folder + "/curve-" + std::to_string(number) + ".key",
            .nodes = list.folder + "/curve-nodes.pem"};
}
cluster::curve_options keys_of(unsigned number) { return keys_of(keys(), number, keys()); }

/// The addresses of a cluster on loopback. Each test starts the nodes that it needs.
struct cluster_at {
    explicit cluster_at(unsigned nodes, const std::string& host = "127.0.0.1") {
        for (unsigned i = 0; i < nodes; ++i) {
            ports.push_back(cli::free_port());
            how.addresses.push_back("zmq:" + host + ":" + std::to_string(ports.back()));
        }
    }
    [[nodiscard]] node_options of(unsigned self) const {
        node_options mine = how;
        mine.node_number = self;
        return mine;
    }
    [[nodiscard]] std::string endpoint(unsigned of) const { return "tcp://127.0.0.1:" + std::to_string(ports[of]); }
    /// Returns the hello of process `process` of node `from`.
    [[nodiscard]] std::string hello(wire::node_number from, std::uint64_t process = 0) const {
        wire::header h;
        h.oldest = process;
        return hello(from, h);
    }
    [[nodiscard]] std::string hello(wire::node_number from, wire::header h) const {
        const std::string body = wire::encode(raw_peer::hello_of(how));
        h.length = static_cast<std::uint32_t>(body.size());
        h.type = wire::message_type::hello;
        h.from = from;
        return wire::encode(h) + body;
    }

    node_options how;
    std::vector<int> ports;
};

std::pair<std::unique_ptr<node>, std::unique_ptr<node>> two_nodes(const cluster_at& where) {
    auto second = std::async(std::launch::async, [&] { return std::make_unique<node>(where.of(1)); });
    auto first = std::make_unique<node>(where.of(0));
    return {std::move(first), second.get()};
}

node_options with_keys(node_options how, const cluster::curve_options& curve) {
    how.curve = curve;
    return how;
}

/// Starts both nodes at the same time. Returns both errors.
std::pair<std::string, std::string> errors_of(const node_options& one, const node_options& other) {
    auto second = std::async(std::launch::async, [&] { return error_of(other); });
    std::string first = error_of(one);
    return {std::move(first), second.get()};
}

using raw_key = std::array<std::uint8_t, 32>;

/// Returns the private key of a file, and the public key that belongs to it.
std::pair<raw_key, raw_key> parts_of(const std::string& file) {
    const std::unique_ptr<BIO, int (*)(BIO*)> from{::BIO_new_file(file.c_str(), "r"), ::BIO_free};
    const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> both{
        ::PEM_read_bio_PrivateKey(from.get(), nullptr, nullptr, nullptr), ::EVP_PKEY_free};
    std::pair<raw_key, raw_key> parts;
    std::size_t size = sizeof(raw_key);
    EXPECT_EQ(::EVP_PKEY_get_raw_private_key(both.get(), parts.first.data(), &size), 1) << file;
    EXPECT_EQ(::EVP_PKEY_get_raw_public_key(both.get(), parts.second.data(), &size), 1) << file;
    return parts;
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

/// A socket of libzmq that does not belong to a node.
class raw_socket {
public:
    explicit raw_socket(int type) : socket_{::zmq_socket(context(), type)} {
        const auto set = [this](int option, int value) { ::zmq_setsockopt(socket_, option, &value, sizeof value); };
        set(ZMQ_LINGER, 0);
        set(ZMQ_RCVTIMEO, 20'000);
        set(ZMQ_RCVHWM, 1);  // messages that this side does not read stay with their sender
        set(ZMQ_RCVBUF, 64 * 1024);
    }
    ~raw_socket() { hang_up(); }
    raw_socket(const raw_socket&) = delete;
    raw_socket& operator=(const raw_socket&) = delete;

    void hang_up() {
        if (socket_ != nullptr) ::zmq_close(std::exchange(socket_, nullptr));
    }
    /// Configures a server that encrypts with a fresh, unknown key.
    void encrypt() {
        const int yes = 1;
        char shown[41], secret[41];
        EXPECT_EQ(::zmq_curve_keypair(shown, secret), 0);
        ::zmq_setsockopt(socket_, ZMQ_CURVE_SERVER, &yes, sizeof yes);
        ::zmq_setsockopt(socket_, ZMQ_CURVE_SECRETKEY, secret, sizeof secret - 1);
    }
    /// Configures a client that has the key in the file `caller` and expects the server's key in `called`.
    void encrypt(const std::string& caller, const std::string& called) {
        const auto set = [this](int option, const raw_key& k) {
            EXPECT_EQ(::zmq_setsockopt(socket_, option, k.data(), k.size()), 0);
        };
        const auto own = parts_of(caller);
        set(ZMQ_CURVE_SECRETKEY, own.first);
        set(ZMQ_CURVE_PUBLICKEY, own.second);
        set(ZMQ_CURVE_SERVERKEY, parts_of(called).second);
    }
    void call(const std::string& endpoint) { EXPECT_EQ(::zmq_connect(socket_, endpoint.c_str()), 0); }
    /// Binds as soon as the endpoint is free.
    void listen(const std::string& endpoint) {
        while (::zmq_bind(socket_, endpoint.c_str()) != 0) std::this_thread::yield();
    }
    void send(const std::string& bytes, bool more = false) {
        EXPECT_GE(::zmq_send(socket_, bytes.data(), bytes.size(), more ? ZMQ_SNDMORE : 0), 0);
    }
    /// Receives one part; returns an empty string if it does not arrive in time.
    std::string receive() {
        zmq_msg_t m;
        ::zmq_msg_init(&m);
        std::string bytes;
        if (::zmq_msg_recv(&m, socket_, 0) >= 0)
            bytes.assign(static_cast<char*>(::zmq_msg_data(&m)), ::zmq_msg_size(&m));
        ::zmq_msg_close(&m);
        return bytes;
    }

private:
    static void* context() {
        struct whole {
            void* const c = ::zmq_ctx_new();
            ~whole() { ::zmq_ctx_term(c); }
        };
        static const whole one;
        return one.c;
    }
    void* socket_;
};

wire::header header_of(const std::string& bytes) {
    wire::header h;
    EXPECT_TRUE(wire::decode(std::string_view{bytes}.substr(0, wire::header::size), h));
    return h;
}

/// Sends the hello of process `process` of node 1. Returns the header of node 0's answer.
wire::header greet(raw_socket& dealer, const cluster_at& where, std::uint64_t process) {
    dealer.send(where.hello(1, process));
    const std::string answer = dealer.receive();
    const wire::header h = header_of(answer);
    EXPECT_EQ(answer, where.hello(0, h)) << "a node answers a hello by its own";
    return h;
}

/// Plays node 1 of two nodes; sends and receives only hellos.
struct false_node {
    explicit false_node(const cluster_at& where, std::uint64_t process = 1) : router{ZMQ_ROUTER}, dealer{ZMQ_DEALER} {
        router.listen(where.endpoint(1));
        dealer.call(where.endpoint(0));
        EXPECT_EQ(greet(dealer, where, process).call, 0u);
        answer(router, where, process);
    }
    /// Answers the hello when node 0 calls.
    static void answer(raw_socket& router, const cluster_at& where, std::uint64_t process) {
        const std::string caller = router.receive(), said = router.receive();
        EXPECT_EQ(said, where.hello(0, header_of(said)));
        router.send(caller, true);
        router.send(where.hello(1, process));
    }
    raw_socket router, dealer;
};

TEST(cluster_zeromq, carries_messages_of_several_pieces) {
    support::watchdog guard{"carries_messages_of_several_pieces"};
    const cluster_at where{2};
    const auto [a, b] = two_nodes(where);
    const std::string large(1'000'000, 'x');
    const cluster::object_id there = a->id_at(1, {7, 7});
    atomically([&](tx& t) { ref<std::string>{*a, there}.publish(t, large); });
    EXPECT_TRUE(atomically([&](tx& t) { return ref<std::string>{*a, there}.read(t) == large; }));
}

// Catches frames that are lost or truncated when libzmq's queue is full.
TEST(cluster_zeromq, keeps_messages_beyond_a_full_queue) {
    support::watchdog guard{"keeps_messages_beyond_a_full_queue"};
    constexpr std::uint64_t frames = 6;
    constexpr std::size_t size = 8'000'000;  // together, more than libzmq and the kernel buffer for one node
    cluster_at where{2};
    where.how.failure_timeout = 600s;
    std::promise<void> sent;
    std::uint64_t heard = 0;
    bool sound = true;
    std::thread other{[&] {
        false_node n{where};
        sent.get_future().wait();
        std::string input;
        while (heard < frames && sound) {
            const std::string caller = n.router.receive(), piece = n.router.receive();
            input += piece;
            sound = !piece.empty() && wire::split_frames(input, 0, std::size_t{16} << 20,
                                                         [&](const wire::header& h, std::string_view body) {
                                                             return h.call == ++heard && body.size() > size;
                                                         });
        }
    }};
    {
        const node here{where.of(0)};
        for (std::uint64_t i = 1; i <= frames; ++i)
            EXPECT_TRUE(here.calls()->send(
                1, i, {.procedure = {}, .arguments = {std::string(size, 'x')}, .routing_object = {}}));
        sent.set_value();
        other.join();
    }
    EXPECT_TRUE(sound);
    EXPECT_EQ(heard, frames);
}

/// Returns the public keys of three nodes, as OpenSSL prints them.
std::array<std::string, 3> public_keys(const certificates& of) {
    constexpr int lines_of_a_key = 3;
    std::array<std::string, 3> all;
    std::ifstream list{of.folder + "/curve-nodes.pem"};
    std::string line;
    for (int i = 0; i < 3 * lines_of_a_key && std::getline(list, line); ++i)
        all[static_cast<std::size_t>(i / lines_of_a_key)] += line + '\n';
    return all;
}
std::string list_of(const char* name, const std::array<std::string, 3>& all) {
    const std::string file = keys().folder + "/" + name;
    std::ofstream{file} << all[0] << all[1] << all[2];
    return file;
}

TEST(cluster_zeromq, encrypts_with_the_keys_of_all_nodes) {
    support::watchdog guard{"encrypts_with_the_keys_of_all_nodes"};
    const std::string host = address_beyond_loopback();
    const cluster_at where{3, host.empty() ? "127.0.0.1" : host};
    if (!host.empty()) {
        EXPECT_SAYS(error_of(where.of(0)), "beyond loopback, and its traffic would not be encrypted: give a private");
    }
    std::array<std::future<std::unique_ptr<node>>, 3> starts;
    for (unsigned i = 0; i < 3; ++i) {
        starts[i] = std::async(std::launch::async,
                               [&, i] { return std::make_unique<node>(with_keys(where.of(i), keys_of(i))); });
    }
    // Each node ends only after all nodes have started, because libzmq may drop received messages of a peer that has
    // ended.
    std::array<std::unique_ptr<node>, 3> all;
    for (unsigned i = 0; i < 3; ++i) all[i] = starts[i].get();
    all[1].reset();
    all[1] = std::make_unique<node>(with_keys(where.of(1), keys_of(1)));
    while (all[0]->lost(1) || all[2]->lost(1)) std::this_thread::yield();
}

TEST(cluster_zeromq, answers_observers) {
    support::watchdog guard{"answers_observers"};
    const cluster_at where{3};
    std::array<std::future<std::unique_ptr<node>>, 3> starts;
    for (unsigned i = 0; i < 3; ++i) {
        starts[i] = std::async(std::launch::async,
                               [&, i] { return std::make_unique<node>(with_keys(where.of(i), keys_of(i))); });
    }
    std::array<std::unique_ptr<node>, 3> all;
    for (unsigned i = 0; i < 3; ++i) all[i] = starts[i].get();
    const cluster::observer_options whom{
        .addresses = where.how.addresses, .timeout = 20s, .curve = keys_of(2)};  // the key of any node
    const ref<long> there{*all[0], all[0]->id_at(1, {7, 7})};
    atomically([&](tx& t) { there.publish(t, 1); });
    std::atomic<bool> over{false};
    std::thread works{[&] {
        while (!over.load()) atomically([&](tx& t) { ++there.write(t); });
    }};
    // Records until an answer needs more than one message.
    std::size_t events = 0;
    for (auto how_long = 100ms; events < 2500; how_long *= 2) {
        for (const auto& one : cluster::record_nodes(whom, how_long)) {
            EXPECT_EQ(one.error, "");
            events = std::max(events, one.events.size());
        }
    }
    over.store(true);
    works.join();
    all[2].reset();
    const auto answers = cluster::query_nodes(whom);
    for (unsigned i = 0; i < 2; ++i) {
        ASSERT_TRUE(answers[i].status) << answers[i].error;
        EXPECT_EQ(answers[i].status->number, i);
        EXPECT_EQ(answers[i].status->observers, 1u);
        EXPECT_EQ(answers[i].status->peers[1 - i].state, cluster::peer_state::connected);
    }
    EXPECT_SAYS(answers[2].error, "cannot be reached");
    const auto error = [&](cluster::observer_options who) { return cluster::query_nodes(who).front().error; };
    cluster::observer_options wrong = whom;
    wrong.curve = keys_of(other_keys(), 0, other_keys());
    EXPECT_SAYS(error(wrong), "it has another key than the list");
    wrong.curve = {};
    EXPECT_SAYS(error(wrong), "uses keys");
    wrong = whom;
    std::swap(wrong.addresses[0], wrong.addresses[1]);
    EXPECT_NE(error(wrong), "");
    wrong.curve = keys_of(other_keys(), 0, keys());
    EXPECT_THROW(static_cast<void>(cluster::query_nodes(wrong)), cluster::connection_error);
}

// If the called node sends the reason, the caller's start fails immediately. The called node reports the reason after
// the caller has not connected within the timeout.
TEST(cluster_zeromq, refuses_unknown_keys) {
    support::watchdog guard{"refuses_unknown_keys"};
    cluster_at where{3};
    where.how.connect_timeout = 2s;
    const auto ours = public_keys(keys()), theirs = public_keys(other_keys());
    // The list of node 1 has the key of node 0. The list of node 0 has another key for node 1.
    const cluster::curve_options unknown_keys{.key = other_keys().folder + "/curve-1.key",
                                              .nodes = list_of("half.pem", {ours[0], theirs[1], theirs[2]})};
    const auto refused = errors_of(with_keys(where.of(0), keys_of(0)), with_keys(where.of(1), unknown_keys));
    EXPECT_SAYS(refused.second, "node 0 (" + where.how.addresses[0] + ") refuses the key of this node");
    EXPECT_SAYS(refused.first, "The last rejected connection: ");
    // Node 2 acts as node 1.
    const cluster::curve_options swapped{.key = keys().folder + "/curve-2.key",
                                         .nodes = list_of("swapped.pem", {ours[0], ours[2], ours[1]})};
    const auto another = errors_of(with_keys(where.of(0), keys_of(0)), with_keys(where.of(1), swapped));
    EXPECT_SAYS(another.first, "did not connect within 2000 ms: 1 (");
    EXPECT_SAYS(another.second, "did not connect within 2000 ms: 0 (");
}

// Catches a node that accepts any node's key for the node that the hello names.
TEST(cluster_zeromq, identifies_nodes_by_their_keys) {
    support::watchdog guard{"identifies_nodes_by_their_keys"};
    cluster_at where{3};
    where.how.connect_timeout = 2s;
    raw_socket pretends{ZMQ_DEALER};
    pretends.encrypt(keys_of(2).key, keys_of(0).key);
    pretends.call(where.endpoint(0));
    pretends.send(where.hello(1));
    EXPECT_SAYS(error_of(with_keys(where.of(0), keys_of(0))), "claims to be node 1, and shows the key of node 2");
}

// Catches a node that silently waits for a peer with which it cannot communicate.
TEST(cluster_zeromq, reports_what_is_wrong_with_a_peer) {
    support::watchdog guard{"reports_what_is_wrong_with_a_peer"};
    const cluster_at where{3};
    raw_socket in_the_clear{ZMQ_ROUTER}, by_keys{ZMQ_ROUTER};
    by_keys.encrypt();
    in_the_clear.listen(where.endpoint(1));
    by_keys.listen(where.endpoint(2));
    EXPECT_SAYS(error_of(where.of(0)), "uses keys, and this node has none");
    by_keys.hang_up();
    EXPECT_SAYS(error_of(with_keys(where.of(0), keys_of(0))), "has no keys, and this node does");
    cluster_at elsewhere{3};
    elsewhere.how.connect_timeout = 1s;
    raw_socket another{ZMQ_ROUTER};
    another.encrypt();
    another.listen(elsewhere.endpoint(1));
    EXPECT_SAYS(error_of(with_keys(elsewhere.of(0), keys_of(0))), "it may have another key");
}

TEST(cluster_zeromq, reports_what_is_wrong_with_key_files) {
    support::watchdog guard{"reports_what_is_wrong_with_key_files"};
    const cluster_at where{3};
    const auto with = [&](const cluster::curve_options& curve) { return error_of(with_keys(where.of(0), curve)); };
    const cluster::curve_options good = keys_of(0);
    EXPECT_SAYS(with({.key = good.key}), "give the missing one");
    EXPECT_SAYS(with({.key = "/nonexistent", .nodes = good.nodes}), "/nonexistent cannot be read");
    EXPECT_SAYS(with({.key = good.nodes, .nodes = good.nodes}), "has no private key");
    EXPECT_SAYS(with({.key = good.key, .nodes = good.key}), "has 0 public keys, and there are 3 nodes");
    EXPECT_SAYS(with(keys_of(1)), "is not the key of node 0");
    node_options by_certificates = where.of(0);
    by_certificates.tls = {"c", "k", "a"};
    EXPECT_SAYS(error_of(by_certificates), "by keys, not by certificates");
}

// Callers send bytes that are not ZeroMQ's, and messages that are not the cluster's.
TEST(cluster_zeromq, admits_nodes_beside_unknown_callers) {
    support::watchdog guard{"admits_nodes_beside_unknown_callers"};
    const cluster_at where{2};
    auto first = std::async(std::launch::async, [&] { return std::make_unique<node>(where.of(0)); });
    raw_socket silent{ZMQ_DEALER}, babbles{ZMQ_DEALER}, parts{ZMQ_DEALER};
    for (raw_socket* const s : {&silent, &babbles, &parts}) s->call(where.endpoint(0));
    babbles.send("what");
    babbles.send(where.hello(1));  // too late
    parts.send(where.hello(1), true);
    parts.send("and more");
    const int raw = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(where.ports[0]));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    while (::connect(raw, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) std::this_thread::yield();
    const std::string garbage(4096, '\x5a');
    static_cast<void>(::send(raw, garbage.data(), garbage.size(), MSG_NOSIGNAL));
    char some[256];
    while (::recv(raw, some, sizeof some, 0) > 0) {}  // until node 0 closes the connection
    ::close(raw);
    const node second{where.of(1)};  // the constructor returns when node 0 has seen node 1
    EXPECT_NE(first.get(), nullptr);
}

// libzmq cannot close a single connection on request, but can stop accepting new ones.
TEST(cluster_zeromq, bounds_the_number_of_callers) {
    support::watchdog guard{"bounds_the_number_of_callers"};
    cluster_at where{2};
    where.how.connect_timeout = 2s;
    auto first = std::async(std::launch::async, [&] { return error_of(where.of(0)); });
    std::deque<raw_socket> many;
    for (int i = 0; i < 100; ++i) many.emplace_back(ZMQ_DEALER).call(where.endpoint(0));
    EXPECT_SAYS(first.get(), "find the program that opens so many connections");
}

std::string frame_of(std::size_t length, wire::node_number from) {
    return wire::encode(wire::header{
        .length = static_cast<std::uint32_t>(length), .type = wire::message_type::heartbeat, .from = from});
}

// Catches a second process that is admitted while the first is not lost, and answers or late messages of the former
// process that count as messages of the next process. Catches a node that does not call the next process.
TEST(cluster_zeromq, distinguishes_the_processes_of_a_node) {
    support::watchdog guard{"distinguishes_the_processes_of_a_node"};
    cluster_at where{2};
    where.how.failure_timeout = 600s;
    std::promise<const node*> joined;
    std::promise<void> over;
    std::thread other{[&] {
        false_node former{where, 1};
        const node& here = *joined.get_future().get();
        for (const std::uint64_t process : {1u, 2u}) {
            raw_socket early{ZMQ_DEALER};
            early.call(where.endpoint(0));
            EXPECT_EQ(greet(early, where, process).call, wire::has_begun | wire::has_another);
        }
        EXPECT_FALSE(here.lost(1));
        former.dealer.send(frame_of(1u << 30, 1));
        while (!here.lost(1)) std::this_thread::yield();
        raw_socket dealer{ZMQ_DEALER}, router{ZMQ_ROUTER};
        dealer.call(where.endpoint(0));
        EXPECT_EQ(greet(dealer, where, 2).call, wire::has_begun);
        false_node::answer(former.router, where, 1);
        former.router.hang_up();
        router.listen(where.endpoint(1));
        false_node::answer(router, where, 2);
        for (std::uint64_t round = 0; round < 3; ++round) {
            former.dealer.send(frame_of(1u << 30, 1));
            const std::string body = wire::encode(wire::rejoin_request{1, {0, 2}});
            dealer.send(wire::encode(wire::header{.length = static_cast<std::uint32_t>(body.size()),
                                                  .type = wire::message_type::rejoin_request,
                                                  .from = 1}) +
                        body);
            wire::header h;
            do {
                EXPECT_FALSE(router.receive().empty()) << "who says it";
                h = header_of(router.receive());
            } while (h.type == wire::message_type::heartbeat);
            EXPECT_EQ(h.type, wire::message_type::ownership_report);
        }
        over.set_value();
    }};
    {
        const node here{where.of(0)};
        joined.set_value(&here);
        over.get_future().wait();
    }
    other.join();
}

std::string status_frame(std::uint64_t call) {
    return wire::encode(wire::header{.type = wire::message_type::status, .from = wire::observer_number, .call = call});
}

/// Connects to node 0 as an observer.
void observe(raw_socket& s, const cluster_at& where) {
    s.call(where.endpoint(0));
    s.send(where.hello(wire::observer_number));
    const std::string answer = s.receive();
    EXPECT_EQ(answer, where.hello(0, header_of(answer)));
}

wire::status_reply told_in(const std::string& bytes) {
    wire::status_reply told;
    EXPECT_EQ(header_of(bytes).type, wire::message_type::status_reply);
    EXPECT_TRUE(wire::decode(std::string_view{bytes}.substr(wire::header::size), told));
    return told;
}

// Catches an observer that blocks other observers forever, or that makes the node do unbounded work.
TEST(cluster_zeromq, answers_only_permitted_queries_of_observers) {
    support::watchdog guard{"answers_only_permitted_queries_of_observers"};
    cluster_at where{2};
    where.how.failure_timeout = 600s;
    const auto [a, b] = two_nodes(where);
    std::deque<raw_socket> many;
    for (unsigned i = 0; i < wire::max_observers; ++i) observe(many.emplace_back(ZMQ_DEALER), where);
    {
        raw_socket late{ZMQ_DEALER};
        observe(late, where);
        EXPECT_FALSE(told_in(late.receive()).admitted);
    }
    // The node ignores each of these from then on: nonsense, excess bytes, a message in parts, a question before the
    // last answer.
    many[0].send(where.hello(1));
    many[1].send(status_frame(1) + "x");
    many[2].send(status_frame(1), true);
    many[2].send(status_frame(1));
    for (std::uint64_t i = 0; i < 64; ++i) many[3].send(status_frame(i));
    many[4].hang_up();
    const auto facts = [&] {
        many[7].send(status_frame(9));
        return told_in(many[7].receive()).status;
    };
    cluster::node_status f = facts();
    while (f.observers != 3) f = facts();
    EXPECT_EQ(f.observers_refused, 1u);
    EXPECT_EQ(f.observers_disconnected, 4u);
}

TEST(cluster_zeromq, disconnects_silent_observers) {
    support::watchdog guard{"disconnects_silent_observers"};
    cluster_at where{2};
    where.how.failure_timeout = 80ms;
    const auto [a, b] = two_nodes(where);
    std::deque<raw_socket> many;
    for (unsigned i = 0; i < wire::max_observers; ++i) observe(many.emplace_back(ZMQ_DEALER), where);
    const auto is_alone = [&] {
        const auto answer = cluster::query_nodes({.addresses = where.how.addresses, .timeout = 20s}).front();
        return answer.status && answer.status->observers == 1;
    };
    while (!is_alone()) std::this_thread::yield();
}

/// Ends a false node in one particular way.
struct ending {
    const char* name;
    void (*how)(false_node&);
};

class cluster_zeromq_peer : public ::testing::TestWithParam<ending> {};

// Catches a node that waits for a peer that has ended, or that keeps listening to a peer that sends nonsense.
TEST_P(cluster_zeromq_peer, is_lost) {
    support::watchdog guard{"cluster_zeromq_peer.is_lost"};
    cluster_at where{2};
    const bool silent = GetParam().how == nullptr;
    where.how.failure_timeout = silent ? 80ms : 600s;
    std::promise<void> joined, over;
    std::thread other{[&] {
        false_node n{where};
        joined.get_future().wait();
        if (!silent) GetParam().how(n);
        over.get_future().wait();
    }};
    {
        const node here{where.of(0)};
        joined.set_value();
        while (!here.lost(1)) std::this_thread::yield();
        EXPECT_THROW(atomically([&](tx& t) { (void)ref<long>{here, here.id_at(1, {1, 1})}.find(t); }),
                     cluster::node_lost);
    }
    over.set_value();
    other.join();
}

INSTANTIATE_TEST_SUITE_P(
    all, cluster_zeromq_peer,
    ::testing::Values(ending{"silent", nullptr}, ending{"hangs_up", [](false_node& n) { n.dealer.hang_up(); }},
                      ending{"babbles", [](false_node& n) { n.dealer.send(std::string(1000, 'x')); }},
                      ending{"is_another", [](false_node& n) { n.dealer.send(frame_of(0, 0)); }},
                      ending{"announces_too_much", [](false_node& n) { n.dealer.send(frame_of(1u << 30, 1)); }},
                      ending{"in_parts",
                             [](false_node& n) {
                                 n.dealer.send(frame_of(0, 1), true);
                                 n.dealer.send(frame_of(0, 1));
                             }},
                      ending{"says_too_much_at_once",
                             [](false_node& n) {
                                 std::string all;
                                 while (all.size() < 200'000) all += frame_of(0, 1);
                                 n.dealer.send(all);
                             }}),
    [](const auto& p) { return std::string{p.param.name}; });

}  // namespace
