#include "cluster/replica/sessions.hpp"

#include <utility>

#include "cluster/replica/raft_loop.hpp"

namespace tutti::cluster::replica {
namespace {

using namespace backend::group;

constexpr std::size_t max_waiting_bytes = max_reply;  // bytes of a stream that the system has not accepted
constexpr std::size_t read_at_once = 65536;
constexpr std::size_t max_sessions = 4096;

}  // namespace

void session::answer(std::string frame) {
    has_request_ = false;
    if (socket_ == nullptr || !send(std::move(frame))) return end();
    read();
    handle_frame();
}

bool session::send_update(std::string frame) {
    if (socket_ != nullptr && waiting_bytes_ + frame.size() <= max_waiting_bytes && send(std::move(frame))) return true;
    end();
    return false;
}

void session::end() {
    if (socket_ == nullptr) return;
    uv_tcp_t* const socket = std::exchange(socket_, nullptr);
    socket->data = nullptr;
    ::uv_close(reinterpret_cast<uv_handle_t*>(socket), [](uv_handle_t* s) { raft_free(s); });
    follows.reset();
    of_.all_.remove_if([this](const std::shared_ptr<session>& one) { return one.get() == this; });
}

bool session::send(std::string bytes) {
    if (tls_ && !tls_->encrypt(bytes)) return false;
    return send_raw(std::move(bytes));
}

bool session::send_raw(std::string bytes) {
    const std::size_t size = bytes.size();
    const auto sent = [of = weak_from_this(), size] {
        if (const auto one = of.lock()) one->waiting_bytes_ -= size;
    };
    if (!write(*stream(socket_), std::move(bytes), sent)) return false;
    waiting_bytes_ += size;
    return true;
}

void session::read() {
    const int failed = ::uv_read_start(
        stream(socket_),
        [](uv_handle_t* s, std::size_t, uv_buf_t* to) {
            session& mine = *static_cast<session*>(s->data);
            mine.chunk_.resize(read_at_once);
            *to = ::uv_buf_init(mine.chunk_.data(), read_at_once);
        },
        [](uv_stream_t* s, ssize_t n, const uv_buf_t* from) {
            if (s->data == nullptr) return;
            const std::shared_ptr<session> mine = static_cast<session*>(s->data)->shared_from_this();
            if (n < 0) return mine->end();
            mine->receive({from->base, static_cast<std::size_t>(n)});
        });
    if (failed != 0 && failed != UV_EALREADY) end();
}

void session::receive(std::string_view part) {
    if (!tls_) {
        input_.append(part);
    } else {
        const bool goes_on = tls_->decrypt(part, input_);
        const std::string pending = tls_->pending_output();
        if (!pending.empty() && !send_raw(pending)) return end();
        if (!goes_on) return end();
    }
    handle_frame();
}

void session::handle_frame() {
    if (has_request_ || socket_ == nullptr) return;
    std::uint32_t length = 0;
    if (input_.size() < sizeof length) return;
    std::memcpy(&length, input_.data(), sizeof length);
    if (follows || length == 0) return end();  // a program that follows a stream must not send requests
    if (length > max_frame) {
        static_cast<void>(
            send(frame(reply_status::refused, text_reply{"a request of " + std::to_string(length) +
                                                         " bytes exceeds the limit of " + std::to_string(max_frame)})));
        return end();
    }
    if (input_.size() < sizeof length + length) return;
    const std::string message = input_.substr(sizeof length, length);
    input_.erase(0, sizeof length + length);
    std::string_view rest{message};
    request_kind what{};
    if (!take_head(rest, what)) return end();
    has_request_ = true;
    if (what != request_kind::follow) ::uv_read_stop(stream(socket_));
    of_.serve_(shared_from_this(), what, rest);
}

void sessions::add(identified_connection a) {
    uv_tcp_t* const socket = a.socket;
    if (all_.size() >= max_sessions) {
        ::uv_close(reinterpret_cast<uv_handle_t*>(socket), [](uv_handle_t* s) { raft_free(s); });
        return;
    }
    const std::shared_ptr<session> made{new session{*this, std::move(a)}};
    socket->data = made.get();
    all_.push_back(made);
    made->read();
    made->handle_frame();  // bytes that arrived with the hello
}

void sessions::send_due_keepalives() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_keepalive_) return;
    next_keepalive_ = now + keep_alive_interval;
    for (auto next = all_.begin(); next != all_.end();) {
        const std::shared_ptr<session> one = *next++;
        if ((one->has_request_ || one->follows) && one->waiting_bytes_ == 0)
            static_cast<void>(one->send_update(frame(reply_status::keep_alive, empty_body{})));
    }
}

void sessions::end_all() {
    while (!all_.empty()) {
        const std::shared_ptr<session> one = all_.front();
        one->end();
    }
}

}  // namespace tutti::cluster::replica
