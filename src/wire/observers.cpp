#include "wire/observers.hpp"

#include <utility>

#include "wire/bytes.hpp"

namespace tutti::wire {
namespace {

/// Between an answer and a look at the next question of the same observer, so that none can keep the thread busy that
/// reads what nodes say.
constexpr std::chrono::milliseconds rest{5};

}  // namespace

/// One observer; gone when nothing is arranged for it any more.
struct observers::visit {
    visit(std::shared_ptr<stream::socket> s, std::atomic<std::uint32_t>& count)
        : socket{std::move(s)}, timer{socket->get_executor()}, counted_by{count} {
        counted_by.fetch_add(1, std::memory_order_relaxed);
    }
    ~visit() { counted_by.fetch_sub(1, std::memory_order_relaxed); }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

    std::shared_ptr<stream::socket> socket;
    asio::steady_timer timer;
    std::string input, output;
    std::atomic<std::uint32_t>& counted_by;
};

void observers::admit(std::shared_ptr<stream::socket> s) {
    const bool too_many = here_.load(std::memory_order_relaxed) >= most_observers;
    const auto v = std::make_shared<visit>(std::move(s), here_);
    if (!too_many) return listen(v);
    refused_.add_one();
    tell(v, 0, {.admitted = false, .facts = {}}, false);
}

void observers::listen(const std::shared_ptr<visit>& v) {
    v->input.assign(header::size, '\0');
    v->timer.expires_after(patience_);
    v->timer.async_wait([alive = std::weak_ptr{v}](asio::error_code moved) {
        const auto late = moved ? nullptr : alive.lock();
        asio::error_code ignored;
        if (late) late->socket->close(ignored);
    });
    asio::async_read(*v->socket, asio::buffer(v->input), [this, v](asio::error_code failed, std::size_t) {
        if (failed) return;
        header h;
        if (!decode(v->input, h) || h.kind != kind::status || h.version != protocol_version ||
            h.from != observer_number || h.length != 0)
            return cut_off_.add_one();
        tell(v, h.call, {.admitted = true, .facts = facts_()}, true);
    });
}

void observers::tell(const std::shared_ptr<visit>& v, std::uint64_t call, status_told what, bool go_on) {
    const std::string body = encode(what);
    header h;
    h.length = static_cast<std::uint32_t>(body.size());
    h.kind = kind::status_told;
    h.from = self_;
    h.call = call;
    v->output = encode(h) + body;
    asio::async_write(*v->socket, asio::buffer(v->output), [this, v, go_on](asio::error_code failed, std::size_t) {
        if (failed || !go_on) return;
        v->timer.expires_after(rest);
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
