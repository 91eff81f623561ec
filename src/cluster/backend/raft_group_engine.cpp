#include "cluster/backend/raft_group_engine.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "cluster/backend/fault_injection.hpp"
#include "cluster/backend/group_client.hpp"

namespace tutti::cluster::backend {
namespace {

using namespace group;

record from_wire(held_record& r) { return {r.exists, r.at, std::move(r.bytes)}; }

blocking_transaction from_wire(transaction_name& n) { return {std::move(n.id), n.deciding_group}; }

/// Returns the watermark of a group. Programs may name the group by any of its members.
std::shared_ptr<version_watermark> watermark_of_group(std::uint64_t number) {
    static std::mutex guard;
    static std::map<std::uint64_t, std::weak_ptr<version_watermark>> all;
    const std::lock_guard hold{guard};
    std::shared_ptr<version_watermark> found = all[number].lock();
    if (!found) all[number] = found = std::make_shared<version_watermark>();
    return found;
}

class group_feed final : public key_feed, public record_feed {
public:
    group_feed(std::unique_ptr<member_connection> from, std::size_t prefix) : from_{std::move(from)}, prefix_{prefix} {}
    bool next(std::vector<key>& written) override {
        stream_reply all;
        if (!read(all)) return false;
        for (changed_record& r : all.all) written.push_back(r.of.substr(prefix_));
        return true;
    }
    /// Appends the next writes. A member reports whole commits, in the order of the log.
    bool next(std::vector<change>& written) override {
        stream_reply all;
        if (!read(all)) return false;
        for (changed_record& r : all.all) written.push_back({r.of.substr(prefix_), from_wire(r.value)});
        return true;
    }
    void close() noexcept override {
        closed_.store(true, std::memory_order_relaxed);
        from_->interrupt();
    }

private:
    /// Reads the next message. A keep-alive counts as a message without writes.
    bool read(stream_reply& all) {
        std::string message;
        if (closed_.load(std::memory_order_relaxed) ||
            !from_->receive_or_keep_alive(message, member_connection::clock::now() + silence_timeout))
            return false;
        if (message.empty()) return true;
        std::string_view rest{message};
        reply_status status{};
        return take_head(rest, status) && status == reply_status::stream && wire::decode(rest, all);
    }

    const std::unique_ptr<member_connection> from_;
    const std::size_t prefix_;  // length of the prefix, which is removed from keys
    std::atomic<bool> closed_{false};
};

class raft_group_engine final : public group_engine {
public:
    raft_group_engine(std::vector<std::string> addresses, const settings& how)
        : how_{how}, prefix_{how.prefix + "/"}, client_{addresses, credentials::of(how.tls, peer_kind::program)} {
        abilities_.name = "the group at";
        for (const std::string& a : addresses) abilities_.name += (a == addresses.front() ? " " : ", ") + a;
        abilities_.keeps_old_versions = abilities_.batches = abilities_.durable = abilities_.has_record_feed =
            abilities_.drops_erased = true;
        abilities_.max_operations = wire::max_elements;
        abilities_.max_bytes = max_commit_bytes;
        const group_client::reply reply =
            client_.ask(frame(request_kind::get, get_request{}), true, how_.request_timeout);
        if (reply.status != reply_status::done)
            throw engine_error{abilities_.name + " does not answer: " + reply.message};
        watermark_ = watermark_of_group(client_.number());
        client_.keep_learning_members();
    }
    const capabilities& abilities() const noexcept override { return abilities_; }

    engine_status get(read_snapshot& snapshot, freshness how, std::span<const check> held, std::span<const key> wanted,
                      std::vector<record>& found) override {
        found.clear();
        get_request ask;
        // A block that continues in its snapshot holds only records of that snapshot, so the records need no check.
        const bool back = how == freshness::same && snapshot.at != 0;
        if (back) {
            ask.at = snapshot.at;
            held = {};
        }
        snapshot.blocked_by = {};
        std::size_t looked_at = 0;
        do {
            ask.held.clear();
            for (; looked_at < held.size() && ask.held.size() < max_keys; ++looked_at)
                ask.held.push_back({prefix_ + held[looked_at].of, held[looked_at].at});
            ask.wanted.clear();
            for (std::size_t i = found.size(); i < wanted.size() && ask.wanted.size() < max_keys; ++i)
                ask.wanted.push_back(prefix_ + wanted[i]);
            const group_client::reply reply = client_.ask(frame(request_kind::get, ask), true, how_.request_timeout);
            if (reply.status != reply_status::done) return engine_status::unreachable;
            get_reply answer;
            if (!wire::decode(reply.message, answer) || answer.found.size() > ask.wanted.size())
                return engine_status::unreachable;
            if (!answer.current) {
                snapshot.blocked_by = from_wire(answer.blocked_by);
                watermark_->raise(answer.at);  // so that the next attempt sees the conflicting write
                return engine_status::conflict;
            }
            if (answer.found.empty() && !ask.wanted.empty()) return engine_status::unreachable;
            for (held_record& r : answer.found) found.push_back(from_wire(r));
            ask.at = answer.at;  // all requests read the same state
        } while (looked_at < held.size() || found.size() < wanted.size());
        snapshot.at = ask.at;
        if (!wanted.empty()) watermark_->raise(snapshot.at);
        return engine_status::good;
    }

    void commit(request& r) override {
        request* one = &r;
        commit_all({&one, 1});
    }

    void commit_all(std::span<request*> all) override {
        commit_request ask;
        for (const request* r : all) ask.all.push_back(to_wire(*r));
        finish_commits(
            client_.ask(frame(request_kind::commit, ask), injected(fault::commit_twice), how_.request_timeout), all);
    }

    std::function<void()> begin_prepare(const blocking_transaction& transaction, request& r,
                                        std::chrono::milliseconds timeout) override {
        const prepare_request ask{{transaction.id, transaction.deciding_group}, to_wire(r)};
        return [this, one = &r, asked = client_.begin(frame(request_kind::prepare, ask), false, timeout)] {
            finish_commits(client_.end(*asked), {&one, 1});
        };
    }

    std::function<bool()> begin_finish(const std::string& id, bool commits,
                                       std::chrono::milliseconds timeout) override {
        return [this, asked = client_.begin(frame(request_kind::finish, finish_request{id, commits}), true, timeout)] {
            return client_.end(*asked).status == reply_status::done;
        };
    }

    std::uint64_t number() const noexcept override { return client_.number(); }
    std::vector<std::string> members() const override { return client_.members(); }
    void on_members_changed(std::function<void()> callback) override {
        client_.on_members_changed(std::move(callback));
    }

    engine_status list(list_cursor& from, const slot_set& slots, std::vector<change>& found) override {
        list_reply answer;
        const engine_status status = request_list(
            {prefix_, slots.slot_count, slots.slots, 0, from.member, from.buckets, from.next}, answer, found);
        if (status != engine_status::good) return status;
        from = {from.as_of == 0 ? answer.at : from.as_of,
                answer.is_finished,
                answer.absence,
                {},
                answer.member,
                answer.buckets,
                answer.next};
        for (transaction_name& n : answer.prepared) from.prepared.push_back(from_wire(n));
        return status;
    }

    engine_status list_changes(list_cursor& from, const slot_set& slots, std::vector<change>& found) override {
        list_reply answer;
        const engine_status status =
            request_list({prefix_, slots.slot_count, slots.slots, from.as_of, 0, 0, 0}, answer, found);
        if (status != engine_status::good) return status;
        from.as_of = answer.at;
        from.is_finished = answer.is_finished;
        from.absence = answer.absence;
        return status;
    }

    void import_records(request& r, std::span<const change> records, version absence) override {
        import_request ask;
        ask.absence = absence;
        for (const check& c : r.checks) ask.checks.push_back({prefix_ + c.of, c.at});
        for (const change& c : records)
            ask.records.push_back({prefix_ + c.of, {c.value.exists, c.value.at, c.value.bytes}});
        request* one = &r;
        finish_commits(client_.ask(frame(request_kind::import_records, ask), true, how_.request_timeout), {&one, 1});
    }

    void forget(std::span<const key> all) noexcept override {
        try {
            forget_request ask;
            for (std::size_t i = 0; i < all.size(); ++i) {
                ask.keys.push_back(prefix_ + all[i]);
                if (ask.keys.size() < max_keys && i + 1 < all.size()) continue;
                if (client_.ask(frame(request_kind::forget, ask), true, how_.request_timeout).status !=
                    reply_status::done)
                    return;
                ask.keys.clear();
            }
        } catch (const std::bad_alloc&) {  // the records stay
        }
    }

    std::unique_ptr<key_feed> open_key_feed() override { return follow_keys("o", "q", from_now, false); }
    /// Follows the objects, and the keys (n) that caches write in order to learn the current version.
    std::unique_ptr<record_feed> open_record_feed(version after) override { return follow_keys("n", "p", after, true); }
    backend::version_watermark* watermark() noexcept override { return watermark_.get(); }

private:
    [[nodiscard]] transaction_request to_wire(const request& r) const {
        transaction_request t;
        for (const check& c : r.checks) t.checks.push_back({prefix_ + c.of, c.at});
        for (const write& w : r.writes) t.writes.push_back({prefix_ + w.of, w.exists, w.bytes});
        return t;
    }
    void finish_commits(const group_client::reply& reply, std::span<request* const> all) {
        commit_reply answer;
        const bool heard = reply.status == reply_status::done && wire::decode(reply.message, answer) &&
                           answer.all.size() == all.size();
        for (std::size_t i = 0; i < all.size(); ++i) {
            request& r = *all[i];
            if (heard) {
                r.status = answer.all[i].good ? engine_status::good : engine_status::conflict;
                r.at = answer.all[i].at;
                r.blocked_by = from_wire(answer.all[i].blocked_by);
                watermark_->raise(r.at);
            } else if (reply.status == reply_status::refused) {
                r.status = engine_status::refused;
                r.reason = "tutti: " + abilities_.name + " refuses the commit: " + reply.message;
            } else {
                r.status =
                    reply.status == reply_status::not_leader ? engine_status::unreachable : engine_status::unknown;
            }
        }
    }

    engine_status request_list(const list_request& what, list_reply& answer, std::vector<change>& found) {
        const group_client::reply reply = client_.ask(frame(request_kind::list, what), true, how_.request_timeout);
        if (reply.status != reply_status::done || !wire::decode(reply.message, answer))
            return engine_status::unreachable;
        if (!answer.is_known) return engine_status::conflict;
        for (changed_record& r : answer.all) found.push_back({r.of.substr(prefix_.size()), from_wire(r.value)});
        return engine_status::good;
    }

    std::unique_ptr<group_feed> follow_keys(const char* from, const char* to, version after, bool values) {
        const follow_request ask{prefix_ + from, prefix_ + to, after, values};
        std::unique_ptr<member_connection> l =
            client_.open_stream(frame(request_kind::follow, ask), how_.request_timeout);
        return l ? std::make_unique<group_feed>(std::move(l), prefix_.size()) : nullptr;
    }

    const settings how_;
    const std::string prefix_;
    capabilities abilities_;
    group_client client_;
    std::shared_ptr<backend::version_watermark> watermark_;
};

}  // namespace

std::unique_ptr<group_engine> open_raft_group(const std::vector<std::string>& members, const settings& how) {
    return std::make_unique<raft_group_engine>(members, how);
}

}  // namespace tutti::cluster::backend
