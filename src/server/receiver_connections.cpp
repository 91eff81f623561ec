// The receiver's connections: answers out, what to watch, limits of time, the end.
#include <sys/epoll.h>

#include "server/receiver.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds look_period{10};
constexpr milliseconds idle_look_period{100};

}  // namespace

void receiver::touch(connection& c) {
    if (c.touched) return;
    c.touched = true;
    touched_.push_back(&c);
}

void receiver::look_after(connection& c) {
    c.touched = false;
    if (c.broken) return close(c);
    for (;;) {
        while (request* const r = c.take_answered()) {
            c.out.append(r->answer);
            put_away(*r);
        }
        write(c);
        if (c.broken) return close(c);
        // There may be room now for requests that were read before.
        if (c.pending().empty() || !takes_more(c)) break;
        const std::size_t taken = take_requests(c, c.pending());
        c.consume(taken);
        if (taken == 0) break;
    }
    if (c.who.quit) c.throw_away_input();
    const bool no_more = c.who.quit || c.ended || draining_;
    if (no_more && c.in_flight == 0 && c.unsent() == 0 && !c.lingering) {
        c.io->finish();
        c.lingering = true;
        c.last_progress = now_;
    }
    if (c.lingering && c.ended) return close(c);
    watch(c);
}

void receiver::write(connection& c) {
    while (c.unsent() > 0) {
        const stream::result r = c.io->write(std::string_view{c.out}.substr(c.written));
        if (r.how == stream::state::later) return;
        if (r.how != stream::state::good) {
            c.broken = true;
            return;
        }
        c.written += r.bytes;
        c.last_progress = now_;
        figures_.bytes_written.add(r.bytes);
    }
    c.written = 0;
    if (c.out.capacity() > 65'536) c.out = {};
    c.out.clear();
    c.last_progress = now_;
}

void receiver::watch(connection& c) {
    std::uint32_t wanted = 0;
    // Throwing away what comes is reading, too.
    if (!c.ended && (takes_more(c) || c.who.quit || c.lingering)) wanted |= EPOLLIN;
    if (c.unsent() > 0 || c.io->wants_to_write()) wanted |= EPOLLOUT;
    if (wanted == c.interest) return;
    epoll_event e{};
    e.events = wanted;
    e.data.ptr = &c;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, c.io->socket(), &e) != 0) return close(c);
    c.interest = wanted;
}

/// `c` is in touched_ no more but for the place that is being looked after: see work() and keep_order().
void receiver::close(connection& c) {
    while (request* const r = c.take_first()) {
        if (r->answered) put_away(*r);
        else r->from = nullptr;  // R2
    }
    connections_.erase(&c);
    figures_.clients.drop();
    shared_.clients.fetch_sub(1);
}

void receiver::stop_for_drain() {
    draining_ = true;
    watch_entrances(false);
    for (const auto& [c, owned] : connections_) touch(*c);
}

bool receiver::overdue(const connection& c) const noexcept {
    const settings& how = shared_.how;
    const auto past = [this](instant since, milliseconds limit) { return limit.count() > 0 && now_ - since > limit; };
    if (c.unsent() > 0 || c.lingering) return past(c.last_progress, how.write_timeout);
    if (!c.who.trusted) return past(c.last_request, how.login_timeout);
    return c.in_flight == 0 && past(c.last_request, how.idle_timeout);
}

void receiver::keep_order() {
    next_look_ = now_ + (time_limits_ ? look_period : idle_look_period);
    std::vector<connection*> late;
    for (const auto& [c, owned] : connections_) {
        if (overdue(*c)) late.push_back(c);
    }
    for (connection* const c : late) close(*c);
    if (!draining_) watch_entrances(true);
    if (!time_limits_) return;
    for (request* r = under_way_; r != nullptr; r = r->next) {
        const auto own = r->what.which->what.options.time_limit;
        const nanoseconds limit = own.count() > 0 ? own : shared_.how.time_limit;
        if (limit.count() > 0) enforce_limit(*r, limit);
    }
}

/// Cancels it; if it has not ended by the next look, its client is answered nevertheless.
void receiver::enforce_limit(request& r, nanoseconds limit) {
    const auto began = r.began.load(std::memory_order_relaxed);
    if (began == 0 || now_ - instant{std::chrono::steady_clock::duration{began}} < limit) return;
    shared_.runs.interrupt(r);
    if (std::exchange(r.over_limit, true) && r.from != nullptr) {
        request& instead = take_request();
        reply{instead.answer, r.what.spoken}.error(
            code_of(ending::timeout),
            r.what.which->what.name +
                ": it runs for longer than its time limit and is being cancelled; it may have had effects");
        instead.answered = true;
        connection& c = *r.from;
        c.replace(r, instead);
        touch(c);
    }
}

}  // namespace tutti::server
