// The I/O thread's requests: hands them to the executor, collects them when they come back, and reuses them.
#include "server/net/io_thread.hpp"

#include <algorithm>
#include <new>

#include "server/net/patience.hpp"

namespace tutti::server {

void io_thread::submit() {
    if (to_submit_.empty()) return;
    // Adds the requests to the list first, because a worker may be faster than this loop.
    for (job* const j : to_submit_) {
        auto& r = static_cast<request&>(*j);
        r.next = under_way_;
        r.previous = nullptr;
        if (under_way_ != nullptr) under_way_->previous = &r;
        under_way_ = &r;
        if (time_limit_of(r.what, shared_.how).count() > 0) time_limits_ = true;
        r.lasts = !pace_.is_brief(r.what.which->number);
        if (r.lasts) ++lasting_;
        r.brief = pace_.frees_one_soon(r.what.which->number);
        r.patient = true;
    }
    under_way_count_ += to_submit_.size();
    const bool is_full = shared_.bytes.used_up();
    std::erase_if(to_submit_, [&](job* j) {
        auto& r = static_cast<request&>(*j);
        if (draining_) {
            if (r.from != nullptr) r.from->refused = true;
            r.refuse(ending::shutdown);
        } else if (r.is_beyond_share) {
            refuse_beyond_share(r);
        } else if (is_full && !r.is_of_operator) {
            r.refuse(ending::busy);
        } else {
            return shared_.elsewhere != nullptr && shared_.elsewhere->offer(r);
        }
        return true;
    });
    if (to_submit_.empty()) return;
    // Turns away requests that the executor had no room for. They are among these, or were submitted before by another
    // I/O thread or by the program.
    for (job* const j : shared_.runs.submit(to_submit_, workers_worth_calling())) j->turn_away();
    to_submit_.clear();
}

void io_thread::collect() {
    request* newest = given_back_.exchange(nullptr);
    if (newest == nullptr) return;
    now_ = std::chrono::steady_clock::now();
    request* oldest = nullptr;
    while (newest != nullptr) {
        request* const below = newest->behind_given;
        newest->behind_given = oldest;
        oldest = newest;
        newest = below;
    }
    while (oldest != nullptr) {
        request& r = *oldest;
        oldest = r.behind_given;
        if (r.login.state != login_claim::verdict::none) {
            end_login(r);
            continue;
        }
        if (r.asks.what != question::kind::none) {
            end_question(r);
            continue;
        }
        (r.previous == nullptr ? under_way_ : r.previous->next) = r.next;
        if (r.next != nullptr) r.next->previous = r.previous;
        --under_way_count_;
        if (r.lasts) --lasting_;
        end_accepted(r);
        if (r.ran != 0) note_pace(r);
        counters_.count_call(r.what.which->number, r.priority, r.how_it_ended, now_ - r.arrived);
        note_if_slow(r);
        if (!r.key.empty()) remember(r);
        if (r.from == nullptr) {
            put_away(r);
        } else {
            r.from->who.written = std::max(r.from->who.written, r.logged.awaits);
            r.from->mark_answered(r);
            touch(*r.from);
        }
    }
}

/// Hands a question to the journal when all earlier requests are answered. So WAIT knows which calls it covers.
void io_thread::ask_journal(connection& c) noexcept {
    request* const r = c.first_to_ask();
    if (r == nullptr) return;
    r->asks.position = std::max(r->asks.position, c.who.written);
    r->asks.is_asked = true;
    ++at_door_;
    shared_.log->others().ask(r->asks);
}

void io_thread::end_question(request& r) noexcept {
    --at_door_;
    if (r.from == nullptr) return put_away(r);
    r.from->mark_answered(r);
    touch(*r.from);
}

void io_thread::end_login(request& r) noexcept {
    --at_door_;
    if (r.from == nullptr) return put_away(r);
    connection& c = *r.from;
    c.who.at_door = false;
    touch(c);
    try {
        shared_.known.end_login(c.who, r);
        if (r.login.state == login_claim::verdict::busy) counters_.logins_turned_away.add_one();
        if (c.who.trusted) settle_place(c, r);
        count_command(c);
    } catch (const std::exception&) {
        c.broken = true;
    }
    c.mark_answered(r);
}

void io_thread::remember(const request& r) noexcept {
    // The call has not run, or its client had disconnected and may want to wait again.
    const bool unanswered = r.how_it_ended == ending::busy || r.how_it_ended == ending::shutdown ||
                            r.how_it_ended == ending::gone || r.how_it_ended == ending::no_log ||
                            r.how_it_ended == ending::read_only;
    if (unanswered) return shared_.answers.forget(r.key);
    try {
        // Too few followers had it in time. The call has run, and the followers may have it when the client asks again.
        shared_.answers.keep(r.key, r.unsaid.empty() ? r.answer : r.unsaid, now_);
    } catch (const std::bad_alloc&) {
        // The answer is forgotten: a client that asks again makes the call run again.
    }
}

void io_thread::note_if_slow(const request& r) noexcept {
    const std::chrono::nanoseconds ran = r.clock.lasted(now_);
    if (!shared_.slow.takes(ran)) return;
    try {
        const client_directory::entry* const client = r.from == nullptr ? nullptr : r.from->who.entry;
        shared_.slow.note(r, ran, now_, client == nullptr ? "" : client->address(),
                          client == nullptr ? "" : shared_.directory.name_of(*client));
    } catch (const std::bad_alloc&) {
        // The slow log does not show the call.
    }
}

request& io_thread::take_request() {
    if (spare_.empty()) return *new request{*this};
    request* const r = spare_.back().release();
    spare_.pop_back();
    return *r;
}

void io_thread::put_away(request& r) noexcept {
    std::unique_ptr<request> owned{&r};
    if (spare_.size() >= spare_requests) return;
    r.recycle();
    spare_.push_back(std::move(owned));  // there is room
}

}  // namespace tutti::server
