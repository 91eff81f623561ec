#include "wire/sockets_observers.hpp"

#include <utility>

namespace tutti::wire {

/// An observer's connection, which ends with the last pending operation that holds it.
struct sockets_observers::visit : observers::visit {
    visit(std::shared_ptr<connection> c, observers& at)
        : observers::visit{at}, link{std::move(c)}, timer{link->get_executor()} {}

    std::shared_ptr<connection> link;
    asio::steady_timer timer;
    std::string question, body, output;
};

void sockets_observers::admit(std::shared_ptr<connection> c) {
    if (!all_.are_enough()) return listen(std::make_shared<visit>(std::move(c), all_));
    const auto frame = std::make_shared<std::string>(all_.turn_away());
    asio::async_write(*c, asio::buffer(*frame), [c, frame](asio::error_code, std::size_t) {});
}

void sockets_observers::listen(const std::shared_ptr<visit>& v) {
    v->question.assign(header::size, '\0');
    v->timer.expires_after(patience_);
    v->timer.async_wait([alive = std::weak_ptr{v}](asio::error_code moved) {
        const auto late = moved ? nullptr : alive.lock();
        asio::error_code ignored;
        if (late) late->link->socket.close(ignored);
    });
    asio::async_read(*v->link, asio::buffer(v->question), [this, v](asio::error_code failed, std::size_t) {
        if (failed) return;
        const auto more = observers::rest_of(v->question);
        if (!more) return all_.cut_off();
        v->body.assign(*more, '\0');
        if (*more == 0) return answer(v);
        asio::async_read(*v->link, asio::buffer(v->body), [this, v](asio::error_code cut, std::size_t) {
            if (!cut) answer(v);
        });
    });
}

void sockets_observers::answer(const std::shared_ptr<visit>& v) {
    auto told = all_.answer(*v, v->question, v->body);
    if (!told) return all_.cut_off();
    v->output = std::move(*told);
    asio::async_write(*v->link, asio::buffer(v->output), [this, v](asio::error_code failed, std::size_t) {
        if (failed) return;
        v->timer.expires_after(rest_of_observer);
        v->timer.async_wait([this, v](asio::error_code over) {
            if (!over) listen(v);
        });
    });
}

}  // namespace tutti::wire
