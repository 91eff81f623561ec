// The I/O thread's connections: sends answers, decides which events to watch, enforces time limits, and closes
// connections.
#include <sys/epoll.h>

#include "server/calls/crash_report.hpp"
#include "server/net/client_timeouts.hpp"
#include "server/net/io_thread.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds check_period{10};
constexpr milliseconds idle_check_period{100};
constexpr milliseconds between_publications{50};

}  // namespace

void io_thread::touch(connection& c) {
    if (c.touched) return;
    c.touched = true;
    touched_.push_back(&c);
}

/// Sends answers, and then processes buffered requests, which may have waited because the client had too many requests
/// or unread answers.
void io_thread::exchange(connection& c) {
    for (;;) {
        while (const request* const r = c.first_answered()) {
            if (!r->discards_answer) c.out.append(r->answer);
            requests_.recycle(*c.pop_first());
        }
        submit_replication_command(c);
        write(c);
        // While the server ends, it ignores the buffered requests instead of refusing them. Otherwise a client that
        // sends without end would get refusals without end.
        if (c.broken || c.in.empty() || draining_ || !may_take_request(c)) return;
        const std::size_t taken = parse_requests(c, c.in.pending());
        c.in.consume(taken);
        if (taken == 0) return;
    }
}

void io_thread::update_connection(connection& c) {
    c.touched = false;
    try {
        if (!c.broken && !c.lingering) exchange(c);
    } catch (const std::exception&) {
        c.broken = true;
    }
    record_unfinished_request(c);
    shared_.directory.set_held(*c.who.entry, c.footprint());
    c.share.set(c.footprint_of_buffers());
    if (c.broken || (c.has_left && c.has_only_outliving_calls())) return close(c);
    if (c.who.quit && !c.in.empty()) {
        c.in.clear();
        c.share.set(c.footprint_of_buffers());
        shared_.directory.set_held(*c.who.entry, c.footprint());
    }
    const bool ends =
        draining_ && !(c.who.is_follower && shared_.serves_followers_at_end.load(std::memory_order_acquire));
    if (ends && c.in_flight == 0 && !c.all_answered) c.all_answered = now_;
    const bool no_more =
        c.who.quit || (c.input_ended && !c.paused) || (ends && !may_have_request_in_flight(c, drain_began_, now_));
    if (no_more && c.in_flight == 0 && c.unsent_bytes() == 0 && !c.lingering) {
        c.io->finish();
        c.lingering = true;
        c.last_progress = now_;
    }
    if (c.lingering && c.input_ended) return close(c);
    watch(c);
}

void io_thread::write(connection& c) {
    while (c.unsent_bytes() > 0) {
        const stream::result r = c.io->write(c.out.pending());
        if (r.how == stream::state::would_block) return;
        if (r.how != stream::state::good) {
            c.broken = true;
            return;
        }
        c.out.consume(r.bytes);
        c.last_progress = c.last_written = now_;
        counters_.total_net_output_bytes.add(r.bytes);
    }
    c.last_progress = now_;
}

void io_thread::watch(connection& c) {
    std::uint32_t wanted = 0;
    if (!c.has_left) wanted |= EPOLLRDHUP;
    if (should_read(c)) wanted |= EPOLLIN;
    if (c.unsent_bytes() > 0 || (should_read(c) && c.io->wants_to_write())) wanted |= EPOLLOUT;
    if (wanted == c.interest) return;
    epoll_event e{};
    e.events = wanted;
    e.data.ptr = &c;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, c.io->socket(), &e) != 0) return close(c);
    c.interest = wanted;
}

/// Closes `c`. REQUIRES: touched_ does not contain `c`, except at the position that is being updated: see end_round()
/// and run_periodic_checks().
void io_thread::close(connection& c) {
    if (c.paused) {
        std::erase(paused_, &c);
        c.who.owner->end_wait();
    }
    c.abandon_calls();
    while (request* const r = c.pop_first()) {
        const bool is_unsubmitted = r->deferred.what != replication_command::kind::none && !r->deferred.is_submitted;
        if (r->answered || is_unsubmitted) {
            requests_.recycle(*r);
        } else {
            r->client = nullptr;  // the request remains in progress (REQ2)
            r->is_client_gone.store(true, std::memory_order_relaxed);
        }
    }
    // A forked process may have inherited the socket and not yet called exec. Without such a process, closing the
    // socket would suffice.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, c.io->socket(), nullptr);
    shared_.directory.remove(*c.who.entry);
    if (c.who.is_follower) shared_.follower_clients.fetch_sub(1);
    connections_.erase(&c);
    counters_.clients.take_one();
    shared_.clients.fetch_sub(1);
}

void io_thread::close_killed() {
    for (const auto& [c, owned] : connections_) {
        if (!c->who.entry->is_killed() || c->broken) continue;
        log_eviction(*c);
        c->broken = true;
        touch(*c);
    }
}

void io_thread::stop_for_drain() {
    draining_ = true;
    drain_began_ = now_;
    watch_listening_sockets(false);
    for (const auto& [c, owned] : connections_) touch(*c);
    next_check_ = now_;  // clients that have been silent for long are closed at once
}

/// Returns true if `c` has a request that waited for the end of a handover of leadership, and the request is to be read
/// now.
bool io_thread::may_read_held_request(connection& c) const noexcept {
    if (!c.awaits_handover || shared_.log->followers().holds_calls()) return false;
    c.awaits_handover = false;
    return true;
}

void io_thread::run_periodic_checks() {
    next_check_ = now_ + (time_limits_ || draining_ ? check_period : idle_check_period);
    for (auto next = connections_.begin(); next != connections_.end();) {
        connection& c = *next++->first;
        if (is_timed_out(c, shared_.how, draining_, now_)) close(c);
        else if (end_if_request_timed_out(c)) touch(c);
        else if ((draining_ && !c.lingering) || may_read_held_request(c)) touch(c);
    }
    if (!draining_) watch_listening_sockets(true);  // if this fails, the next check tries again
    const bool checks_for_stuck = stuck_calls_.period().count() != 0 && now_ >= next_stuck_check_;
    if (checks_for_stuck) {
        next_stuck_check_ = now_ + stuck_calls_.period();
        stuck_calls_.begin_check();
    }
    for (request* r = requests_.first(); r != nullptr; r = r->next) {
        if (r->abandon_flag() && !r->what.entry->definition.options.outlives_client) shared_.runs.interrupt_sleeper(*r);
        if (shared_.forwarder != nullptr &&
            (draining_ || (r->abandon_flag() && !r->what.entry->definition.options.outlives_client)))
            shared_.forwarder->cancel(*r, draining_);
        const std::chrono::nanoseconds limit = time_limit_of(r->what, shared_.how);
        const unsigned before = r->clock.interrupts();
        if (r->enforce_limit(limit, shared_.runs, now_) && r->client != nullptr) answer_overdue(*r);
        if (shared_.how.report_crashes && r->clock.interrupts() != before && r->is_unstoppable())
            report_unstoppable_call(*r, limit, shared_.how);
        if (checks_for_stuck) stuck_calls_.check(*r, shared_.runs, now_);
    }
    if (checks_for_stuck) stuck_calls_.end_check();
    if (draining_ && now_ >= next_publication_) publish_unfinished();
}

/// Publishes the calls that the end of the server waits for, so that other threads can read the list without waiting
/// for this thread.
void io_thread::publish_unfinished() {
    next_publication_ = now_ + between_publications;
    std::vector<std::string> lines;
    std::size_t more = 0;
    try {
        for (const request* r = requests_.first(); r != nullptr; r = r->next) {
            if (lines.size() == unfinished_calls::max_named) {
                ++more;
                continue;
            }
            std::string caller = "a client that has left";
            if (r->client != nullptr) {
                const account* const as = r->client->who.login;
                caller = (as == nullptr ? "a client" : "user '" + as->configured.name + "'") + " at " +
                         r->client->who.entry->address();
            }
            lines.push_back(describe_unfinished(*r, caller, now_));
        }
        if (more != 0) lines.push_back(std::to_string(more) + " more calls");
        for (const auto& [c, owned] : connections_) {
            if (c->in_flight != 0 || c->unsent_bytes() == 0) continue;
            if (lines.size() > 2 * unfinished_calls::max_named) break;
            lines.push_back("the client at " + c->who.entry->address() + " has not read " +
                            std::to_string(c->unsent_bytes()) + " bytes of its answers");
        }
        unfinished_.publish(std::move(lines));
    } catch (const std::bad_alloc&) {
        // There is no memory for the list. The previously published list stays.
    }
}

/// Answers a call that exceeds its time limit and has not ended. REQUIRES: the client is still connected.
void io_thread::answer_overdue(request& r) {
    connection& c = *r.client;
    touch(c);
    try {
        std::string answer;
        write_overdue_error(r.what, answer);
        request& instead = requests_.acquire();
        instead.answer = std::move(answer);
        instead.discards_answer = r.discards_answer;
        c.replace(r, instead);
        c.mark_answered(instead);
    } catch (const std::exception&) {
        c.broken = true;
    }
}

}  // namespace tutti::server
