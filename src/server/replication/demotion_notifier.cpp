#include "server/replication/demotion_notifier.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "server/journal/stream.hpp"
#include "tutti/server/endpoint.hpp"

namespace tutti::server {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{1'000}, max_pause{30'000};

std::string address_of(const journal::former_leader& l) { return to_string(endpoint{l.host, l.port}); }

}  // namespace

std::uint64_t announce_term(leader_connection& other, std::uint64_t term, const std::string& own_address) {
    const std::string said = other.execute({"FOLLOW", "TERM", std::to_string(journal::stream_version),
                                            std::to_string(term), own_address.empty() ? "-" : own_address});
    constexpr std::string_view later = "LATER ";
    std::uint64_t theirs = 0;
    if (said.starts_with(later)) std::from_chars(said.data() + later.size(), said.data() + said.size(), theirs);
    return theirs;
}

void demotion_notifier::start(std::string own_address) {
    own_address_ = std::move(own_address);
    if (unnotified().empty()) return;
    stopping_ = false;
    thread_ = std::thread{[this] { work(); }};
}

void demotion_notifier::stop() noexcept {
    {
        const std::scoped_lock lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

std::vector<journal::former_leader> demotion_notifier::unnotified() {
    std::vector<journal::former_leader> all;
    log_.with_file([&](journal::log_store& file) { all = file.former_leaders(); });
    return all;
}

bool demotion_notifier::pause(milliseconds time_limit) {
    std::unique_lock lock{mutex_};
    return !changed_.wait_for(lock, time_limit, [this] { return stopping_.load(); });
}

void demotion_notifier::work() {
    ::pthread_setname_np(::pthread_self(), "tutti-demotion");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    milliseconds rest = first_pause;
    for (bool continues = true; continues; rest = std::min(2 * rest, max_pause)) {
        try {
            const std::vector<journal::former_leader> left = unnotified();
            if (left.empty()) return;
            for (const journal::former_leader& l : left) {
                if (!stopping_) notify(l);
            }
        } catch (const std::exception&) {
            // The log cannot be read or written now. The journal has already reported this, and the next round tries
            // again.
        }
        continues = pause(rest);
    }
}

void demotion_notifier::record_failure(const std::string& address, const std::string& why, bool is_refused) {
    std::string& known = failures_[address];
    if (known == why) return;
    known = why;
    log_.log(is_refused, "the former leader " + address + " could not be notified that it no longer leads: " + why);
}

void demotion_notifier::notify(const journal::former_leader& whom) {
    const std::string address = address_of(whom);
    leader_settings there{.host = whom.host,
                          .port = whom.port,
                          .user = whom.user,
                          .password = how_.follow.password,
                          .tls_authority = whom.tls_authority};
    if (!how_.follow.user.empty()) there.user = how_.follow.user;
    if (!how_.follow.tls_authority.empty()) there.tls_authority = how_.follow.tls_authority;
    std::uint64_t term = 0, theirs = 0;
    log_.with_file([&](journal::log_store& file) { term = file.latest_term(); });
    try {
        leader_connection other{there, how_.tls, stopping_, how_.replication_password};
        theirs = announce_term(other, term, own_address_);
    } catch (const leader_refusal_error& e) {
        return record_failure(address, e.what(), true);
    } catch (const std::exception& e) {
        return record_failure(address, e.what(), false);  // the former leader is probably still down
    }
    log_.with_file([&](journal::log_store& file) { file.forget_former_leader(whom.host, whom.port); });
    if (theirs != 0) return log_.followers().handle_announced_term(theirs, "the server at " + address);
    log_.log(false, "the former leader " + address + " knows that it no longer leads");
}

}  // namespace tutti::server
