#include "cluster/backend/replicated.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "cluster/backend/fault_injection.hpp"
#include "cluster/backend/group_caller.hpp"

namespace tutti::cluster::backend {
namespace {

using namespace group;

record kept(held_record& r) { return {r.exists, r.at, std::move(r.bytes)}; }

holder kept(transaction_name& n) { return {std::move(n.id), n.decides}; }

/// Returns the tide of a group, for all names of its members.
std::shared_ptr<tide> tide_of_group(std::uint64_t number) {
    static std::mutex guard;
    static std::map<std::uint64_t, std::weak_ptr<tide>> all;
    const std::lock_guard hold{guard};
    std::shared_ptr<tide> found = all[number].lock();
    if (!found) all[number] = found = std::make_shared<tide>();
    return found;
}

class follower final : public feed, public changes {
public:
    follower(std::unique_ptr<link> from, std::size_t prefix) : from_{std::move(from)}, prefix_{prefix} {}
    bool next(std::vector<key>& written) override {
        told_answer all;
        if (!read(all)) return false;
        for (told_record& r : all.all) written.push_back(r.of.substr(prefix_));
        return true;
    }
    /// Appends the next writes. A member reports whole commits, in the order of the log.
    bool next(std::vector<change>& written) override {
        told_answer all;
        if (!read(all)) return false;
        for (told_record& r : all.all) written.push_back({r.of.substr(prefix_), kept(r.is)});
        return true;
    }
    void close() noexcept override {
        closed_.store(true, std::memory_order_relaxed);
        from_->cut();
    }

private:
    /// Also returns, with nothing, at a keep-alive.
    bool read(told_answer& all) {
        std::string message;
        if (closed_.load(std::memory_order_relaxed) || !from_->listen(message, link::clock::now() + silence))
            return false;
        if (message.empty()) return true;
        std::string_view rest{message};
        outcome said{};
        return take_head(rest, said) && said == outcome::told && wire::decode(rest, all);
    }

    const std::unique_ptr<link> from_;
    const std::size_t prefix_;  // length of the prefix, which is removed from keys
    std::atomic<bool> closed_{false};
};

class replicated final : public group_engine {
public:
    replicated(std::vector<std::string> addresses, const settings& how)
        : how_{how}, prefix_{how.prefix + "/"}, members_{addresses, credentials::of(how.tls, speaker::program)} {
        can_.name = "the group at";
        for (const std::string& a : addresses) can_.name += (a == addresses.front() ? " " : ", ") + a;
        can_.old_versions = can_.batches = can_.durable = can_.follows = can_.drops_erased = true;
        can_.most_operations = wire::max_elements;
        can_.most_bytes = most_commit_bytes;
        const caller::answer said = members_.ask(frame(question::get, get_request{}), true, how_.patience);
        if (said.said != outcome::done) throw refusal{can_.name + " does not answer: " + said.message};
        tide_ = tide_of_group(members_.number());
        members_.keep_learning();
    }
    const capabilities& can() const noexcept override { return can_; }

    verdict get(snapshot& of, freshness how, std::span<const check> held, std::span<const key> wanted,
                std::vector<record>& found) override {
        found.clear();
        get_request ask;
        // A block that goes back to a snapshot only holds records of that snapshot, so they need no check.
        const bool back = how == freshness::same && of.at != 0;
        if (back) {
            ask.at = of.at;
            held = {};
        }
        of.met = {};
        std::size_t looked_at = 0;
        do {
            ask.held.clear();
            for (; looked_at < held.size() && ask.held.size() < most_in_list; ++looked_at)
                ask.held.push_back({prefix_ + held[looked_at].of, held[looked_at].at});
            ask.wanted.clear();
            for (std::size_t i = found.size(); i < wanted.size() && ask.wanted.size() < most_in_list; ++i)
                ask.wanted.push_back(prefix_ + wanted[i]);
            const caller::answer said = members_.ask(frame(question::get, ask), true, how_.patience);
            if (said.said != outcome::done) return verdict::unreachable;
            get_answer answer;
            if (!wire::decode(said.message, answer) || answer.found.size() > ask.wanted.size())
                return verdict::unreachable;
            if (!answer.current) {
                of.met = kept(answer.met);
                tide_->raise(answer.at);  // so that the next attempt sees the conflicting write
                return verdict::conflict;
            }
            if (answer.found.empty() && !ask.wanted.empty()) return verdict::unreachable;
            for (held_record& r : answer.found) found.push_back(kept(r));
            ask.at = answer.at;  // all requests read the same state
        } while (looked_at < held.size() || found.size() < wanted.size());
        of.at = ask.at;
        if (!wanted.empty()) tide_->raise(of.at);
        return verdict::good;
    }

    void commit(request& r) override {
        request* one = &r;
        commit_all({&one, 1});
    }

    void commit_all(std::span<request*> all) override {
        commit_request ask;
        for (const request* r : all) ask.all.push_back(sent(*r));
        settle(members_.ask(frame(question::commit, ask), injected(fault::commit_twice), how_.patience), all);
    }

    std::function<void()> begin_prepare(const holder& who, request& r, std::chrono::milliseconds patience) override {
        const prepare_request ask{{who.id, who.decides}, sent(r)};
        return [this, one = &r, asked = members_.begin(frame(question::prepare, ask), false, patience)] {
            settle(members_.end(*asked), {&one, 1});
        };
    }

    std::function<bool()> begin_finish(const std::string& id, bool commits,
                                       std::chrono::milliseconds patience) override {
        return [this, asked = members_.begin(frame(question::finish, finish_request{id, commits}), true, patience)] {
            return members_.end(*asked).said == outcome::done;
        };
    }

    std::uint64_t number() const noexcept override { return members_.number(); }
    std::vector<std::string> members() const override { return members_.members(); }
    void on_new_members(std::function<void()> told) override { members_.on_new_members(std::move(told)); }

    verdict list(listing& from, const slot_set& slots, std::vector<change>& found) override {
        list_answer answer;
        const verdict said =
            ask_for({prefix_, slots.of_all, slots.some, 0, from.member, from.buckets, from.next}, answer, found);
        if (said != verdict::good) return said;
        from = {from.begun == 0 ? answer.at : from.begun,
                answer.over,
                answer.absence,
                {},
                answer.member,
                answer.buckets,
                answer.next};
        for (transaction_name& n : answer.prepared) from.prepared.push_back(kept(n));
        return said;
    }

    verdict changed(listing& from, const slot_set& slots, std::vector<change>& found) override {
        list_answer answer;
        const verdict said = ask_for({prefix_, slots.of_all, slots.some, from.begun, 0, 0, 0}, answer, found);
        if (said != verdict::good) return said;
        from.begun = answer.at;
        from.over = answer.over;
        from.absence = answer.absence;
        return said;
    }

    void adopt(request& r, std::span<const change> records, version absence) override {
        adopt_request ask;
        ask.absence = absence;
        for (const check& c : r.checks) ask.checks.push_back({prefix_ + c.of, c.at});
        for (const change& c : records) ask.records.push_back({prefix_ + c.of, {c.is.exists, c.is.at, c.is.bytes}});
        request* one = &r;
        settle(members_.ask(frame(question::adopt, ask), true, how_.patience), {&one, 1});
    }

    void forget(std::span<const key> all) noexcept override {
        try {
            forget_request ask;
            for (std::size_t i = 0; i < all.size(); ++i) {
                ask.keys.push_back(prefix_ + all[i]);
                if (ask.keys.size() < most_in_list && i + 1 < all.size()) continue;
                if (members_.ask(frame(question::forget, ask), true, how_.patience).said != outcome::done) return;
                ask.keys.clear();
            }
        } catch (const std::bad_alloc&) {  // the records stay
        }
    }

    std::unique_ptr<feed> open_feed() override { return follow_from("o", "q", from_now, false); }
    /// Follows the objects, and the keys that caches write to learn the current version (n).
    std::unique_ptr<changes> follow(version after) override { return follow_from("n", "p", after, true); }
    backend::tide* tide() noexcept override { return tide_.get(); }

private:
    [[nodiscard]] transaction sent(const request& r) const {
        transaction t;
        for (const check& c : r.checks) t.checks.push_back({prefix_ + c.of, c.at});
        for (const write& w : r.writes) t.writes.push_back({prefix_ + w.of, w.exists, w.bytes});
        return t;
    }
    void settle(const caller::answer& said, std::span<request* const> all) {
        commit_answer answer;
        const bool heard =
            said.said == outcome::done && wire::decode(said.message, answer) && answer.all.size() == all.size();
        for (std::size_t i = 0; i < all.size(); ++i) {
            request& r = *all[i];
            if (heard) {
                r.said = answer.all[i].good ? verdict::good : verdict::conflict;
                r.at = answer.all[i].at;
                r.met = kept(answer.all[i].met);
                tide_->raise(r.at);
            } else if (said.said == outcome::refused) {
                r.said = verdict::refused;
                r.why = "tutti: " + can_.name + " takes no such commit: " + said.message;
            } else {
                r.said = said.said == outcome::elsewhere ? verdict::unreachable : verdict::unknown;
            }
        }
    }

    verdict ask_for(const list_request& what, list_answer& answer, std::vector<change>& found) {
        const caller::answer said = members_.ask(frame(question::list, what), true, how_.patience);
        if (said.said != outcome::done || !wire::decode(said.message, answer)) return verdict::unreachable;
        if (!answer.known) return verdict::conflict;
        for (told_record& r : answer.all) found.push_back({r.of.substr(prefix_.size()), kept(r.is)});
        return verdict::good;
    }

    std::unique_ptr<follower> follow_from(const char* from, const char* to, version after, bool values) {
        const follow_request ask{prefix_ + from, prefix_ + to, after, values};
        std::unique_ptr<link> l = members_.follow(frame(question::follow, ask), how_.patience);
        return l ? std::make_unique<follower>(std::move(l), prefix_.size()) : nullptr;
    }

    const settings how_;
    const std::string prefix_;
    capabilities can_;
    caller members_;
    std::shared_ptr<backend::tide> tide_;
};

}  // namespace

std::unique_ptr<group_engine> open_group(const std::vector<std::string>& members, const settings& how) {
    return std::make_unique<replicated>(members, how);
}

}  // namespace tutti::cluster::backend
