// The I/O thread's requests: submits them to the executor, collects completed requests, and reuses them.
#include "server/net/io_thread.hpp"

#include <algorithm>
#include <new>

#include "server/net/client_timeouts.hpp"

namespace tutti::server {

void io_thread::submit() {
    if (to_submit_.empty()) return;
    // The requests are added to the list before they are submitted, because a worker may complete a request before this
    // function ends.
    for (job* const j : to_submit_) {
        auto& r = static_cast<request&>(*j);
        requests_.add(r);
        offers_.add_call(r);
        if (time_limit_of(r.what, shared_.how).count() > 0) time_limits_ = true;
        r.waits_for_short = true;
    }
    const bool is_full = shared_.bytes.is_used_up();
    std::erase_if(to_submit_, [&](job* j) {
        auto& r = static_cast<request&>(*j);
        if (draining_) {
            if (r.client != nullptr) r.client->got_shutdown_error = true;
            r.refuse(call_outcome::shutdown);
        } else if (r.is_beyond_share) {
            refuse_beyond_share(r);
        } else if (is_full && !r.is_of_operator) {
            r.refuse(call_outcome::busy);
        } else {
            return shared_.forwarder != nullptr && shared_.forwarder->offer(r);
        }
        return true;
    });
    if (to_submit_.empty()) return;
    // Rejects the requests that do not fit into the executor's queue. These may be some of the new requests, or
    // requests that another I/O thread or the program submitted earlier.
    for (job* const j : shared_.runs.submit(to_submit_, offers_.workers_worth_waking(to_submit_))) j->reject();
    to_submit_.clear();
}

void io_thread::collect() {
    request* newest = completed_.exchange(nullptr);
    if (newest == nullptr) return;
    now_ = std::chrono::steady_clock::now();
    request* oldest = nullptr;
    while (newest != nullptr) {
        request* const below = newest->next_completed;
        newest->next_completed = oldest;
        oldest = newest;
        newest = below;
    }
    while (oldest != nullptr) {
        request& r = *oldest;
        oldest = r.next_completed;
        if (r.login.state != login_claim::login_result::none) {
            finish_login(r);
            continue;
        }
        if (r.deferred.what != replication_command::kind::none) {
            finish_replication_command(r);
            continue;
        }
        requests_.remove(r);
        offers_.remove_call(r);
        uncount_accepted(r);
        counters_.count_call(r.what.entry->number, r.priority, r.how_it_ended, now_ - r.arrived);
        log_if_slow(r);
        if (!r.key.empty()) cache_reply(r);
        if (r.client == nullptr) {
            requests_.recycle(r);
        } else {
            r.client->who.written_position = std::max(r.client->who.written_position, r.logged.awaited_position);
            r.client->mark_answered(r);
            touch(*r.client);
        }
    }
}

/// Submits a deferred request once all earlier requests are answered, because WAIT has to cover all earlier calls.
void io_thread::submit_replication_command(connection& c) noexcept {
    request* const r = c.first_to_defer();
    if (r == nullptr) return;
    r->deferred.position = std::max(r->deferred.position, c.who.written_position);
    r->deferred.is_submitted = true;
    ++deferred_count_;
    shared_.log->followers().submit(r->deferred);
}

void io_thread::finish_replication_command(request& r) noexcept {
    --deferred_count_;
    if (r.client == nullptr) return requests_.recycle(r);
    r.client->mark_answered(r);
    touch(*r.client);
}

void io_thread::finish_login(request& r) noexcept {
    --deferred_count_;
    if (r.client == nullptr) return requests_.recycle(r);
    connection& c = *r.client;
    c.who.awaits_password_check = false;
    touch(c);
    try {
        shared_.known_commands.finish_login(c.who, r);
        if (r.login.state == login_claim::login_result::busy) counters_.logins_rejected.add_one();
        if (c.who.is_trusted) confirm_provisional_client(c, r);
        count_command(c);
    } catch (const std::exception&) {
        c.broken = true;
    }
    c.mark_answered(r);
}

void io_thread::cache_reply(const request& r) noexcept {
    // With these outcomes, the call has not run, or was abandoned because its client had disconnected. The client may
    // repeat the call.
    const bool unanswered = r.how_it_ended == call_outcome::busy || r.how_it_ended == call_outcome::shutdown ||
                            r.how_it_ended == call_outcome::client_gone || r.how_it_ended == call_outcome::misconf ||
                            r.how_it_ended == call_outcome::read_only;
    if (unanswered) return shared_.replies.remove(r.key);
    try {
        // `replaced_answer` is the answer of a call that has run, but that too few followers had in time. When the
        // client repeats the call, enough followers may have it.
        shared_.replies.store(r.key, r.replaced_answer.empty() ? r.answer : r.replaced_answer, now_);
    } catch (const std::bad_alloc&) {
        // There is no memory for the answer, so the key is removed. If the client repeats the call, the call runs
        // again.
    }
}

void io_thread::log_if_slow(const request& r) noexcept {
    const std::chrono::nanoseconds ran = r.clock.elapsed(now_);
    if (!shared_.slow.is_slow(ran)) return;
    try {
        const client_directory::client_entry* const client = r.client == nullptr ? nullptr : r.client->who.entry;
        shared_.slow.add(r, ran, now_, client == nullptr ? "" : client->address(),
                         client == nullptr ? "" : shared_.directory.name_of(*client));
    } catch (const std::bad_alloc&) {
        // There is no memory for the entry, so the slow log does not show the call.
    }
}

}  // namespace tutti::server
