#include "wire/observers.hpp"

#include <new>
#include <utility>

#include "base/clock.hpp"
#include "wire/bytes.hpp"

namespace tutti::wire {
/// One observer; gone when nothing is arranged for it any more.
struct observers::visit {
    visit(std::shared_ptr<connection> c, observers& at) : link{std::move(c)}, timer{link->get_executor()}, host{at} {
        host.here_.fetch_add(1, std::memory_order_relaxed);
    }
    ~visit() {
        if (host.records_ == this) {
            host.records_ = nullptr;
            host.whom_.drop_recording();
        }
        host.here_.fetch_sub(1, std::memory_order_relaxed);
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

    std::shared_ptr<connection> link;
    asio::steady_timer timer;
    std::string input, output;
    observers& host;
};

void observers::admit(std::shared_ptr<connection> c) {
    const bool too_many = here_.load(std::memory_order_relaxed) >= most_observers;
    const auto v = std::make_shared<visit>(std::move(c), *this);
    if (!too_many) return listen(v);
    refused_.add_one();
    tell(v, 0, kind::status_told, status_told{.admitted = false, .facts = {}}, false);
}

void observers::listen(const std::shared_ptr<visit>& v) {
    v->input.assign(header::size, '\0');
    v->timer.expires_after(patience_);
    v->timer.async_wait([alive = std::weak_ptr{v}](asio::error_code moved) {
        const auto late = moved ? nullptr : alive.lock();
        asio::error_code ignored;
        if (late) late->link->socket.close(ignored);
    });
    asio::async_read(*v->link, asio::buffer(v->input), [this, v](asio::error_code failed, std::size_t) {
        if (failed) return;
        header h;
        if (!decode(v->input, h) || h.version != protocol_version || h.from != observer_number)
            return cut_off_.add_one();
        if (h.kind == kind::timeline && h.length == timeline::size) return hear_order(v, h.call);
        if (h.kind != kind::status || h.length != 0) return cut_off_.add_one();
        tell(v, h.call, kind::status_told, status_told{.admitted = true, .facts = whom_.facts()}, true);
    });
}

void observers::hear_order(const std::shared_ptr<visit>& v, std::uint64_t call) {
    v->input.assign(timeline::size, '\0');
    asio::async_read(*v->link, asio::buffer(v->input), [this, v, call](asio::error_code failed, std::size_t) {
        if (failed) return;
        timeline asked;
        if (!decode(v->input, asked)) return cut_off_.add_one();
        tell(v, call, kind::timeline_told, carry_out(*v, asked.order), true);
    });
}

timeline_told observers::carry_out(visit& v, timeline_order what) {
    timeline_told told;
    const bool is_another = records_ != nullptr && records_ != &v;
    told.granted = what == timeline_order::look || !is_another;
    if (what == timeline_order::start && told.granted) {
        try {
            whom_.start_recording();
            records_ = &v;
        } catch (const std::bad_alloc&) {
            told.granted = false;
        }
    } else if (what == timeline_order::take && records_ == &v) {
        whom_.take_recorded(told);
    }
    told.now_ns = base::real_now().time_since_epoch().count();  // the later the nearer to when it is sent
    return told;
}

template <class Told>
void observers::tell(const std::shared_ptr<visit>& v, std::uint64_t call, kind what, const Told& told, bool go_on) {
    const std::string body = encode(told);
    header h;
    h.length = static_cast<std::uint32_t>(body.size());
    h.kind = what;
    h.from = self_;
    h.call = call;
    v->output = encode(h) + body;
    asio::async_write(*v->link, asio::buffer(v->output), [this, v, go_on](asio::error_code failed, std::size_t) {
        if (failed || !go_on) return;
        v->timer.expires_after(rest_of_observer);
        v->timer.async_wait([this, v](asio::error_code over) {
            if (!over) listen(v);
        });
    });
}

void observers::describe(cluster::node_facts& to) const noexcept {
    to.observers = here_.load(std::memory_order_relaxed);
    to.observers_refused = refused_.get();
    to.observers_cut_off = cut_off_.get();
}

}  // namespace tutti::wire
