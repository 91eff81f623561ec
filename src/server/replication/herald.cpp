#include "server/replication/herald.hpp"

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

constexpr milliseconds first_pause{1'000}, longest_pause{30'000};

std::string address_of(const journal::former_leader& l) { return to_string(endpoint{l.host, l.port}); }

}  // namespace

std::uint64_t tell_term(link& other, std::uint64_t term, const std::string& own_address) {
    const std::string said = other.ask({"FOLLOW", "TERM", std::to_string(journal::stream_version), std::to_string(term),
                                        own_address.empty() ? "-" : own_address});
    constexpr std::string_view later = "LATER ";
    std::uint64_t theirs = 0;
    if (said.starts_with(later)) std::from_chars(said.data() + later.size(), said.data() + said.size(), theirs);
    return theirs;
}

void herald::start(std::string own_address) {
    own_address_ = std::move(own_address);
    if (waiting().empty()) return;
    stopping_ = false;
    thread_ = std::thread{[this] { work(); }};
}

void herald::stop() noexcept {
    {
        const std::scoped_lock lock{mutex_};
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

std::vector<journal::former_leader> herald::waiting() {
    std::vector<journal::former_leader> all;
    log_.with_file([&](journal::store& file) { all = file.former_leaders(); });
    return all;
}

bool herald::pause(milliseconds longest) {
    std::unique_lock lock{mutex_};
    return !changed_.wait_for(lock, longest, [this] { return stopping_.load(); });
}

void herald::work() {
    ::pthread_setname_np(::pthread_self(), "tutti-herald");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    milliseconds rest = first_pause;
    for (bool goes_on = true; goes_on; rest = std::min(2 * rest, longest_pause)) {
        try {
            const std::vector<journal::former_leader> left = waiting();
            if (left.empty()) return;
            for (const journal::former_leader& l : left) {
                if (!stopping_) tell(l);
            }
        } catch (const std::exception&) {
            // The log cannot be read or written now, which the journal has reported. The next round tries again.
        }
        goes_on = pause(rest);
    }
}

void herald::note_failure(const std::string& address, const std::string& why, bool is_refused) {
    std::string& known = failures_[address];
    if (known == why) return;
    known = why;
    log_.tell(is_refused, "the former leader " + address + " cannot be told that it leads no more: " + why);
}

void herald::tell(const journal::former_leader& whom) {
    const std::string address = address_of(whom);
    leader_settings there{.host = whom.host,
                          .port = whom.port,
                          .user = whom.user,
                          .password = how_.follow.password,
                          .tls_authority = whom.tls_authority};
    if (!how_.follow.user.empty()) there.user = how_.follow.user;
    if (!how_.follow.tls_authority.empty()) there.tls_authority = how_.follow.tls_authority;
    std::uint64_t term = 0, theirs = 0;
    log_.with_file([&](journal::store& file) { term = file.latest_term(); });
    try {
        link other{there, how_.tls, stopping_, how_.replication_password};
        theirs = tell_term(other, term, own_address_);
    } catch (const refused_by_leader& e) {
        return note_failure(address, e.what(), true);
    } catch (const std::exception& e) {
        return note_failure(address, e.what(), false);  // usually it is down, which is why this server was promoted
    }
    log_.with_file([&](journal::store& file) { file.forget_former_leader(whom.host, whom.port); });
    if (theirs != 0) return log_.others().hear(theirs, "the server at " + address);
    log_.tell(false, "the former leader " + address + " knows that it leads no more");
}

}  // namespace tutti::server
