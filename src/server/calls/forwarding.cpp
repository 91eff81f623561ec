#include "server/calls/forwarding.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace tutti::server {
namespace {

using std::chrono::microseconds;

/// How long to avoid a server that has declined a call because it is full, is ending, or has other procedures.
constexpr std::chrono::milliseconds avoided_for{100};
/// The maximum total size in bytes of the calls that were sent to other servers and are not answered yet. If a node
/// does not read, its calls are queued in this process.
constexpr std::size_t max_forwarded_bytes = std::size_t{16} << 20;

std::size_t bytes_of(const timed_call& c) {
    std::size_t all = 0;
    for (const std::string_view a : c.arguments) all += a.size() + sizeof(std::uint32_t);
    return all + c.what.entry->definition.name.size();
}

/// Returns the time left until the deadline; 0: no deadline. A message contains this time instead of the deadline
/// itself, because the clocks of two machines differ.
std::int64_t due_in(const timed_call& c) {
    if (c.due == no_deadline) return 0;
    const auto left = std::chrono::duration_cast<microseconds>(c.due - std::chrono::steady_clock::now()).count();
    return left == 0 ? -1 : left;
}

}  // namespace

forwarding::forwarding(cluster::call_transport& transport, const catalog& procedures, executor& runs, call_host& host)
    : transport_{transport}, procedures_{procedures}, runs_{runs}, host_{host} {}

forwarding::~forwarding() { stop(); }

// ---- calls of this server

bool forwarding::offer(timed_call& c) noexcept {
    if (!c.what.entry->definition.routing_object || !c.what.queued_calls.empty()) return false;
    try {
        const cluster::object_id routing_object = c.what.entry->definition.routing_object(c.arguments);
        const unsigned node = transport_.owner(routing_object);
        if (node == transport_.number() || is_avoided(node, std::chrono::steady_clock::now())) return false;
        return send(c, node, routing_object, false);
    } catch (...) {
        return false;  // this server runs the call, which then answers with its error
    }
}

bool forwarding::is_avoided(unsigned node, instant now) const noexcept {
    return node >= max_nodes || now.time_since_epoch().count() < avoided_until_[node].load(std::memory_order_relaxed);
}

/// Sends a call. May throw only before the call is in `sent_`.
bool forwarding::send(timed_call& c, unsigned node, const cluster::object_id& routing_object, bool no_redirect) {
    const std::size_t bytes = bytes_of(c);
    if (bytes > transport_.max_bytes()) return false;
    cluster::forwarded_call message{.procedure = c.what.entry->definition.name,
                                    .arguments = {c.arguments.begin(), c.arguments.end()},
                                    .routing_object = routing_object,
                                    .priority = static_cast<std::uint8_t>(c.priority),
                                    .due_in_us = due_in(c),
                                    .resp3 = c.what.spoken == protocol::resp3,
                                    .no_redirect = no_redirect};
    std::uint64_t number = 0;
    {
        const std::scoped_lock lock{mutex_};
        if (bytes_ + bytes > max_forwarded_bytes) return false;
        number = ++latest_;
        sent_.emplace(number, sent_call{.what = &c,
                                        .node = node,
                                        .bytes = bytes,
                                        .routing_object = routing_object,
                                        .no_redirect = no_redirect});
        bytes_ += bytes;
        c.forwarded.store(number, std::memory_order_relaxed);
    }
    bool is_sent = false, in_doubt = false;
    try {
        is_sent = transport_.send(node, number, message);
    } catch (...) {
        in_doubt = true;  // memory was exhausted, before or after the message was queued
    }
    {
        const std::scoped_lock lock{mutex_};
        const auto found = sent_.find(number);
        if (found == sent_.end()) return true;  // the call has been answered already
        found->second.is_sent = is_sent;
        in_doubt = in_doubt || (is_sent && found->second.is_lost);
        if (is_sent && !in_doubt) return true;
        remove_sent(found);
    }
    if (in_doubt) end_unknown(c, node);
    else c.forwarded.store(0, std::memory_order_relaxed);
    return in_doubt;
}

forwarding::sent_call forwarding::remove_sent(std::unordered_map<std::uint64_t, sent_call>::iterator which) noexcept {
    const sent_call s = which->second;
    bytes_ -= s.bytes;
    sent_.erase(which);
    return s;
}

void forwarding::run_here(timed_call& c) noexcept {
    c.forwarded.store(0, std::memory_order_relaxed);
    job* j = &c;
    for (job* const other : runs_.submit({&j, 1})) other->reject();
}

void forwarding::end_unknown(timed_call& c, unsigned node) noexcept {
    unknown_.fetch_add(1, std::memory_order_relaxed);
    std::string answer;
    try {
        reply{answer, c.what.spoken}.error(
            code_of(call_outcome::outcome_unknown),
            c.what.entry->definition.name + ": the server of node " + std::to_string(node) +
                " was lost after the call was forwarded to it: the call may have run. Check before you repeat it");
    } catch (...) {
        answer = "-INDOUBT .\r\n";  // no memory for the text; any string has room for these few bytes
    }
    c.end_without_run(call_outcome::outcome_unknown, std::move(answer));
}

void forwarding::cancel(timed_call& c, bool stranded) noexcept {
    const std::uint64_t number = c.forwarded.load(std::memory_order_relaxed);
    if (number == 0) return;
    unsigned node = 0;
    {
        const std::scoped_lock lock{mutex_};
        const auto found = sent_.find(number);
        if (found == sent_.end() || found->second.is_cancelled) return;
        found->second.is_cancelled = true;
        node = found->second.node;
    }
    try {
        transport_.cancel(node, number, stranded);
    } catch (...) {
        const std::scoped_lock lock{mutex_};
        const auto found = sent_.find(number);
        if (found != sent_.end()) found->second.is_cancelled = false;  // the next check tries again
    }
}

void forwarding::on_reply(unsigned from, std::uint64_t number, cluster::forwarded_reply&& how) {
    sent_call s;
    {
        const std::scoped_lock lock{mutex_};
        const auto found = sent_.find(number);
        if (found == sent_.end() || found->second.node != from) return;
        s = remove_sent(found);
    }
    switch (how.result) {
        case cluster::forwarded_outcome::ran: {
            forwarded_.fetch_add(1, std::memory_order_relaxed);
            const bool known = how.outcome < call_outcome_count && !how.reply.empty();
            if (known) return s.what->end_without_run(static_cast<call_outcome>(how.outcome), std::move(how.reply));
            return end_unknown(*s.what, from);  // the answer is empty, or its outcome is one of a newer version
        }
        case cluster::forwarded_outcome::elsewhere:
            // Follows at most one redirection: with `no_redirect` set, the second server must not redirect the call
            // again.
            if (!s.no_redirect && how.owner != transport_.number() && how.owner != from) {
                try {
                    if (send(*s.what, how.owner, s.routing_object, true)) return;
                } catch (...) {
                    // Sending failed, so the call runs here.
                }
            }
            break;
        case cluster::forwarded_outcome::declined:
            if (from < max_nodes) {
                const instant until = std::chrono::steady_clock::now() + avoided_for;
                avoided_until_[from].store(until.time_since_epoch().count(), std::memory_order_relaxed);
            }
            break;
    }
    declined_.fetch_add(1, std::memory_order_relaxed);
    run_here(*s.what);
}

void forwarding::on_node_lost(unsigned node) noexcept {
    timed_call* unknown = nullptr;
    {
        const std::scoped_lock lock{mutex_};
        for (auto next = sent_.begin(); next != sent_.end();) {
            const auto at = next++;
            if (at->second.node != node) continue;
            if (!at->second.is_sent) {
                at->second.is_lost = true;  // FWD3: the thread in send() handles the call
                continue;
            }
            timed_call* const c = remove_sent(at).what;
            c->next_unknown = std::exchange(unknown, c);
        }
    }
    while (unknown != nullptr) {
        timed_call* const c = unknown;
        unknown = c->next_unknown;  // read first: after the call has ended, it belongs to its owner
        end_unknown(*c, node);
    }
    host_.cancel_all_of(node);
}

// ---- calls of other servers

void forwarding::run(unsigned from, std::uint64_t number, cluster::forwarded_call&& what) {
    using cluster::forwarded_outcome;
    const auto say = [&](forwarded_outcome fate, unsigned owner) {
        transport_.send_reply(from, number, {.result = fate, .owner = static_cast<std::uint16_t>(owner), .reply = {}});
    };
    const procedure_entry* const which = procedures_.find(what.procedure);
    std::string unused;
    reply to_nobody{unused, protocol::resp3};
    if (which == nullptr || !which->definition.routing_object || what.priority > highest_priority ||
        !accepts_arguments(*which, what.arguments.size(), to_nobody))
        return say(forwarded_outcome::declined, 0);
    if (const unsigned owner = transport_.owner(what.routing_object); !what.no_redirect && owner != transport_.number())
        return say(forwarded_outcome::elsewhere, owner);
    invocation i{.entry = which, .how = {}, .spoken = what.resp3 ? protocol::resp3 : protocol::resp2};
    i.how.priority = what.priority;
    if (what.due_in_us != 0) {
        constexpr std::int64_t max_due = microseconds{std::chrono::hours{24 * 366}}.count();
        i.due = std::chrono::steady_clock::now() + microseconds{std::clamp(what.due_in_us, -max_due, max_due)};
        i.how.deadline = i.due;
    }
    try {
        host_.host(i, std::move(what.arguments), {from, number},
                   [this, from, number, spoken = i.spoken](std::string_view bytes, call_outcome how) {
                       send_reply(from, number, bytes, how, spoken);
                   });
    } catch (const std::bad_alloc&) {
        say(forwarded_outcome::declined, 0);  // the call has not begun
    }
}

/// Answers another server's call, which has been run or refused here.
void forwarding::send_reply(unsigned to, std::uint64_t number, std::string_view bytes, call_outcome how,
                            protocol spoken) noexcept {
    if (how == call_outcome::busy || how == call_outcome::shutdown)
        return transport_.send_reply(to, number, {.result = cluster::forwarded_outcome::declined, .reply = {}});
    received_.fetch_add(1, std::memory_order_relaxed);
    cluster::forwarded_reply made{
        .result = cluster::forwarded_outcome::ran, .outcome = static_cast<std::uint8_t>(how), .reply = {}};
    try {
        if (bytes.size() <= transport_.max_bytes()) {
            made.reply = bytes;
        } else {
            made.outcome = static_cast<std::uint8_t>(call_outcome::exception);
            reply{made.reply, spoken}.error(code_of(call_outcome::exception),
                                            "it ran on another server, but its answer of " +
                                                std::to_string(bytes.size()) +
                                                " bytes exceeds the maximum size of a message between nodes");
        }
    } catch (const std::bad_alloc&) {
        made.reply.clear();  // without an answer, its client gets INDOUBT
    }
    transport_.send_reply(to, number, made);
}

void forwarding::cancel(unsigned from, std::uint64_t number, bool stranded) { host_.cancel({from, number}, stranded); }

forwarding_statistics forwarding::statistics() const noexcept {
    const auto value = [](const std::atomic<std::uint64_t>& of) { return of.load(std::memory_order_relaxed); };
    const std::scoped_lock lock{mutex_};
    return {.forwarded = value(forwarded_),
            .received = value(received_),
            .declined = value(declined_),
            .unknown = value(unknown_),
            .awaited = sent_.size()};
}

}  // namespace tutti::server
