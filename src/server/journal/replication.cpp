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
constexpr milliseconds between_looks{100};  // interval between checks for clients that have left
constexpr std::size_t most_followers = 64;
constexpr std::size_t most_in_piece = std::size_t{4} << 20;

/// Thrown when the leader refuses a follower.
struct refusal {
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
    ring();
}

void replication::end() noexcept {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock{mutex_};
        draining_ = ending_ = true;
    }
    ring();
    thread_.join();
}

void replication::lead(std::vector<branch> all, std::size_t compared_with) {
    const std::scoped_lock lock{mutex_};
    branches_ = std::move(all);
    leader_.clear();
    leads_ = true;
    handover_.clear();
    refuses_meanwhile_.clear();
    order_ = {};
    // A server that did not lead until now has no fence. A server that leads again may have heard of a later term since
    // it decided to. Then another server leads, whatever the term of the new branch is.
    lost_.clear();
    compared_with_ = compared_with;
    if (!fenced_.empty() || compared_with_ != 0) return;
    writes_.store(true, std::memory_order_release);
}

void replication::follow(std::string leader) {
    const std::scoped_lock lock{mutex_};
    leader_ = std::move(leader);
    leads_ = false;
    writes_.store(false, std::memory_order_release);
    fenced_.clear();
    lost_.clear();
    compared_with_ = 0;
    fence_is_kept_ = false;
    handover_.clear();
    refuses_meanwhile_.clear();
    order_ = {};
    followers_.clear();
}

void replication::show_handover(std::string doing, std::string refusal) {
    const std::scoped_lock lock{mutex_};
    handover_ = std::move(doing);
    refuses_meanwhile_ = std::move(refusal);
}

void replication::order(const lead_order& o) {
    {
        const std::scoped_lock lock{mutex_};
        order_ = o;
        wait_is_over_ = false;
    }
    ring();
}

bool replication::await_later_term(milliseconds longest) {
    std::unique_lock lock{mutex_};
    return handover_changed_.wait_for(lock, longest, [this] { return !fenced_.empty() || wait_is_over_; });
}

void replication::end_wait() noexcept {
    const std::scoped_lock lock{mutex_};
    wait_is_over_ = true;
    handover_changed_.notify_all();
}

std::string replication::why_no_writes() const {
    const std::scoped_lock lock{mutex_};
    if (!fenced_.empty()) return fenced_;
    if (!lost_.empty()) return lost_;
    if (compared_with_ != 0) {
        return "this server waits until it has compared its log with that of " + std::to_string(compared_with_) +
               (compared_with_ == 1 ? " follower" : " followers") + ", and " + std::to_string(followers_.size()) +
               " have come; to have it lead without them, promote it";
    }
    if (leads_) return refuses_meanwhile_;
    return "this server follows " + leader_ + ", which is where calls go that write";
}

void replication::hear(std::uint64_t term, const std::string& from) {
    std::string line;
    bool leads = false;
    {
        const std::scoped_lock lock{mutex_};
        leads = leads_;
        if (leads && (fence_is_kept_ || term <= branches_.back().term)) return;
        if (leads) {
            const bool is_new = fenced_.empty() && order_.number == 0;
            fenced_ = "this server leads no more: " + from + " is of " + term_text(term) + ", and this one of " +
                      term_text(branches_.back().term) + "; start it again with --follow and the leader's address";
            if (order_.number != 0) fenced_ = refuses_meanwhile_;  // the server that the order names leads
            writes_.store(false, std::memory_order_release);
            if (is_new) line = fenced_;
        }
    }
    if (!line.empty()) of_.tell(true, line);
    // The later term must be on the disk before the other server hears that this server knows it. Otherwise this server
    // might lead again after a restart. A follower might be promoted into a term that another server leads in.
    of_.with_file([&](store& file) {
        if (leads || term > file.latest_term()) file.hear_term(term);
    });
    const std::scoped_lock lock{mutex_};
    if (!leads || fenced_.empty()) return;
    fence_is_kept_ = true;
    handover_changed_.notify_all();
}

// Threads store asked_, held_ and rung_ before they wake the replication thread. They wake it under the lock under
// which it checks them.
void replication::ring() noexcept {
    if (rung_.exchange(true)) return;
    const std::scoped_lock lock{mutex_};
    changed_.notify_all();
}

void replication::ask(inquiry& i) noexcept {
    push(asked_, i, &inquiry::next_);
    ring();
}

bool replication::holds(waiter& w, std::uint64_t awaits) noexcept {
    if (how_.replicas == 0 || replicated_.load(std::memory_order_acquire) >= awaits) return false;
    w.awaits_ = awaits;
    w.until_ = clock::now() + how_.replicas_timeout;
    push(held_, w, &waiter::next_);
    ring();
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
            const auto called = [this] { return rung_.load() || ending_; };
            const clock::time_point at = next_look();
            if (at == clock::time_point::max()) changed_.wait(lock, called);
            else changed_.wait_until(lock, at, called);
            rung_.store(false);
            last = ending_;
        }
        for (inquiry* i = asked_.exchange(nullptr); i != nullptr;) {
            inquiry* const one = std::exchange(i, i->next_);
            one->next_ = std::exchange(asking_, one);
        }
        for (waiter* w = held_.exchange(nullptr); w != nullptr;) {
            waiter* const one = std::exchange(w, w->next_);
            one->next_ = std::exchange(waiting_, one);
        }
        // Comes before the check of durable(): either the journal sees that an inquiry waits for more, or this thread
        // sees the new position.
        awaits_more_.store(asking_ != nullptr);
        look_after(clock::now(), last);
    }
}

replication::clock::time_point replication::next_look() const noexcept {
    clock::time_point at = clock::time_point::max();
    for (const inquiry* i = asking_; i != nullptr; i = i->next_) at = std::min(at, i->until);
    if (asking_ != nullptr) at = std::min(at, clock::now() + between_looks);
    for (const waiter* w = waiting_; w != nullptr; w = w->next_) at = std::min(at, w->until_);
    return at;
}

void replication::look_after(clock::time_point now, bool ending) noexcept {
    bool drains = ending;
    {
        const std::scoped_lock lock{mutex_};
        drains = drains || draining_;
    }
    // Notes first what followers have, because other inquiries wait for that.
    for (const inquiry* i = asking_; i != nullptr; i = i->next_) {
        if (i->what == inquiry::kind::pull) note(i->from);
    }
    count_replicas();
    inquiry* left = nullptr;
    while (asking_ != nullptr) {
        inquiry& one = *std::exchange(asking_, asking_->next_);
        if (is_due(one, now, drains)) one.answered(answer(one));
        else one.next_ = std::exchange(left, &one);
    }
    asking_ = left;
    waiter* still = nullptr;
    const std::uint64_t replicated = replicated_.load(std::memory_order_relaxed);
    while (waiting_ != nullptr) {
        waiter& one = *std::exchange(waiting_, waiting_->next_);
        if (one.awaits_ <= replicated) {
            one.pass_on(waiter::outcome::kept);
        } else if (ending || now >= one.until_) {
            unreplicated_.fetch_add(1, std::memory_order_relaxed);
            one.pass_on(waiter::outcome::unreplicated);
        } else {
            one.next_ = std::exchange(still, &one);
        }
    }
    waiting_ = still;
}

bool replication::is_due(inquiry& i, clock::time_point now, bool ending) noexcept {
    if (ending || now >= i.until || i.is_left()) return true;
    switch (i.what) {
        case inquiry::kind::pull: try { admit(i.from);
            } catch (...) {
                return true;  // answer() reports it
            }
            return of_.durable() > i.from.upto || i.from.upto_branch != now_writing().id || order_for(i.from) != 0;
        case inquiry::kind::wait:
        case inquiry::kind::repeat: return having(i.position) >= i.wanted;
        case inquiry::kind::event: return i.has_come();
        default: return true;
    }
}

branch replication::now_writing() const {
    const std::scoped_lock lock{mutex_};
    return branches_.empty() ? branch{} : branches_.back();
}

std::string replication::answer(const inquiry& i) noexcept {
    std::string text;
    try {
        reply to{text};
        try {
            switch (i.what) {
                case inquiry::kind::pull: to.text(piece_for(i.from)); break;
                case inquiry::kind::wait:
                case inquiry::kind::repeat: to.integer(static_cast<std::int64_t>(having(i.position))); break;
                default: i.task(text);
            }
        } catch (const refusal& why) {
            text.clear();
            reply{text}.error(why.code, why.text);
        } catch (const store_error& e) {
            text.clear();
            reply{text}.error("NOLOG", e.what());
        }
    } catch (...) {
        text = "-BUSY .\r\n";  // no memory for the text; any string has room for these few bytes
    }
    return text;
}

/// Checks T3: throws if the follower's log does not continue to be a part of this log.
void replication::admit(const pull& from) {
    const std::scoped_lock lock{mutex_};
    if (!leads_) throw refusal{"ELSEWHERE", leader_ + " is the leader that this server follows: follow that one"};
    // A server that hands over its lead will soon follow the new leader, and then names that leader with ELSEWHERE.
    if (!fenced_.empty()) throw refusal{order_.number != 0 ? "BUSY" : "STALE", fenced_};
    if (from.own.id == 0 && from.end == 1) return;  // its log is empty
    const auto same = std::ranges::find_if(branches_, [&](const branch& b) { return b.is(from.own); });
    if (same == branches_.end()) {
        throw refusal{"DIVERGED",
                      "its log ends in a branch of " + term_text(from.own.term) +
                          " that this server has never had: it has led by itself, or this server has lost "
                          "its log. Keep its log elsewhere, for what only it has, and start it without one"};
    }
    // Uses the minimum over all later branches instead of the next one. A log of an earlier version may list branches
    // of which it never had a call. Such a log diverged before those branches began.
    std::uint64_t end = of_.durable();
    for (auto later = same + 1; later != branches_.end(); ++later) end = std::min(end, later->first);
    if (from.end <= end) return;
    throw refusal{"DIVERGED", "its log has calls up to " + std::to_string(from.end - 1) + " of " +
                                  term_text(from.own.term) + ", and this server's has them up to " +
                                  std::to_string(end - 1) +
                                  ". Keep its log elsewhere, for what only it has, and start it without one"};
}

bool replication::is_undecided() const {
    const std::scoped_lock lock{mutex_};
    return leads_ && fenced_.empty() && (!lost_.empty() || compared_with_ != 0);
}

std::string replication::compare(const std::string& address, const std::vector<branch>& all, std::uint64_t end) {
    std::string line, told;
    {
        const std::scoped_lock lock{mutex_};
        if (!leads_ || !fenced_.empty() || all.empty() || all.back().term != branches_.back().term) return {};
        // Finds the latest branch of an earlier start that both servers have. This server continued after it with
        // another branch.
        std::size_t next = branches_.size() - 1;
        while (next != 0 && std::ranges::none_of(all, [&](const branch& b) { return b.is(branches_[next - 1]); }))
            --next;
        const bool has_nothing = branches_.size() == 1 && branches_[0].first == 1;  // before this start
        const std::uint64_t own = branches_[next].first;
        if (end <= own || (next == 0 && !has_nothing)) return {};
        const std::string has = "calls up to " + std::to_string(end - 1), lacks = std::to_string(own - 1);
        told = "its log has " + has + ", and this server's had them up to " + lacks +
               " at a start: this server has lost calls. Keep both logs. Either promote the server that has these "
               "calls, and start this one with --follow and without its log; or, to give these calls up, promote this "
               "one, and start the other one without its log";
        if (lost_.empty()) {
            line = "the follower at " + address + " has " + has +
                   " of this server's log, and this server had them up to " + lacks +
                   " at a start: this server has lost calls, as by a backup that was put back, and takes no calls "
                   "that write. Either promote that follower, and start this server with --follow and without its log; "
                   "or promote this server, which gives these calls up";
            lost_ = line;
        }
        writes_.store(false, std::memory_order_release);
    }
    if (!line.empty()) of_.tell(true, line);
    return told;
}

/// Counts one more follower that has shown its branches without contradicting this server.
void replication::count_compared() {
    const std::scoped_lock lock{mutex_};
    if (compared_with_ == 0 || followers_.size() < compared_with_ || !fenced_.empty() || !lost_.empty()) return;
    compared_with_ = 0;
    writes_.store(true, std::memory_order_release);
}

void replication::note(const pull& from) noexcept {
    try {
        hear(from.own.term, "the server at " + from.address);
        admit(from);
        std::unique_lock lock{mutex_};
        const clock::time_point now = clock::now();
        std::erase_if(followers_, [&](const follower& f) { return now - f.seen > remembered_for; });
        auto found = std::ranges::find(followers_, from.follower, &follower::id);
        if (found == followers_.end()) {
            if (followers_.size() >= most_followers)
                followers_.erase(std::ranges::min_element(followers_, {}, &follower::seen));
            followers_.push_back({.id = from.follower, .address = from.address});
            found = followers_.end() - 1;
        }
        found->upto = has_upto(from);
        found->seen = now;
        found->address = from.address;  // unknown before the follower listens
        lock.unlock();
        count_compared();
    } catch (...) {
        // The refusal is answered elsewhere. Without memory to note the follower, it does not count.
    }
}

// Returns the position before which the follower has everything. Statements of an earlier branch of this server may not
// hold any more, because positions after the end of the log were drawn again.
std::uint64_t replication::has_upto(const pull& from) const noexcept {
    return from.upto_branch == branches_.back().id ? from.upto : from.end;
}

std::uint64_t replication::order_for(const pull& from) const noexcept {
    const std::scoped_lock lock{mutex_};
    const bool is_meant = leads_ && from.follower == order_.follower && has_upto(from) >= order_.position;
    return is_meant ? order_.number : 0;
}

std::string replication::piece_for(const pull& from) {
    admit(from);
    if (const std::uint64_t order = order_for(from); order != 0) throw refusal{"LEAD", std::to_string(order)};
    piece p;
    std::uint64_t written = 0;
    of_.with_file([&](store& file) {
        if (from.end < file.kept_from()) {
            throw refusal{"COPY", "calls from " + std::to_string(from.end) + " on are only in a snapshot any more"};
        }
        p.upto = of_.durable();  // everything in this file, which no thread is writing now, is durable (journal::write)
        written = of_.written_bytes();
        p.groups = file.read_from(from.end, std::min(from.most, most_in_piece));
        const std::uint64_t next = p.groups.empty() ? from.end : p.groups.back().last + 1;
        p.behind = file.bytes_from(next);
    });
    if (p.behind != 0 && !p.groups.empty()) p.upto = p.groups.back().last + 1;
    const std::scoped_lock lock{mutex_};
    p.now = branches_.back();
    const auto own = std::ranges::find_if(branches_, [&](const branch& b) { return b.is(from.own); });
    p.branches.assign(own == branches_.end() ? branches_.begin() : own + 1, branches_.end());
    const auto f = std::ranges::find(followers_, from.follower, &follower::id);
    if (f != followers_.end()) {
        f->behind_bytes = p.behind;
        f->behind_at = written;
    }
    return encode(p);
}

void replication::count_replicas() noexcept {
    if (how_.replicas == 0) return;
    const std::scoped_lock lock{mutex_};
    const clock::time_point now = clock::now();
    // Finds the minimum of the n largest positions, without allocating: computes the rank of each.
    std::uint64_t best = 1;
    for (const follower& f : followers_) {
        const auto have = std::ranges::count_if(
            followers_, [&](const follower& g) { return g.upto >= f.upto && now - g.seen <= counts_as_connected; });
        if (static_cast<std::uint64_t>(have) >= how_.replicas) best = std::max(best, f.upto);
    }
    replicated_.store(best, std::memory_order_release);  // pairs with the acquire load in holds()
}

std::uint64_t replication::having(std::uint64_t position) const noexcept {
    const std::scoped_lock lock{mutex_};
    const clock::time_point now = clock::now();
    return static_cast<std::uint64_t>(std::ranges::count_if(
        followers_, [&](const follower& f) { return f.upto >= position && now - f.seen <= counts_as_connected; }));
}

void replication::show_link(std::function<link_figures()> look) {
    const std::scoped_lock lock{mutex_};
    look_at_link_ = std::move(look);
}

replication_figures replication::look() const {
    replication_figures f;
    f.refuses = why_no_writes();
    f.position = of_.durable();
    f.unreplicated = unreplicated_.load(std::memory_order_relaxed);
    const std::scoped_lock lock{mutex_};
    const clock::time_point now = clock::now();
    f.leads = leads_;
    f.leader = leader_;
    f.handover = handover_;
    if (!leads_ && look_at_link_) f.link = look_at_link_();
    if (!branches_.empty()) f.now = branches_.back();
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
