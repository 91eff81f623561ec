// Divides memory, processor time and connections among the clients, so that one client does not use the share of other
// clients.
//
// Memory: the server closes connections that hold too much (eviction.hpp). It refuses calls of a principal whose
// accepted calls hold too much (call_budget.hpp), because closing the principal's connections would not free the
// arguments of these calls.
//
// Connections: all clients share `max_clients` connections, and admins have `reserved_clients` in addition. Only a
// login shows that a client is an admin, so any client may use a reserved connection to log in. Until its login, such a
// client is provisional. When no reserved connection is free, the next client displaces a provisional client
// (client_directory::displace). A login as another user fails with MAXCLIENTS while there are too many clients.
#include <algorithm>
#include <string>
#include <utility>

#include "server/net/io_thread.hpp"
#include "server/net/peer.hpp"

namespace tutti::server {

/// Returns true if another client may connect although there are already `beyond` clients more than `max_clients`.
bool io_thread::may_use_reserved_connection(const listening_socket& from, const handle& socket,
                                            std::size_t beyond) noexcept {
    if (shared_.how.reserved_clients == 0) return false;
    const bool by_login = shared_.known_commands.identifies_operators_by_login();
    // If the server has no users and no password, clients on this machine count as admins, and clients on other
    // machines do not.
    const bool by_address = shared_.how.users.empty() && from.is_reachable_from_elsewhere;
    if (!by_login && !(by_address && is_on_this_machine(socket.get()))) return false;
    return beyond < shared_.how.reserved_clients || (by_login && shared_.directory.displace());
}

/// Handles a client that was admitted beyond `max_clients` only to log in, after `r` has logged it in. The client keeps
/// its connection if it is an admin, or if there is room by now. Otherwise it gets an error instead of the answer in
/// `r`, and is disconnected.
void io_thread::confirm_provisional_client(connection& c, request& r) {
    if (c.who.login != nullptr) {
        c.who.owner = shared_.known_principals.of(*c.who.login);
        shared_.directory.set_owner(*c.who.entry, c.who.owner);
    }
    if (!shared_.directory.is_provisional(*c.who.entry)) return;
    const bool is_admin = c.who.login == nullptr || c.who.login->configured.is_admin;
    if (!is_admin && shared_.clients.load() > shared_.how.max_clients) {
        r.answer.clear();
        reply{r.answer, c.who.spoken}.error("MAXCLIENTS", "max number of clients reached");
        c.who.is_trusted = false;
        c.who.quit = true;
        counters_.rejected_connections.add_one();
        return;
    }
    shared_.directory.set_provisional(*c.who.entry, client_directory::provisional_state::confirmed);
}

bool io_thread::must_delay(connection& c) noexcept {
    principal& owner = *c.who.owner;
    const instant from = owner.next_command_at(now_);
    const bool is_last = !c.delayed_since && owner.has_waiting();
    if (from <= now_ && !is_last) return false;
    if (!c.delayed_since) c.delayed_since = now_;
    owner.begin_wait();
    c.paused = true;
    c.paused_until = from;
    next_resume_ = paused_.empty() ? from : std::min(next_resume_, from);
    paused_.push_back(&c);  // there is room: see add_client
    counters_.commands_delayed.add_one();
    return true;
}

/// Charges the principal of `c` for a costly command that has been answered. The command began at `began`.
void io_thread::charge_for(connection& c, instant began) noexcept {
    constexpr std::chrono::microseconds of_a_request{5};
    const auto took = std::chrono::steady_clock::now() - began;
    c.delayed_since.reset();
    c.who.owner->charge(now_, took);
    requests_of_round_ +=
        static_cast<std::size_t>(took / of_a_request);  // so that costly commands do not prolong the round
}

void io_thread::resume_paused() noexcept {
    if (paused_.empty() || now_ < next_resume_) return;
    next_resume_ = instant::max();
    const auto due = std::ranges::partition(paused_, [this](const connection* c) { return c->paused_until > now_; });
    for (const connection* const c : std::ranges::subrange{paused_.begin(), due.begin()})
        next_resume_ = std::min(next_resume_, c->paused_until);
    // The connection that has waited longest comes first, because a command may use up the principal's allowance.
    std::ranges::sort(due, {}, [](const connection* c) { return *c->delayed_since; });
    for (connection* const c : due) {
        c->paused = false;
        c->who.owner->end_wait();
        touch(*c);
    }
    paused_.erase(due.begin(), paused_.end());
}

/// Records since when the rest of a request has been missing. The time during which the server itself does not read,
/// because the client has too many requests in progress, does not count.
void io_thread::record_unfinished_request(connection& c) noexcept {
    if (c.in.empty() || !may_take_request(c)) c.unfinished_since.reset();
    else if (!c.unfinished_since) c.unfinished_since = now_;
}

/// If the rest of a request of `c` has been missing for too long, ends the connection with an error and returns true.
bool io_thread::end_if_request_timed_out(connection& c) noexcept try {
    std::chrono::milliseconds limit = shared_.how.request_timeout;
    if (!c.who.is_trusted) limit /= 2;
    if (!c.unfinished_since || limit.count() == 0 || now_ - *c.unfinished_since <= limit) return false;
    c.unfinished_since.reset();
    end_with_error(c, "ERR",
                   "Protocol error: the request was not complete within " + std::to_string(limit.count()) + " ms");
    counters_.requests_timed_out.add_one();
    shared_.evictions.record("a client at " + c.who.entry->address() + " (" + shared_.directory.owner_of(*c.who.entry) +
                                 ") was closed: it had sent only " + std::to_string(c.in.size()) +
                                 " bytes of a request within --request-timeout",
                             now_, shared_.how.log_callback);
    return true;
} catch (const std::bad_alloc&) {
    c.broken = true;
    return true;
}

void io_thread::enforce_memory_limit() noexcept {
    const std::size_t most = shared_.how.max_buffered_bytes_clients.value_or(0);
    if (most == 0 || shared_.directory.held() <= most) return;
    try {
        // Frees more than necessary, so that the next request does not require another search of all connections.
        shared_.directory.evict(most - most / 8);
    } catch (const std::bad_alloc&) {
        // There is no memory. The next round tries again.
    }
}

/// Counts the memory of `r`, a call of `c` that is about to be submitted. REQUIRES: the connection exists, and its
/// principal does not change meanwhile.
void io_thread::count_accepted(const connection& c, request& r) noexcept {
    principal& owner = *c.who.owner;
    r.is_of_operator = owner.is_admin();
    const std::size_t bytes = r.footprint();
    if (r.is_of_operator || bytes == 0) return;
    r.paid_from = shared_.calls.try_acquire(owner, bytes, r.priority);
    r.is_beyond_share = r.paid_from == call_budget::share_kind::none;
    if (r.is_beyond_share) return;
    r.payer = &owner;  // the principal stays while bytes are counted for it: see principals::at
    r.paid = bytes;
}

void io_thread::uncount_accepted(request& r) noexcept {
    if (r.payer != nullptr)
        shared_.calls.release(*std::exchange(r.payer, nullptr), std::exchange(r.paid, 0), r.paid_from);
}

void io_thread::refuse_beyond_share(request& r) noexcept {
    counters_.calls_beyond_share.add_one();
    if (r.client == nullptr) return r.refuse(call_outcome::busy);
    try {
        std::string answer;
        reply{answer, r.what.spoken}.error(
            code_of(call_outcome::busy), "accepted calls of " + r.client->who.owner->name() +
                                             " fill its share of the memory for calls (--max-buffered-bytes less "
                                             "--max-buffered-bytes-clients); try again after some of them have ended");
        r.end_without_run(call_outcome::busy, std::move(answer));
    } catch (const std::bad_alloc&) {
        r.refuse(call_outcome::busy);
    }
}

void io_thread::log_eviction(const connection& c) noexcept try {
    using reason = client_directory::client_entry::reason;
    const client_directory::client_entry& e = *c.who.entry;
    if (e.close_reason() == reason::killed) return;
    (e.close_reason() == reason::memory ? counters_.clients_evicted : counters_.clients_displaced).add_one();
    const std::string who = "a client at " + e.address() + " (" + shared_.directory.owner_of(e) + ") was closed: ";
    const std::string why =
        e.close_reason() == reason::memory
            ? "it held " + std::to_string(e.held()) + " bytes, and all clients more than " +
                  std::to_string(shared_.how.max_buffered_bytes_clients.value_or(0)) + " (--max-buffered-bytes-clients)"
            : "it had not logged in, and its connection was needed for an admin (--reserved-clients)";
    shared_.evictions.record(who + why, now_, shared_.how.log_callback);
} catch (const std::bad_alloc&) {
    // There is no memory for the message. The connection is closed and counted anyway.
}

}  // namespace tutti::server
