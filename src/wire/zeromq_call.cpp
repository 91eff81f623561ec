#include "wire/zeromq_call.hpp"

#include <utility>

#include "wire/wire_error.hpp"
#if defined(TUTTI_CLUSTER_ZEROMQ)
#include "wire/zeromq_peer.hpp"
#endif

namespace tutti::wire {

#if defined(TUTTI_CLUSTER_ZEROMQ)
namespace {

class call final : public zeromq_call {
public:
    call(asio::io_context& io, const address& to, const curve_keys* keys, node_number whom, stage_callback then);
    ~call() override { call::end(); }

    void send(const std::string& bytes) override;
    void read(std::string& into, std::function<void()> then) override;
    void end() noexcept override;

private:
    void await(asio::posix::stream_descriptor& one);
    void poll();
    void poll_soon();
    void receive_some(const zmq_monitor::event& e);
    void serve();
    void fail(const std::string& why);

    const zmq_context context_;
    zmq_socket socket_;
    zmq_monitor of_socket_;
    asio::posix::stream_descriptor input_descriptor_,
        event_descriptor_;  // libzmq owns these descriptors: release, do not close
    const bool encrypted_;
    const stage_callback then_;
    std::string came_;
    std::string* into_ = nullptr;
    std::function<void()> filled_;
    bool connected_ = false;
    bool over_ = false;
};

call::call(asio::io_context& io, const address& to, const curve_keys* keys, node_number whom, stage_callback then)
    : socket_{context_, ZMQ_DEALER},
      input_descriptor_{io},
      event_descriptor_{io},
      encrypted_{keys != nullptr},
      then_{std::move(then)} {
    limit_to_one_call(socket_);
    if (keys != nullptr) encrypt(socket_, *keys, whom);
    of_socket_ = zmq_monitor{context_, socket_, ZMQ_EVENT_CONNECTED | call_result_events};
    if (!socket_.connect(endpoint_of(to))) throw wire_error{std::string{"cannot be called: "} + ::zmq_strerror(errno)};
    input_descriptor_.assign(socket_.descriptor());
    event_descriptor_.assign(of_socket_.descriptor());
    await(input_descriptor_);
    await(event_descriptor_);
}

void call::await(asio::posix::stream_descriptor& one) {
    one.async_wait(asio::posix::stream_descriptor::wait_read, [this, &one](asio::error_code failed) {
        if (failed || over_) return;
        poll();
        if (!over_) await(one);
    });
}

void call::poll() {
    while (!over_) {
        const auto e = of_socket_.next();
        if (!e) break;
        receive_some(*e);
    }
    while (!over_ && into_ != nullptr) {
        zmq_message m;
        if (came_.size() >= into_->size()) serve();
        else if (socket_.receive(m)) came_ += m.bytes();
        else break;
    }
}

void call::receive_some(const zmq_monitor::event& e) {
    switch (e.what) {
        case ZMQ_EVENT_CONNECTED: return then_(stage::accepted, {});
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
            connected_ = true;
            static_cast<void>(socket_.has_room());  // lets libzmq register the connection, so that it can send now
            return then_(stage::connected, {});
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
            return fail("refuses this side's key, because the key is not in its list: update that list");
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
            if (e.value != ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) return fail("is not a node that speaks ZeroMQ");
            return fail(encrypted_ ? "has no keys: leave them out"
                                   : "uses keys: give the private key of a node, and the list of public keys");
        case ZMQ_EVENT_CLOSED: return fail("cannot be reached: is it running?");
        default:
            if (connected_) return fail("has ended the connection: it is shutting down");
            fail(std::string{"has ended the connection before it identified itself: it "} +
                 (encrypted_ ? "has another key than the list" : "uses keys") + ", is shutting down, or is not a node");
    }
}

/// Completes a read.
/// REQUIRES: all bytes that the read waits for have arrived.
void call::serve() {
    const std::size_t size = into_->size();
    std::exchange(into_, nullptr)->assign(came_, 0, size);
    came_.erase(0, size);
    std::exchange(filled_, nullptr)();
}

void call::send(const std::string& bytes) {
    if (over_) return;
    static_cast<void>(socket_.send(bytes));
    poll_soon();
}

/// Schedules a check for input. The check is necessary because libzmq does not signal the input again once it has read
/// its commands.
void call::poll_soon() {
    asio::post(input_descriptor_.get_executor(), [this] { poll(); });
}

void call::read(std::string& into, std::function<void()> then) {
    into_ = &into;
    filled_ = std::move(then);
    poll_soon();
}

void call::fail(const std::string& why) {
    end();
    then_(stage::over, why);
}

void call::end() noexcept {
    if (std::exchange(over_, true)) return;
    if (input_descriptor_.is_open()) input_descriptor_.release();
    if (event_descriptor_.is_open()) event_descriptor_.release();
    of_socket_.stop(socket_);
    socket_.close();
}

}  // namespace

std::unique_ptr<zeromq_call> call_over_zeromq(asio::io_context& io, const address& to, const curve_keys* keys,
                                              node_number whom, zeromq_call::stage_callback then) {
    return std::make_unique<call>(io, to, keys, whom, std::move(then));
}
#else
std::unique_ptr<zeromq_call> call_over_zeromq(asio::io_context&, const address&, const curve_keys*, node_number,
                                              zeromq_call::stage_callback) {
    throw wire_error{"speaks ZeroMQ, and this program was built without it: build it where libzmq3-dev is installed"};
}
#endif

}  // namespace tutti::wire
