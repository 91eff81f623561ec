#include "cluster/replica/requests.hpp"

#include <algorithm>
#include <utility>

#include "cluster/replica/fault_injection.hpp"

namespace tutti::cluster::replica {

using backend::engine_status;
namespace group = backend::group;
using group::frame;

namespace {

constexpr std::size_t max_found = 8u << 20;        // bytes of records in one answer, unless it has only one record
constexpr std::size_t max_changes_at_once = 1000;  // changes in one message
constexpr unsigned max_batches = 2;                // batches that are pending at once (MBR1)
constexpr std::size_t max_listed = 4096;           // records that one list request visits, up to the end of a shard

std::string text(group::reply_status what, const std::string& words) { return frame(what, group::text_reply{words}); }

void give(const std::weak_ptr<session>& to, std::string answer) {
    if (const auto one = to.lock()) one->answer(std::move(answer));
}

std::vector<backend::check> checks_of(std::vector<group::version_check>& all) {
    std::vector<backend::check> made;
    made.reserve(all.size());
    for (group::version_check& s : all) made.push_back({std::move(s.of), s.at});
    return made;
}

std::vector<backend::write> writes_of(std::vector<group::record_write>& all) {
    std::vector<backend::write> made;
    made.reserve(all.size());
    for (group::record_write& w : all) made.push_back({std::move(w.of), w.exists, std::move(w.bytes)});
    return made;
}

group::held_record sent(backend::record& r) { return {r.exists, r.at, std::move(r.bytes)}; }

group::transaction_name sent(const backend::blocking_transaction& h) { return {h.id, h.deciding_group}; }

/// Returns as many records as fit into an answer. The program then asks for the other records at the same version.
group::get_reply answer_of(engine_status result, version at, const backend::blocking_transaction& blocked_by,
                           std::vector<backend::record>& found) {
    group::get_reply all{result == engine_status::good, at, {}, sent(blocked_by)};
    std::size_t bytes = 0;
    for (backend::record& r : found) {
        bytes += r.bytes.size();
        if (!all.found.empty() && bytes > max_found) break;
        all.found.push_back(sent(r));
    }
    return all;
}

std::size_t bytes_of(const group::transaction_request& t) {
    std::size_t bytes = 0;
    for (const group::version_check& s : t.checks) bytes += s.of.size() + sizeof s.at;
    for (const group::record_write& w : t.writes) bytes += w.of.size() + w.bytes.size();
    return bytes;
}

std::size_t bytes_of(const group::import_request& a) {
    std::size_t bytes = 0;
    for (const group::version_check& s : a.checks) bytes += s.of.size() + sizeof s.at;
    for (const group::changed_record& r : a.records) bytes += r.of.size() + sizeof r.value.at + r.value.bytes.size();
    return bytes;
}

/// Returns as many of the writes after `place` as fit into an answer. Returns false if these writes are not kept any
/// more.
bool changes_of(const state_machine& of, version& place, const std::function<bool(std::string_view)>& wanted,
                std::vector<backend::change>& all) {
    std::vector<backend::change> commit;
    std::size_t bytes = 0;
    for (std::size_t looked_at = 0; looked_at < max_changes_at_once && bytes < max_found; looked_at += commit.size()) {
        commit.clear();
        const version before = place;
        if (!of.changes_after(place, 1, commit)) return false;
        if (place == before) break;
        for (backend::change& c : commit) {
            if (!wanted(c.of)) continue;
            bytes += c.of.size() + c.value.bytes.size();
            all.push_back(std::move(c));
        }
    }
    return true;
}

/// Refuses a request that is too large for one entry of the log. Returns true if it has refused.
template <class Request>
bool refuse_large(const std::shared_ptr<session>& from, std::span<const Request> all) {
    std::size_t bytes = 0;
    for (const Request& r : all) bytes += bytes_of(r);
    if (bytes <= group::max_commit_bytes + (group::max_commit_bytes >> 2)) return false;
    from->answer(text(group::reply_status::refused, "a commit of " + std::to_string(bytes) +
                                                        " bytes exceeds the limit of " +
                                                        std::to_string(group::max_commit_bytes)));
    return true;
}

}  // namespace

/// Requests that are sent together (MBR1). Each request keeps its batch alive until the request is answered.
struct requests::request_batch {
    explicit request_batch(requests& of) : of_{of} {}
    ~request_batch() {
        if (sent) --of_.batches_;
    }
    request_batch(const request_batch&) = delete;
    request_batch& operator=(const request_batch&) = delete;

    requests& of_;
    bool sent = false;
};

/// The commits of one request. The request is answered when the node has answered the last of its commits.
struct requests::combined_commit : std::enable_shared_from_this<requests::combined_commit> {
    combined_commit(requests& of, const std::shared_ptr<session>& from, std::size_t count)
        : of_{of}, to_{from}, left_{count} {
        answer_.all.resize(count);
    }
    /// Returns the function that receives the node's answer to commit number i.
    reply_to_commit answer_to(std::size_t i) {
        return [self = shared_from_this(), i, hold = of_.current_batch()](const reply& r) { self->settle(i, r); };
    }

private:
    void settle(std::size_t i, const reply& r) {
        if (r.status == engine_status::good || r.status == engine_status::conflict) {
            const bool good = r.status == engine_status::good;
            answer_.all[i] = {good, good ? r.at : of_.raft_node_.state().latest(), sent(r.blocked_by)};
        } else {
            // If one commit of a log entry is refused or lost, all commits of that entry are. The request's commits may
            // be in several entries. If one of these entries is lost, the answer reports the loss, because the
            // commits of the lost entry may still take effect.
            if (!none_ || r.status == engine_status::unknown) worst_ = r;
            none_ = true;
        }
        if (--left_ == 0) give(to_, whole());
    }
    [[nodiscard]] std::string whole() const {
        if (!none_) return frame(group::reply_status::done, answer_);
        const bool mixed = std::ranges::any_of(answer_.all, [](const group::commit_result& c) { return c.at != 0; });
        if (worst_.status == engine_status::unknown || mixed) return text(group::reply_status::lost, worst_.why);
        if (worst_.status == engine_status::refused) return text(group::reply_status::refused, worst_.why);
        return of_.leader_address();
    }

    requests& of_;
    const std::weak_ptr<session> to_;
    group::commit_reply answer_;
    std::size_t left_;
    reply worst_;  // the answer to a commit that has no result
    bool none_ = false;
};

requests::requests(raft_node& by, sessions& from, const identity& who, std::shared_ptr<group::credentials> secured,
                   std::function<std::uint64_t()> connections_rejected)
    : raft_node_{by},
      sessions_{from},
      identity_{who},
      credentials_{std::move(secured)},
      connections_rejected_{std::move(connections_rejected)} {}

requests::~requests() = default;

void requests::serve(const std::shared_ptr<session>& from, group::request_kind what, std::string_view body) {
    const auto with = [&]<class Request>(Request asked, auto&& serve_it) {
        if (wire::decode(body, asked)) serve_it(std::move(asked));
        else from->end();  // invalid bytes
    };
    if (shuts_down_) return redirect_to_leader(from);
    switch (what) {
        case group::request_kind::get:
            return with(group::get_request{}, [&](group::get_request r) { serve_get(from, std::move(r)); });
        case group::request_kind::commit:
            return with(group::commit_request{}, [&](group::commit_request r) { serve_commit(from, std::move(r)); });
        case group::request_kind::forget:
            return with(group::forget_request{}, [&](group::forget_request r) {
                if (!raft_node_.is_leader()) return redirect_to_leader(from);
                raft_node_.forget(std::move(r.keys));
                from->answer(frame(group::reply_status::done, group::empty_body{}));
            });
        case group::request_kind::follow:
            return with(group::follow_request{}, [&](const group::follow_request& r) { serve_follow(from, r); });
        case group::request_kind::status:
            return with(group::empty_body{}, [&](const group::empty_body&) { serve_status(from); });
        case group::request_kind::add:
        case group::request_kind::remove:
            return with(group::change_request{}, [&](const group::change_request& r) {
                serve_change(from, what == group::request_kind::add, r);
            });
        case group::request_kind::prepare:
            return with(group::prepare_request{}, [&](group::prepare_request r) { serve_prepare(from, std::move(r)); });
        case group::request_kind::finish:
            return with(group::finish_request{}, [&](group::finish_request r) { serve_finish(from, std::move(r)); });
        case group::request_kind::list:
            return with(group::list_request{}, [&](group::list_request r) { serve_list(from, std::move(r)); });
        case group::request_kind::import_records:
            return with(group::import_request{}, [&](group::import_request r) { serve_import(from, std::move(r)); });
    }
}

std::string requests::leader_address() const {
    return text(group::reply_status::not_leader,
                raft_node_.is_leader() ? std::string{} : address_of(raft_node_.leader()));
}

void requests::redirect_to_leader(const std::shared_ptr<session>& to) { to->answer(leader_address()); }

std::shared_ptr<requests::request_batch> requests::current_batch() {
    if (!collecting_) collecting_ = std::make_shared<request_batch>(*this);
    return collecting_;
}

void requests::flush() {
    // A member that does not lead does not wait for a batch, because its requests fail at once. A forget belongs to no
    // batch, because no program waits for its answer.
    if (collecting_ && batches_ >= max_batches && raft_node_.is_leader()) return;
    if (const auto now = std::exchange(collecting_, nullptr); now) {
        now->sent = true;
        ++batches_;
        raft_node_.flush();
    } else if (batches_ < max_batches) {
        raft_node_.flush();
    }
}

void requests::serve_get(const std::shared_ptr<session>& from, group::get_request asked) {
    std::vector<backend::check> held = checks_of(asked.held);
    // A state that a program has seen never changes. So every member that has applied this state may answer with it.
    if (asked.at != 0 && raft_node_.state().latest() >= asked.at) {
        backend::read_snapshot of{.at = asked.at};
        std::vector<backend::record> found;
        const engine_status result = raft_node_.state().get(of, backend::freshness::same, held, asked.wanted, found);
        const version at = result == engine_status::good ? of.at : raft_node_.state().latest();
        return from->answer(frame(group::reply_status::done, answer_of(result, at, of.blocked_by, found)));
    }
    if (!raft_node_.is_leader()) return redirect_to_leader(from);
    raft_node_.get({.at = asked.at}, backend::freshness::same, std::move(held), std::move(asked.wanted),
                   [this, to = std::weak_ptr{from}, hold = current_batch()](const reply& r, backend::read_snapshot of,
                                                                            std::vector<backend::record> found) {
                       if (r.status == engine_status::good || r.status == engine_status::conflict) {
                           const version at = r.status == engine_status::good ? of.at : raft_node_.state().latest();
                           return give(to,
                                       frame(group::reply_status::done, answer_of(r.status, at, of.blocked_by, found)));
                       }
                       if (const auto one = to.lock()) redirect_to_leader(one);
                   });
}

void requests::serve_commit(const std::shared_ptr<session>& from, group::commit_request asked) {
    if (!raft_node_.is_leader()) return redirect_to_leader(from);
    if (refuse_large<group::transaction_request>(from, asked.all)) return;
    if (asked.all.empty()) return from->answer(frame(group::reply_status::done, group::commit_reply{}));
    const auto all = std::make_shared<combined_commit>(*this, from, asked.all.size());
    for (std::size_t i = 0; i < asked.all.size(); ++i) {
        group::transaction_request& t = asked.all[i];
        raft_node_.commit(checks_of(t.checks), writes_of(t.writes), all->answer_to(i));
    }
}

void requests::serve_prepare(const std::shared_ptr<session>& from, group::prepare_request asked) {
    if (!raft_node_.is_leader()) return redirect_to_leader(from);
    if (refuse_large<group::transaction_request>(from, {&asked.content, 1})) return;
    const auto all = std::make_shared<combined_commit>(*this, from, 1);
    raft_node_.prepare({std::move(asked.transaction.id), asked.transaction.deciding_group},
                       checks_of(asked.content.checks), writes_of(asked.content.writes), all->answer_to(0));
}

void requests::serve_finish(const std::shared_ptr<session>& from, group::finish_request asked) {
    if (!raft_node_.is_leader()) return redirect_to_leader(from);
    const auto all = std::make_shared<combined_commit>(*this, from, 1);
    raft_node_.finish(std::move(asked.id), asked.commits, all->answer_to(0));
}

void requests::serve_list(const std::shared_ptr<session>& from, group::list_request asked) {
    if (!raft_node_.is_leader()) return redirect_to_leader(from);
    if (asked.slots == 0) return from->answer(text(group::reply_status::refused, "a prefix has at least one slot"));
    std::ranges::sort(asked.wanted_slots);
    raft_node_.get(
        {}, backend::freshness::now, {}, {},
        [this, to = std::weak_ptr{from}, hold = current_batch(), prefix = std::move(asked.prefix),
         which = backend::slot_set{asked.slots, std::move(asked.wanted_slots)}, after = asked.after,
         place = state_machine::list_position{asked.member == identity_.id ? asked.buckets : 0, asked.next}](
            const reply& r, const backend::read_snapshot&, const std::vector<backend::record>&) mutable {
            const auto one = to.lock();
            if (!one) return;
            if (r.status != engine_status::good) return redirect_to_leader(one);
            const state_machine& now = raft_node_.state();
            const auto is_wanted = [&](std::string_view k) {
                return k.starts_with(prefix) && which.has(k.substr(prefix.size()));
            };
            std::vector<backend::change> all;
            group::list_reply answer;
            if (after == 0) {
                now.list(place, max_listed, max_found, is_wanted, all);
                answer = {
                    true, now.latest(), place.next == place.buckets, identity_.id, place.buckets, place.next, {}, {},
                    0};
                for (const backend::blocking_transaction& h : now.prepared(wire::max_elements))
                    answer.prepared.push_back(sent(h));
            } else {
                answer.is_known = changes_of(now, after, is_wanted, all);
                answer.at = after;
                answer.is_finished = after == now.latest();
            }
            answer.absence = now.absence();
            for (backend::change& c : all) answer.all.push_back({std::move(c.of), sent(c.value)});
            one->answer(frame(group::reply_status::done, answer));
        });
}

void requests::serve_import(const std::shared_ptr<session>& from, group::import_request asked) {
    if (!raft_node_.is_leader()) return redirect_to_leader(from);
    if (refuse_large<group::import_request>(from, {&asked, 1})) return;
    std::vector<backend::change> records;
    records.reserve(asked.records.size());
    for (group::changed_record& r : asked.records)
        records.push_back({std::move(r.of), {r.value.exists, r.value.at, std::move(r.value.bytes)}});
    const auto all = std::make_shared<combined_commit>(*this, from, 1);
    raft_node_.import_records(checks_of(asked.checks), std::move(records), asked.absence, all->answer_to(0));
}

void requests::serve_follow(const std::shared_ptr<session>& from, const group::follow_request& asked) {
    if (!raft_node_.is_leader()) return redirect_to_leader(from);
    const state_machine& now = raft_node_.state();
    const version after = asked.after == group::from_now ? now.latest() : asked.after;
    if (after < now.floor() || after > now.latest())
        return from->answer(text(group::reply_status::refused, "the writes after that version are no longer kept"));
    from->follows = std::make_unique<session::followed>(session::followed{asked.from, asked.to, after, asked.values});
    from->answer(frame(group::reply_status::done, group::empty_body{}));
    if (from->follows) send_changes(*from);
}

void requests::send_changes(session& to) {
    while (to.follows) {
        session::followed& what = *to.follows;
        std::vector<backend::change> all;
        const version before = what.place;
        if (!raft_node_.state().changes_after(what.place, max_changes_at_once, all)) return to.end();
        if (what.place == before) return;
        group::stream_reply update;
        for (backend::change& c : all) {
            if (c.of < what.from || c.of >= what.to) continue;
            if (!what.values) c.value.bytes.clear();
            update.all.push_back({std::move(c.of), sent(c.value)});
        }
        if (!update.all.empty() && !to.send_update(frame(group::reply_status::stream, update))) return;
    }
}

void requests::send_changes_to_followers() {
    sessions_.for_each_follower([this](session& one) { send_changes(one); });
}

group::status_reply requests::status() const {
    const raft_node::log_status s = raft_node_.status();
    const state_statistics h = raft_node_.state().statistics();
    group::status_reply all;
    all.id = identity_.id;
    all.address = identity_.address;
    all.state = s.role_name;
    all.leader = address_of(raft_node_.leader());
    all.term = s.term;
    all.last_index = s.last_index;
    all.applied_index = s.applied_index;
    all.version = raft_node_.state().latest();
    all.records = h.objects;
    all.bytes = h.bytes;
    all.connections = sessions_.count();
    all.prepared = h.prepared;
    all.connections_rejected = connections_rejected_();
    for (const raft_node::role& r : raft_node_.members()) all.members.push_back({r.who.id, address_of(r.who), r.votes});
    if (all.members.empty()) all.error = "waits for the group to admit it";
    else if (all.leader.empty()) all.error = "knows no leader";
    return all;
}

void requests::serve_status(const std::shared_ptr<session>& from) {
    from->answer(frame(group::reply_status::done, status()));
}

void requests::serve_change(const std::shared_ptr<session>& from, bool add, const group::change_request& asked) {
    if (!from->has_member_rights()) {
        return from->answer(text(group::reply_status::refused,
                                 "members are added and removed with the certificate of a member, made for " +
                                     credentials_->name_of(group::peer_kind::member) + ": use such a certificate"));
    }
    if (!raft_node_.is_leader()) return redirect_to_leader(from);
    const auto all = raft_node_.members();
    const auto one = std::ranges::find(all, asked.id, [](const raft_node::role& r) { return r.who.id; });
    const bool as_it_is = add ? one != all.end() && one->votes : one == all.end();
    if (as_it_is) return from->answer(frame(group::reply_status::done, group::empty_body{}));
    const auto done = [to = std::weak_ptr{from}](const std::string& why) {
        give(to, why.empty() ? frame(group::reply_status::done, group::empty_body{})
                             : text(group::reply_status::refused, why));
    };
    if (add) raft_node_.admit({asked.id, asked.address}, done);
    else raft_node_.remove(asked.id, done);
}

}  // namespace tutti::cluster::replica
