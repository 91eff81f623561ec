#include "wire/connection.hpp"

namespace tutti::wire {
namespace {

/// The size of a read. A handshake has fewer bytes in each direction, except with very long certificate chains.
constexpr std::size_t read_size = std::size_t{16} * 1024;

}  // namespace

void connection::shake_hands(done then) {
    if (!tls) return asio::post(get_executor(), [then = std::move(then)] { then({}); });
    if (!tls->decrypt({}, plain))
        return flush([then = std::move(then)](asio::error_code) { then(asio::error::fault); });
    const bool over = tls->is_established();
    flush([this, over, then = std::move(then)](asio::error_code failed) mutable {
        if (failed || over) return then(failed);
        receive([this, then = std::move(then)](asio::error_code lost) mutable {
            if (lost) return then(lost);
            shake_hands(std::move(then));
        });
    });
}

/// Receives bytes and passes them to the session.
void connection::receive(done then) {
    input_.resize(read_size);
    socket.async_read_some(asio::buffer(input_), [this, self = shared_from_this(), then = std::move(then)](
                                                     asio::error_code failed, std::size_t n) mutable {
        if (failed) return then(failed);
        if (tls->decrypt(std::string_view{input_}.substr(0, n), plain)) return then({});
        // Before the connection ends, the other side is sent the reason.
        flush([then = std::move(then)](asio::error_code) { then(asio::error::connection_aborted); });
    });
}

void connection::await_plain(done then) {
    if (!plain.empty())
        return asio::post(get_executor(), [self = shared_from_this(), then = std::move(then)] { then({}); });
    receive([this, then = std::move(then)](asio::error_code failed) mutable {
        if (failed) return then(failed);
        await_plain(std::move(then));
    });
}

void connection::send(std::string plain_bytes, done then) {
    if (!tls->encrypt(plain_bytes)) {
        return asio::post(get_executor(), [self = shared_from_this(), then = std::move(then)] {
            then(asio::error::connection_aborted);
        });
    }
    next_ += plain_bytes;
    flush(std::move(then));
}

void connection::flush(done then) {
    if (tls) next_ += tls->pending_output();
    waiting_.push_back(std::move(then));
    if (!busy_) continue_writing();
}

/// A write, and the callbacks that wait for its end. Most of these callbacks hold a reference to the connection. If the
/// context ends first, the write never ends, so the destructor drops the callbacks.
struct connection::writing {
    explicit writing(std::shared_ptr<connection> c) : of{std::move(c)} { std::swap(over, of->waiting_); }
    writing(const writing&) = delete;
    writing& operator=(const writing&) = delete;
    ~writing() {
        std::deque<done> dropped;
        if (!ended) std::swap(dropped, of->waiting_);
    }

    const std::shared_ptr<connection> of;
    std::deque<done> over;
    bool ended = false;
};

void connection::continue_writing() {
    busy_ = true;
    output_.clear();
    std::swap(output_, next_);
    asio::async_write(socket, asio::buffer(output_),
                      [this, w = std::make_shared<writing>(shared_from_this())](asio::error_code failed, std::size_t) {
                          busy_ = false;
                          w->ended = true;
                          std::deque<done> over;
                          std::swap(over, w->over);
                          if (!waiting_.empty()) continue_writing();
                          for (const done& then : over) then(failed);
                      });
}

}  // namespace tutti::wire
