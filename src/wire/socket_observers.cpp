#include "wire/socket_observers.hpp"

#include <utility>

namespace tutti::wire {

/// An observer's connection. The object is destroyed with the last pending operation that refers to it.
struct socket_observers::session : observer_server::observer_session {
    session(std::shared_ptr<connection> c, observer_server& at)
        : observer_server::observer_session{at}, link{std::move(c)}, timer{link->get_executor()} {}

    std::shared_ptr<connection> link;
    asio::steady_timer timer;
    std::string question, body, output;
};

void socket_observers::admit(std::shared_ptr<connection> c) {
    if (!all_.is_full()) return listen(std::make_shared<session>(std::move(c), all_));
    const auto frame = std::make_shared<std::string>(all_.rejection());
    asio::async_write(*c, asio::buffer(*frame), [c, frame](asio::error_code, std::size_t) {});
}

void socket_observers::listen(const std::shared_ptr<session>& v) {
    v->question.assign(header::size, '\0');
    v->timer.expires_after(timeout_);
    v->timer.async_wait([alive = std::weak_ptr{v}](asio::error_code moved) {
        const auto late = moved ? nullptr : alive.lock();
        asio::error_code ignored;
        if (late) late->link->socket.close(ignored);
    });
    asio::async_read(*v->link, asio::buffer(v->question), [this, v](asio::error_code failed, std::size_t) {
        if (failed) return;
        const auto more = observer_server::body_size(v->question);
        if (!more) return all_.count_disconnected();
        v->body.assign(*more, '\0');
        if (*more == 0) return reply_to(v);
        asio::async_read(*v->link, asio::buffer(v->body), [this, v](asio::error_code cut, std::size_t) {
            if (!cut) reply_to(v);
        });
    });
}

void socket_observers::reply_to(const std::shared_ptr<session>& v) {
    auto reply = all_.reply_to(*v, v->question, v->body);
    if (!reply) return all_.count_disconnected();
    v->output = std::move(*reply);
    asio::async_write(*v->link, asio::buffer(v->output), [this, v](asio::error_code failed, std::size_t) {
        if (failed) return;
        v->timer.expires_after(observer_pause);
        v->timer.async_wait([this, v](asio::error_code over) {
            if (!over) listen(v);
        });
    });
}

}  // namespace tutti::wire
