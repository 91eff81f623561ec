#include "server/protocol/doorkeeper.hpp"

#include <crypt.h>
#include <pthread.h>
#include <signal.h>

#include <memory>
#include <new>
#include <utility>

namespace tutti::server {
namespace {

/// A hash takes some 15 ms, and a stranger stays for seconds.
constexpr std::size_t most_waiting = 256;

}  // namespace

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

void doorkeeper::ask(request& r) noexcept {
    r.next = nullptr;
    {
        const std::lock_guard lock{mutex_};
        if (waiting_ < most_waiting) {
            ++waiting_;
            (last_ == nullptr ? first_ : last_->next) = &r;
            last_ = &r;
            asked_.notify_one();
            return;
        }
    }
    r.login.state = login_claim::verdict::busy;
    r.give_back();
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
        request& r = *std::exchange(first_, first_->next);
        if (first_ == nullptr) last_ = nullptr;
        r.next = nullptr;
        --waiting_;
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
        // What stands behind a zero byte was not looked at.
        return made != nullptr && hash == made && claim.who != nullptr && phrase.find('\0') == std::string::npos;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace tutti::server
