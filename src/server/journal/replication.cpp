#include "server/journal/replication.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "server/journal/journal.hpp"
#include "server/journal/stream.hpp"
#include "tutti/server/reply.hpp"

namespace tutti::server::journal {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds counts_as_connected{3};
constexpr std::chrono::hours remembered_for{1};
constexpr milliseconds check_interval{100};  // interval between checks for clients that have left
constexpr std::size_t max_followers = 64;
constexpr std::size_t max_chunk_bytes = std::size_t{4} << 20;

/// Thrown when the leader refuses a follower.
struct follower_rejected {
    std::string_view code;
    std::string text;
};

std::string term_text(std::uint64_t term) { return "term " + std::to_string(term); }

template <class T>
void push(std::atomic<T*>& on, T& what, T* T::* next) noexcept {
    T* top = on.load(std::memory_order_relaxed);
    do what.*next = top;
    while (!on.compare_exchange_weak(top, &what));
}

}  // namespace

void replication::start() {
    thread_ = std::thread{[this] { work(); }};
}

void replication::begin_drain() noexcept {
    {
        const std::scoped_lock lock{mutex_};
        draining_ = true;
    }
    wake_thread();
}

void replication::end() noexcept {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock{mutex_};
        draining_ = ending_ = true;
    }
    wake_thread();
    thread_.join();
}

void replication::lead(std::vector<leader_epoch> all, std::size_t compared_with) {
    const std::scoped_lock lock{mutex_};
    epochs_ = std::move(all);
    leader_.clear();
    leads_ = true;
    handover_.clear();
    handover_refusal_.clear();
    order_ = {};
    // This function does not clear later_leader_. On a server that did not lead until now, later_leader_ is empty. A
    // server that leads again may have heard of a later term after it decided to lead. Then another server leads,
    // whatever the term of the new leader epoch is.
    lost_calls_.clear();
    compared_with_ = compared_with;
    if (!later_leader_.empty() || compared_with_ != 0) return;
    writes_.store(true, std::memory_order_release);
}

void replication::follow(std::string leader) {
    const std::scoped_lock lock{mutex_};
    leader_ = std::move(leader);
    leads_ = false;
    writes_.store(false, std::memory_order_release);
    later_leader_.clear();
    lost_calls_.clear();
    compared_with_ = 0;
    is_fence_durable_ = false;
    handover_.clear();
    handover_refusal_.clear();
    order_ = {};
    followers_.clear();
}

void replication::set_handover_status(std::string doing, std::string refusal) {
    const std::scoped_lock lock{mutex_};
    handover_ = std::move(doing);
    handover_refusal_ = std::move(refusal);
}

void replication::set_order(const takeover_order& o) {
    {
        const std::scoped_lock lock{mutex_};
        order_ = o;
        wait_is_over_ = false;
    }
    wake_thread();
}

bool replication::await_later_term(milliseconds time_limit) {
    std::unique_lock lock{mutex_};
    return handover_changed_.wait_for(lock, time_limit, [this] { return !later_leader_.empty() || wait_is_over_; });
}

void replication::end_wait() noexcept {
    const std::scoped_lock lock{mutex_};
    wait_is_over_ = true;
    handover_changed_.notify_all();
}

std::string replication::write_refusal_reason() const {
    const std::scoped_lock lock{mutex_};
    if (!later_leader_.empty()) return later_leader_;
    if (!lost_calls_.empty()) return lost_calls_;
    if (compared_with_ != 0) {
        return "this server waits to compare its log with the logs of " + std::to_string(compared_with_) +
               (compared_with_ == 1 ? " follower" : " followers") + ", and " + std::to_string(followers_.size()) +
               " have connected; to lead without them, promote this server (REPLICAOF NO ONE)";
    }
    if (leads_) return handover_refusal_;
    return "this server follows " + leader_ + "; send calls that write to that server";
}

void replication::handle_announced_term(std::uint64_t term, const std::string& from) {
    std::string line;
    bool leads = false;
    {
        const std::scoped_lock lock{mutex_};
        leads = leads_;
        if (leads && (is_fence_durable_ || term <= epochs_.back().term)) return;
        if (leads) {
            const bool is_new = later_leader_.empty() && order_.number == 0;
            later_leader_ = "this server no longer leads: " + from + " is of " + term_text(term) +
                            ", and this one of " + term_text(epochs_.back().term) +
                            "; restart it with --follow and the leader's address";
            if (order_.number != 0) later_leader_ = handover_refusal_;  // the server that the order names leads
            writes_.store(false, std::memory_order_release);
            if (is_new) line = later_leader_;
        }
    }
    if (!line.empty()) of_.log(true, line);
    // The later term must be on the disk before the other server hears that this server knows it. Otherwise a former
    // leader might lead again after a restart, and a follower might be promoted into a term that another server already
    // leads in.
    of_.with_file([&](log_store& file) {
        if (leads || term > file.latest_term()) file.record_announced_term(term);
    });
    const std::scoped_lock lock{mutex_};
    if (!leads || later_leader_.empty()) return;
    is_fence_durable_ = true;
    handover_changed_.notify_all();
}

// A thread stores submitted_, held_ and is_woken_ before it wakes the replication thread. It notifies while it holds
// the lock that the replication thread holds while it checks these variables.
void replication::wake_thread() noexcept {
    if (is_woken_.exchange(true)) return;
    const std::scoped_lock lock{mutex_};
    changed_.notify_all();
}

void replication::submit(deferred_request& i) noexcept {
    push(submitted_, i, &deferred_request::next_);
    wake_thread();
}

bool replication::hold_until_replicated(durability_waiter& w, std::uint64_t awaits) noexcept {
    if (how_.wait_followers == 0 || replicated_.load(std::memory_order_acquire) >= awaits) return false;
    w.awaits_ = awaits;
    w.until_ = clock::now() + how_.wait_followers_timeout;
    push(held_, w, &durability_waiter::next_);
    wake_thread();
    return true;
}

void replication::work() {
    ::pthread_setname_np(::pthread_self(), "tutti-followers");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    for (bool last = false; !last;) {
        {
            std::unique_lock lock{mutex_};
            const auto called = [this] { return is_woken_.load() || ending_; };
            const clock::time_point at = next_check();
            if (at == clock::time_point::max()) changed_.wait(lock, called);
            else changed_.wait_until(lock, at, called);
            is_woken_.store(false);
            last = ending_;
        }
        for (deferred_request* i = submitted_.exchange(nullptr); i != nullptr;) {
            deferred_request* const one = std::exchange(i, i->next_);
            one->next_ = std::exchange(requests_, one);
        }
        for (durability_waiter* w = held_.exchange(nullptr); w != nullptr;) {
            durability_waiter* const one = std::exchange(w, w->next_);
            one->next_ = std::exchange(waiting_, one);
        }
        // Stored before durable() is checked. So either the journal sees that a request waits for more positions, or
        // this thread sees the new position.
        awaits_durability_.store(requests_ != nullptr);
        check_requests(clock::now(), last);
    }
}

replication::clock::time_point replication::next_check() const noexcept {
    clock::time_point at = clock::time_point::max();
    for (const deferred_request* i = requests_; i != nullptr; i = i->next_) at = std::min(at, i->until);
    if (requests_ != nullptr) at = std::min(at, clock::now() + check_interval);
    for (const durability_waiter* w = waiting_; w != nullptr; w = w->next_) at = std::min(at, w->until_);
    return at;
}

void replication::check_requests(clock::time_point now, bool ending) noexcept {
    bool drains = ending;
    {
        const std::scoped_lock lock{mutex_};
        drains = drains || draining_;
    }
    // First records which positions followers have, because other requests wait for these positions.
    for (const deferred_request* i = requests_; i != nullptr; i = i->next_) {
        if (i->what == deferred_request::kind::fetch) record(i->fetched);
    }
    count_replicas();
    deferred_request* left = nullptr;
    while (requests_ != nullptr) {
        deferred_request& one = *std::exchange(requests_, requests_->next_);
        if (is_due(one, now, drains)) one.complete(answer(one));
        else one.next_ = std::exchange(left, &one);
    }
    requests_ = left;
    durability_waiter* still = nullptr;
    const std::uint64_t replicated = replicated_.load(std::memory_order_relaxed);
    while (waiting_ != nullptr) {
        durability_waiter& one = *std::exchange(waiting_, waiting_->next_);
        if (one.awaits_ <= replicated) {
            one.finish_wait(durability_waiter::durability_result::durable);
        } else if (ending || now >= one.until_) {
            replication_timeouts_.fetch_add(1, std::memory_order_relaxed);
            one.finish_wait(durability_waiter::durability_result::unreplicated);
        } else {
            one.next_ = std::exchange(still, &one);
        }
    }
    waiting_ = still;
}

bool replication::is_due(deferred_request& i, clock::time_point now, bool ending) noexcept {
    if (ending || now >= i.until || i.is_client_gone()) return true;
    switch (i.what) {
        case deferred_request::kind::fetch: try { admit(i.fetched);
            } catch (...) {
                return true;  // answer() reports the refusal
            }
            return of_.durable() > i.fetched.upto || i.fetched.upto_epoch != current_epoch().id ||
                   order_for(i.fetched) != 0;
        case deferred_request::kind::wait:
        case deferred_request::kind::repeat: return count_followers_with(i.position) >= i.min_followers;
        case deferred_request::kind::event: return i.has_happened();
        default: return true;
    }
}

leader_epoch replication::current_epoch() const {
    const std::scoped_lock lock{mutex_};
    return epochs_.empty() ? leader_epoch{} : epochs_.back();
}

std::string replication::answer(const deferred_request& i) noexcept {
    std::string text;
    try {
        reply to{text};
        try {
            switch (i.what) {
                case deferred_request::kind::fetch: to.text(chunk_for(i.fetched)); break;
                case deferred_request::kind::wait:
                case deferred_request::kind::repeat:
                    to.integer(static_cast<std::int64_t>(count_followers_with(i.position)));
                    break;
                default: i.task(text);
            }
        } catch (const follower_rejected& why) {
            text.clear();
            reply{text}.error(why.code, why.text);
        } catch (const log_store_error& e) {
            text.clear();
            reply{text}.error("MISCONF", e.what());
        }
    } catch (...) {
        text = "-BUSY .\r\n";  // no memory for the text; any string has room for these few bytes
    }
    return text;
}

/// Enforces REP3: throws if the follower's log is not a prefix of this log.
void replication::admit(const fetch_request& from) {
    const std::scoped_lock lock{mutex_};
    if (!leads_)
        throw follower_rejected{"ELSEWHERE", leader_ + " is the leader that this server follows: follow that server"};
    // During a handover the refusal is BUSY, because this server will soon follow the new leader, and then names that
    // leader with ELSEWHERE.
    if (!later_leader_.empty()) throw follower_rejected{order_.number != 0 ? "BUSY" : "STALE", later_leader_};
    if (from.own_epoch.id == 0 && from.end == 1) return;  // the follower's log is empty
    const auto same = std::ranges::find_if(epochs_, [&](const leader_epoch& b) { return b.is(from.own_epoch); });
    if (same == epochs_.end()) {
        throw follower_rejected{"DIVERGED", "its log ends in a leader epoch of " + term_text(from.own_epoch.term) +
                                                " that this server has never had: that follower has led by itself, or "
                                                "this server has lost its log. Move the follower's log away, as a copy "
                                                "of calls that only it has, and restart the follower without a log"};
    }
    // Uses the minimum over all later leader epochs instead of only the next leader epoch. A log of an earlier version
    // may list leader epochs of which the log never had a call. A log with such an epoch diverged before that epoch
    // began.
    std::uint64_t end = of_.durable();
    for (auto later = same + 1; later != epochs_.end(); ++later) end = std::min(end, later->first);
    if (from.end <= end) return;
    throw follower_rejected{"DIVERGED", "its log has calls up to " + std::to_string(from.end - 1) + " of " +
                                            term_text(from.own_epoch.term) + ", and this server's has them up to " +
                                            std::to_string(end - 1) +
                                            ". Move the follower's log away, as a copy of calls that only it has, and "
                                            "restart the follower without a log"};
}

bool replication::is_undecided() const {
    const std::scoped_lock lock{mutex_};
    return leads_ && later_leader_.empty() && (!lost_calls_.empty() || compared_with_ != 0);
}

std::string replication::compare(const std::string& address, const std::vector<leader_epoch>& all, std::uint64_t end) {
    std::string line, reported;
    {
        const std::scoped_lock lock{mutex_};
        if (!leads_ || !later_leader_.empty() || all.empty() || all.back().term != epochs_.back().term) return {};
        // Finds the latest leader epoch of an earlier start that both servers have. After that epoch, this server
        // continued with another leader epoch.
        std::size_t next = epochs_.size() - 1;
        while (next != 0 && std::ranges::none_of(all, [&](const leader_epoch& b) { return b.is(epochs_[next - 1]); }))
            --next;
        const bool has_nothing = epochs_.size() == 1 && epochs_[0].first == 1;  // before this start
        const std::uint64_t own = epochs_[next].first;
        if (end <= own || (next == 0 && !has_nothing)) return {};
        const std::string has = "calls up to " + std::to_string(end - 1), lacks = std::to_string(own - 1);
        reported = "its log has " + has + ", and this server's had them up to " + lacks +
                   " at a start: this server has lost calls. Keep both logs. Either promote the server that has these "
                   "calls, and start this one with --follow and without its log; or, to discard these calls, promote "
                   "this server, and start the other one without its log";
        if (lost_calls_.empty()) {
            line = "the follower at " + address + " has " + has +
                   " of this server's log, and this server had them up to " + lacks +
                   " at a start: this server has lost calls, as after a restored backup, and refuses calls that write. "
                   "Either promote that follower, and start this server with --follow and without its log; "
                   "or promote this server, which discards these calls";
            lost_calls_ = line;
        }
        writes_.store(false, std::memory_order_release);
    }
    if (!line.empty()) of_.log(true, line);
    return reported;
}

/// Allows calls that write once this server has admitted enough followers, unless this server has lost calls or has
/// heard of a later leader.
void replication::count_compared() {
    const std::scoped_lock lock{mutex_};
    if (compared_with_ == 0 || followers_.size() < compared_with_ || !later_leader_.empty() || !lost_calls_.empty())
        return;
    compared_with_ = 0;
    writes_.store(true, std::memory_order_release);
}

void replication::record(const fetch_request& from) noexcept {
    try {
        handle_announced_term(from.own_epoch.term, "the server at " + from.address);
        admit(from);
        std::unique_lock lock{mutex_};
        const clock::time_point now = clock::now();
        std::erase_if(followers_, [&](const follower& f) { return now - f.seen > remembered_for; });
        auto found = std::ranges::find(followers_, from.follower, &follower::id);
        if (found == followers_.end()) {
            if (followers_.size() >= max_followers)
                followers_.erase(std::ranges::min_element(followers_, {}, &follower::seen));
            followers_.push_back({.id = from.follower, .address = from.address});
            found = followers_.end() - 1;
        }
        found->upto = replicated_end_of(from);
        found->seen = now;
        found->address = from.address;  // the address is unknown before the follower listens
        lock.unlock();
        count_compared();
    } catch (...) {
        // A refusal is answered in chunk_for(). If memory is lacking to record the follower, the follower does not
        // count.
    }
}

// Returns the position before which the follower has everything. If `upto` is from an earlier leader epoch, `upto` may
// be too high, because positions after the end of the log were reserved again.
std::uint64_t replication::replicated_end_of(const fetch_request& from) const noexcept {
    return from.upto_epoch == epochs_.back().id ? from.upto : from.end;
}

std::uint64_t replication::order_for(const fetch_request& from) const noexcept {
    const std::scoped_lock lock{mutex_};
    const bool is_meant = leads_ && from.follower == order_.follower && replicated_end_of(from) >= order_.position;
    return is_meant ? order_.number : 0;
}

std::string replication::chunk_for(const fetch_request& from) {
    admit(from);
    if (const std::uint64_t order = order_for(from); order != 0) throw follower_rejected{"LEAD", std::to_string(order)};
    log_chunk p;
    std::uint64_t written = 0;
    of_.with_file([&](log_store& file) {
        if (from.end < file.first_stored_position()) {
            throw follower_rejected{"COPY",
                                    "calls from " + std::to_string(from.end) + " on are only in a snapshot now"};
        }
        p.upto = of_.durable();  // no thread is writing the file now, so everything in it is durable (journal::write)
        written = of_.written_bytes();
        p.groups = file.read_from(from.end, std::min(from.max_bytes, max_chunk_bytes));
        const std::uint64_t next = p.groups.empty() ? from.end : p.groups.back().last + 1;
        p.behind = file.bytes_from(next);
    });
    if (p.behind != 0 && !p.groups.empty()) p.upto = p.groups.back().last + 1;
    const std::scoped_lock lock{mutex_};
    p.epoch = epochs_.back();
    const auto own = std::ranges::find_if(epochs_, [&](const leader_epoch& b) { return b.is(from.own_epoch); });
    p.epochs.assign(own == epochs_.end() ? epochs_.begin() : own + 1, epochs_.end());
    const auto f = std::ranges::find(followers_, from.follower, &follower::id);
    if (f != followers_.end()) {
        f->behind_bytes = p.behind;
        f->behind_at = written;
    }
    return encode(p);
}

void replication::count_replicas() noexcept {
    if (how_.wait_followers == 0) return;
    const std::scoped_lock lock{mutex_};
    const clock::time_point now = clock::now();
    // Finds the n-th largest position, where n is wait_followers. Computes the rank of each position, to avoid an
    // allocation.
    std::uint64_t best = 1;
    for (const follower& f : followers_) {
        const auto have = std::ranges::count_if(
            followers_, [&](const follower& g) { return g.upto >= f.upto && now - g.seen <= counts_as_connected; });
        if (static_cast<std::uint64_t>(have) >= how_.wait_followers) best = std::max(best, f.upto);
    }
    replicated_.store(best, std::memory_order_release);  // pairs with the acquire load in hold_until_replicated()
}

std::uint64_t replication::count_followers_with(std::uint64_t position) const noexcept {
    const std::scoped_lock lock{mutex_};
    const clock::time_point now = clock::now();
    return static_cast<std::uint64_t>(std::ranges::count_if(
        followers_, [&](const follower& f) { return f.upto >= position && now - f.seen <= counts_as_connected; }));
}

void replication::set_link_status_source(std::function<leader_connection_status()> status_source) {
    const std::scoped_lock lock{mutex_};
    link_status_ = std::move(status_source);
}

replication_statistics replication::statistics() const {
    replication_statistics f;
    f.refuses = write_refusal_reason();
    f.position = of_.durable();
    f.replication_timeouts = replication_timeouts_.load(std::memory_order_relaxed);
    const std::scoped_lock lock{mutex_};
    const clock::time_point now = clock::now();
    f.leads = leads_;
    f.leader = leader_;
    f.handover = handover_;
    if (!leads_ && link_status_) f.link = link_status_();
    if (!epochs_.empty()) f.epoch = epochs_.back();
    for (const follower& one : followers_) {
        f.followers.push_back({.id = one.id,
                               .address = one.address,
                               .connected = now - one.seen <= counts_as_connected,
                               .position = one.upto,
                               .behind = f.position - std::min(f.position, one.upto),
                               .behind_bytes = one.behind_bytes + (of_.written_bytes() - one.behind_at),
                               .silent = std::chrono::duration_cast<milliseconds>(now - one.seen)});
    }
    return f;
}

}  // namespace tutti::server::journal
