#include "server/protocol/password_verifier.hpp"

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

/// The maximum number of waiting logins. A hash takes about 15 ms, and a client without a login may stay connected for
/// seconds.
constexpr std::size_t max_waiting = 256;

}  // namespace

password_verifier::password_verifier(const accounts& known) : known_{known} {
    groups_.reserve(max_waiting + 1);
    latest_[nullptr] = 0;
    known.visit([this](const account& a) { latest_[&a] = 0; });
}

password_verifier::~password_verifier() {
    {
        const std::lock_guard lock{mutex_};
        ended_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void password_verifier::start() {
    thread_ = std::thread{[this] { work(); }};
}

password_verifier::group& password_verifier::group_of(const request& r) noexcept {
    const principal* const origin = r.login.origin.get();
    const account* const who = r.login.who;
    const auto found =
        std::ranges::find_if(groups_, [&](const group& g) { return g.origin == origin && g.who == who; });
    if (found != groups_.end()) return *found;
    return groups_.emplace_back(group{origin, who, 0});
}

/// Removes `r` from the list. `before` is the login before `r`; null if `r` is the first.
void password_verifier::unlink(request* before, request& r) noexcept {
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

/// Removes a login from the list, to make room for `r`, and returns that login. Returns null if the group of `r`,
/// including `r`, would be at least as large as every other group.
request* password_verifier::make_room(const request& r) noexcept {
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
    unlink(before_youngest, *youngest);
    return youngest;
}

void password_verifier::submit(request& r) noexcept {
    r.next = nullptr;
    request* away = nullptr;
    {
        const std::lock_guard lock{mutex_};
        if (waiting_ == max_waiting) {
            away = make_room(r);
            if (away == nullptr) away = &r;
        }
        if (away != &r) {
            ++waiting_;
            ++group_of(r).waiting;
            (last_ == nullptr ? first_ : last_->next) = &r;
            last_ = &r;
            changed_.notify_one();
        }
    }
    if (away == nullptr) return;
    away->login.state = login_claim::login_result::busy;
    away->complete();
}

bool password_verifier::is_before(const request& a, const request& b) const noexcept {
    const auto is_admin = [](const request& r) { return r.login.who != nullptr && r.login.who->configured.is_admin; };
    const bool turn_of_operators = check_number_ % 2 == 1;
    if (turn_of_operators && is_admin(a) != is_admin(b)) return is_admin(a);
    const auto origin = [](const request& r) { return r.login.origin == nullptr ? 0 : r.login.origin->latest_check; };
    if (origin(a) != origin(b)) return origin(a) < origin(b);
    return latest_.at(a.login.who) < latest_.at(b.login.who);
}

/// Removes and returns the login whose turn it is; among logins of equal rank, the oldest. REQUIRES: at least one login
/// waits.
request& password_verifier::pop_next() noexcept {
    ++check_number_;
    request *next = first_, *before_next = nullptr;
    for (request *before = first_, *w = first_->next; w != nullptr; before = w, w = w->next) {
        if (!is_before(*w, *next)) continue;
        next = w;
        before_next = before;
    }
    unlink(before_next, *next);
    if (next->login.origin != nullptr) next->login.origin->latest_check = check_number_;
    latest_.at(next->login.who) = check_number_;
    return *next;
}

void password_verifier::begin_drain() noexcept {
    const std::lock_guard lock{mutex_};
    draining_ = true;
}

void password_verifier::work() noexcept {
    ::pthread_setname_np(::pthread_self(), "tutti-password");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [this] { return first_ != nullptr || ended_; });
        if (first_ == nullptr) return;
        request& r = pop_next();
        const bool unseen = draining_ || r.is_client_gone.load(std::memory_order_relaxed);
        lock.unlock();
        if (unseen) r.login.state = login_claim::login_result::unchecked;
        else
            r.login.state = is_correct(r.login) ? login_claim::login_result::correct : login_claim::login_result::wrong;
        r.complete();
        lock.lock();
    }
}

bool password_verifier::is_correct(const login_claim& claim) const noexcept {
    const std::string& hash = claim.who != nullptr ? claim.who->configured.password : known_.decoy();
    try {
        const std::string phrase{claim.password};
        const auto memory = std::make_unique<crypt_data>();
        const char* const made = ::crypt_rn(phrase.c_str(), hash.c_str(), memory.get(), sizeof(crypt_data));
        // crypt ignores bytes after a zero byte, so a password that contains one is wrong.
        return made != nullptr && hash == made && claim.who != nullptr && phrase.find('\0') == std::string::npos;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace tutti::server
