// The I/O thread's connections: sends answers, decides which events to watch, enforces time limits, and closes.
#include <sys/epoll.h>

#include "server/calls/crash_report.hpp"
#include "server/net/io_thread.hpp"
#include "server/net/patience.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds look_period{10};
constexpr milliseconds idle_look_period{100};
constexpr milliseconds between_publications{50};

}  // namespace

void io_thread::touch(connection& c) {
    if (c.touched) return;
    c.touched = true;
    touched_.push_back(&c);
}

/// Sends answers, and takes buffered requests that had no room before.
void io_thread::exchange(connection& c) {
    for (;;) {
        while (const request* const r = c.first_answered()) {
            if (!r->silent) c.out.append(r->answer);
            put_away(*c.take_first());
        }
        ask_journal(c);
        write(c);
        // While the server ends, it does not refuse the buffered requests. A client that sends without end would get
        // refusals without end.
        if (c.broken || c.in.empty() || draining_ || !takes_more(c)) return;
        const std::size_t taken = take_requests(c, c.in.pending());
        c.in.consume(taken);
        if (taken == 0) return;
    }
}

void io_thread::look_after(connection& c) {
    c.touched = false;
    try {
        if (!c.broken && !c.lingering) exchange(c);
    } catch (const std::exception&) {
        c.broken = true;
    }
    note_unfinished(c);
    shared_.directory.set_held(*c.who.entry, c.footprint());
    c.share.set(c.footprint_of_buffers());
    if (c.broken || (c.leaving && c.only_outliving())) return close(c);
    if (c.who.quit && !c.in.empty()) {
        c.in.clear();
        c.share.set(c.footprint_of_buffers());
        shared_.directory.set_held(*c.who.entry, c.footprint());
    }
    const bool ends = draining_ && !(c.who.follows && shared_.awaits_followers.load(std::memory_order_acquire));
    if (ends && c.in_flight == 0 && !c.all_answered) c.all_answered = now_;
    const bool no_more = c.who.quit || (c.ended && !c.paused) || (ends && !may_be_asking(c, drain_began_, now_));
    if (no_more && c.in_flight == 0 && c.unsent() == 0 && !c.lingering) {
        c.io->finish();
        c.lingering = true;
        c.last_progress = now_;
    }
    if (c.lingering && c.ended) return close(c);
    watch(c);
}

void io_thread::write(connection& c) {
    while (c.unsent() > 0) {
        const stream::result r = c.io->write(c.out.pending());
        if (r.how == stream::state::later) return;
        if (r.how != stream::state::good) {
            c.broken = true;
            return;
        }
        c.out.consume(r.bytes);
        c.last_progress = c.last_written = now_;
        counters_.bytes_written.add(r.bytes);
    }
    c.last_progress = now_;
}

void io_thread::watch(connection& c) {
    std::uint32_t wanted = 0;
    if (!c.leaving) wanted |= EPOLLRDHUP;
    if (is_read(c)) wanted |= EPOLLIN;
    if (c.unsent() > 0 || (is_read(c) && c.io->wants_to_write())) wanted |= EPOLLOUT;
    if (wanted == c.interest) return;
    epoll_event e{};
    e.events = wanted;
    e.data.ptr = &c;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, c.io->socket(), &e) != 0) return close(c);
    c.interest = wanted;
}

/// Closes `c`. REQUIRES: touched_ contains `c` at most in the place that is being looked after: see end_round() and
/// keep_order().
void io_thread::close(connection& c) {
    if (c.paused) {
        std::erase(paused_, &c);
        c.who.owner->end_wait();
    }
    c.leave();
    while (request* const r = c.take_first()) {
        const bool with_nobody = r->asks.what != question::kind::none && !r->asks.is_asked;
        if (r->answered || with_nobody) {
            put_away(*r);
        } else {
            r->from = nullptr;  // the request remains in progress (R2)
            r->is_left.store(true, std::memory_order_relaxed);
        }
    }
    // Closing the socket would suffice, except that a forked process may have inherited it and not yet called exec.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, c.io->socket(), nullptr);
    shared_.directory.remove(*c.who.entry);
    if (c.who.follows) shared_.following.fetch_sub(1);
    connections_.erase(&c);
    counters_.clients.take_one();
    shared_.clients.fetch_sub(1);
}

void io_thread::close_killed() {
    for (const auto& [c, owned] : connections_) {
        if (!c->who.entry->killed() || c->broken) continue;
        note_evicted(*c);
        c->broken = true;
        touch(*c);
    }
}

void io_thread::stop_for_drain() {
    draining_ = true;
    drain_began_ = now_;
    watch_entrances(false);
    for (const auto& [c, owned] : connections_) touch(*c);
    next_look_ = now_;  // clients that have been silent for long are closed at once
}

/// Returns true if a request that waited for the hand-over of the lead is to be read now.
bool io_thread::goes_on(connection& c) const noexcept {
    if (!c.waits || shared_.log->others().holds_calls()) return false;
    c.waits = false;
    return true;
}

void io_thread::keep_order() {
    next_look_ = now_ + (time_limits_ || draining_ ? look_period : idle_look_period);
    for (auto next = connections_.begin(); next != connections_.end();) {
        connection& c = *next++->first;
        if (overdue(c, shared_.how, draining_, now_)) close(c);
        else if (ends_unfinished(c)) touch(c);
        else if ((draining_ && !c.lingering) || goes_on(c)) touch(c);
    }
    if (!draining_) watch_entrances(true);  // if this fails, the next check tries again
    const bool looks_for_kept = kept_.period().count() != 0 && now_ >= next_look_for_kept_;
    if (looks_for_kept) {
        next_look_for_kept_ = now_ + kept_.period();
        kept_.begin_look();
    }
    for (request* r = under_way_; r != nullptr; r = r->next) {
        if (r->abandoned() && !r->what.which->what.options.outlives_client) shared_.runs.interrupt_sleeper(*r);
        if (shared_.elsewhere != nullptr &&
            (draining_ || (r->abandoned() && !r->what.which->what.options.outlives_client)))
            shared_.elsewhere->recall(*r, draining_);
        const std::chrono::nanoseconds limit = time_limit_of(r->what, shared_.how);
        const unsigned before = r->clock.interrupts();
        if (r->keep_limit(limit, shared_.runs, now_) && r->from != nullptr) answer_overdue(*r);
        if (shared_.how.report_crashes && r->clock.interrupts() != before && r->resists())
            tell_of_stuck(*r, limit, shared_.how);
        if (looks_for_kept) kept_.look_at(*r, shared_.runs, now_);
    }
    if (looks_for_kept) kept_.end_look();
    if (draining_ && now_ >= next_publication_) publish_awaited();
}

/// Publishes the calls that the end waits for, because threads that ask for them must not wait for this thread.
void io_thread::publish_awaited() {
    next_publication_ = now_ + between_publications;
    std::vector<std::string> lines;
    std::size_t more = 0;
    try {
        for (const request* r = under_way_; r != nullptr; r = r->next) {
            if (lines.size() == unfinished::most_named) {
                ++more;
                continue;
            }
            std::string caller = "a client that has left";
            if (r->from != nullptr) {
                const account* const as = r->from->who.as;
                caller = (as == nullptr ? "a client" : "user '" + as->what.name + "'") + " at " +
                         r->from->who.entry->address();
            }
            lines.push_back(describe_unfinished(*r, caller, now_));
        }
        if (more != 0) lines.push_back(std::to_string(more) + " more calls");
        for (const auto& [c, owned] : connections_) {
            if (c->in_flight != 0 || c->unsent() == 0) continue;
            if (lines.size() > 2 * unfinished::most_named) break;
            lines.push_back("the client at " + c->who.entry->address() + " has not read " +
                            std::to_string(c->unsent()) + " bytes of its answers");
        }
        awaited_.publish(std::move(lines));
    } catch (const std::bad_alloc&) {
        // The list that was published before stays.
    }
}

/// Answers an overdue call. REQUIRES: its client waits for it.
void io_thread::answer_overdue(request& r) {
    connection& c = *r.from;
    touch(c);
    try {
        std::string answer;
        tell_overdue(r.what, answer);
        request& instead = take_request();
        instead.answer = std::move(answer);
        instead.silent = r.silent;
        c.replace(r, instead);
        c.mark_answered(instead);
    } catch (const std::exception&) {
        c.broken = true;
    }
}

}  // namespace tutti::server
