#include "server/protocol/doorkeeper.hpp"

#include <crypt.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "server/protocol/principal.hpp"

namespace tutti::server {
namespace {

/// A hash takes about 15 ms, and a client without a login may stay for seconds.
constexpr std::size_t most_waiting = 256;

}  // namespace

doorkeeper::doorkeeper(const accounts& known) : known_{known} {
    groups_.reserve(most_waiting + 1);
    latest_[nullptr] = 0;
    known.visit([this](const account& a) { latest_[&a] = 0; });
}

doorkeeper::~doorkeeper() {
    {
        const std::lock_guard lock{mutex_};
        ended_ = true;
    }
    asked_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void doorkeeper::start() {
    thread_ = std::thread{[this] { work(); }};
}

doorkeeper::group& doorkeeper::group_of(const request& r) noexcept {
    const principal* const origin = r.login.origin.get();
    const account* const who = r.login.who;
    const auto found =
        std::ranges::find_if(groups_, [&](const group& g) { return g.origin == origin && g.who == who; });
    if (found != groups_.end()) return *found;
    return groups_.emplace_back(group{origin, who, 0});
}

/// Removes `r` from the list. `before` is the login before `r`; null if `r` is the first.
void doorkeeper::take_out(request* before, request& r) noexcept {
    (before == nullptr ? first_ : before->next) = r.next;
    if (last_ == &r) last_ = before;
    r.next = nullptr;
    --waiting_;
    group& g = group_of(r);
    if (--g.waiting == 0) {
        g = groups_.back();
        groups_.pop_back();
    }
}

/// Removes a login so that `r` may wait. Returns null if the group of `r` is among the largest.
request* doorkeeper::make_room(const request& r) noexcept {
    const auto largest = std::ranges::max_element(groups_, {}, &group::waiting);
    const auto own = std::ranges::find_if(
        groups_, [&](const group& g) { return g.origin == r.login.origin.get() && g.who == r.login.who; });
    if (largest->waiting <= 1 + (own == groups_.end() ? 0 : own->waiting)) return nullptr;
    request *youngest = nullptr, *before_youngest = nullptr, *before = nullptr;
    for (request* w = first_; w != nullptr; before = w, w = w->next) {
        if (w->login.origin.get() != largest->origin || w->login.who != largest->who) continue;
        youngest = w;
        before_youngest = before;
    }
    take_out(before_youngest, *youngest);
    return youngest;
}

void doorkeeper::ask(request& r) noexcept {
    r.next = nullptr;
    request* away = nullptr;
    {
        const std::lock_guard lock{mutex_};
        if (waiting_ == most_waiting) {
            away = make_room(r);
            if (away == nullptr) away = &r;
        }
        if (away != &r) {
            ++waiting_;
            ++group_of(r).waiting;
            (last_ == nullptr ? first_ : last_->next) = &r;
            last_ = &r;
            asked_.notify_one();
        }
    }
    if (away == nullptr) return;
    away->login.state = login_claim::verdict::busy;
    away->give_back();
}

bool doorkeeper::goes_before(const request& a, const request& b) const noexcept {
    const auto operates = [](const request& r) { return r.login.who != nullptr && r.login.who->what.operates; };
    const bool turn_of_operators = turn_ % 2 == 1;
    if (turn_of_operators && operates(a) != operates(b)) return operates(a);
    const auto origin = [](const request& r) { return r.login.origin == nullptr ? 0 : r.login.origin->latest_login; };
    if (origin(a) != origin(b)) return origin(a) < origin(b);
    return latest_.at(a.login.who) < latest_.at(b.login.who);
}

/// Removes and returns the login whose turn it is; among equals, the oldest. REQUIRES: one waits.
request& doorkeeper::take_next() noexcept {
    ++turn_;
    request *next = first_, *before_next = nullptr;
    for (request *before = first_, *w = first_->next; w != nullptr; before = w, w = w->next) {
        if (!goes_before(*w, *next)) continue;
        next = w;
        before_next = before;
    }
    take_out(before_next, *next);
    if (next->login.origin != nullptr) next->login.origin->latest_login = turn_;
    latest_.at(next->login.who) = turn_;
    return *next;
}

void doorkeeper::begin_drain() noexcept {
    const std::lock_guard lock{mutex_};
    draining_ = true;
}

void doorkeeper::work() noexcept {
    ::pthread_setname_np(::pthread_self(), "tutti-door");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::unique_lock lock{mutex_};
    for (;;) {
        asked_.wait(lock, [this] { return first_ != nullptr || ended_; });
        if (first_ == nullptr) return;
        request& r = take_next();
        const bool unseen = draining_ || r.is_left.load(std::memory_order_relaxed);
        lock.unlock();
        if (unseen) r.login.state = login_claim::verdict::unseen;
        else r.login.state = is_right(r.login) ? login_claim::verdict::right : login_claim::verdict::wrong;
        r.give_back();
        lock.lock();
    }
}

bool doorkeeper::is_right(const login_claim& claim) const noexcept {
    const std::string& hash = claim.who != nullptr ? claim.who->what.password : known_.decoy();
    try {
        const std::string phrase{claim.password};
        const auto memory = std::make_unique<crypt_data>();
        const char* const made = ::crypt_rn(phrase.c_str(), hash.c_str(), memory.get(), sizeof(crypt_data));
        // crypt ignores bytes after a zero byte.
        return made != nullptr && hash == made && claim.who != nullptr && phrase.find('\0') == std::string::npos;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace tutti::server
