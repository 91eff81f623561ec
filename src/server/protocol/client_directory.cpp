#include "server/protocol/client_directory.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "server/protocol/eviction.hpp"

namespace tutti::server {
namespace {

bool is_word(std::string_view s) noexcept {
    return s.size() <= 256 && std::ranges::all_of(s, [](char c) { return c > ' ' && c < 127; });
}

std::string seconds(instant from, instant to) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(to - from).count());
}

}  // namespace

client_directory::client_entry& client_directory::add(std::string address, instant now, client_owner& where) {
    const std::scoped_lock lock{mutex_};
    const std::uint64_t id = next_id_++;
    return all_.try_emplace(id, id, std::move(address), now, where).first->second;
}

void client_directory::remove(client_entry& e) noexcept {
    set_held(e, 0);
    const std::scoped_lock lock{mutex_};
    provisional_.erase(e.id());
    all_.erase(e.id());
}

bool client_directory::set_name(client_entry& e, std::string_view name) {
    if (!is_word(name)) return false;
    const std::scoped_lock lock{mutex_};
    e.name_ = name;
    return true;
}

bool client_directory::set_library(client_entry& e, std::string_view name) {
    if (!is_word(name)) return false;
    const std::scoped_lock lock{mutex_};
    e.library_ = name;
    return true;
}

bool client_directory::set_version(client_entry& e, std::string_view version) {
    if (!is_word(version)) return false;
    const std::scoped_lock lock{mutex_};
    e.version_ = version;
    return true;
}

std::string client_directory::name_of(const client_entry& e) const {
    const std::scoped_lock lock{mutex_};
    return e.name_;
}

std::string client_directory::described(const client_entry& e, instant now) {
    return "id=" + std::to_string(e.id_) + " addr=" + e.address_ + " name=" + e.name_ +
           " age=" + seconds(e.arrived_, now) + " idle=" + seconds(e.last_request_.load(), now) +
           // Client libraries also expect these fields, which have no meaning in this server.
           " db=0 sub=0 psub=0 multi=-1 qbuf=0 qbuf-free=0 argv-mem=0 obl=0 oll=0 omem=0 tot-mem=" +
           std::to_string(e.held()) + " lib-name=" + e.library_ + " lib-ver=" + e.version_ + "\n";
}

std::string client_directory::list(instant now) const {
    const std::scoped_lock lock{mutex_};
    std::string lines;
    for (const auto& [id, e] : all_) lines += described(e, now);
    return lines;
}

std::string client_directory::line_of(const client_entry& e, instant now) const {
    const std::scoped_lock lock{mutex_};
    return described(e, now);
}

void client_directory::mark(client_entry& e, client_entry::reason why) noexcept {
    e.close_reason_.store(why, std::memory_order_relaxed);
    e.is_killed_.store(true, std::memory_order_release);
    e.io_owner_.check_killed();
}

void client_directory::set_owner(client_entry& e, std::shared_ptr<principal> owner) {
    const std::scoped_lock lock{mutex_};
    e.owner_ = std::move(owner);
}

std::string client_directory::owner_of(const client_entry& e) const {
    const std::scoped_lock lock{mutex_};
    return e.owner_ == nullptr ? std::string{} : e.owner_->name();
}

void client_directory::set_held(client_entry& e, std::size_t bytes) noexcept {
    constexpr std::size_t grain = 1024;
    const std::size_t now = bytes / grain * grain, before = e.held_.load(std::memory_order_relaxed);
    if (now == before) return;
    e.held_.store(now, std::memory_order_relaxed);
    held_.fetch_add(now - before, std::memory_order_relaxed);  // wraps modulo 2^64, so the sum may also decrease
}

void client_directory::set_provisional(client_entry& e, provisional_state now) {
    const std::scoped_lock lock{mutex_};
    if (now == provisional_state::confirmed) provisional_.erase(e.id_);
    else provisional_.insert_or_assign(e.id_, &e);
    if (now == provisional_state::not_logged_in) e.origin_ = e.owner_;
    e.provisional_state_ = now;
}

bool client_directory::is_provisional(const client_entry& e) const {
    const std::scoped_lock lock{mutex_};
    return e.provisional_state_ != provisional_state::confirmed;
}

void client_directory::record_operator_login(client_entry& e) {
    const std::scoped_lock lock{mutex_};
    if (e.provisional_state_ == provisional_state::not_logged_in && !std::exchange(e.has_named_operator_, true))
        e.provisional_state_ = provisional_state::names_operator;
    else if (e.provisional_state_ == provisional_state::names_operator)
        e.provisional_state_ = provisional_state::not_logged_in;  // the client's first password was wrong
}

// There are at most as many provisional clients as reserved connections, plus those that are being closed. So O(n^2) is
// cheap. The list is in the order of arrival, so among equal clients the oldest is chosen.
bool client_directory::displace() noexcept {
    const std::scoped_lock lock{mutex_};
    client_entry* chosen = nullptr;
    std::ptrdiff_t most = 0;
    for (const auto& [id, e] : provisional_) {
        if (e->is_killed() || (chosen != nullptr && chosen->provisional_state_ < e->provisional_state_)) continue;
        const std::ptrdiff_t many = std::ranges::count_if(provisional_, [&](const auto& other) {
            return !other.second->is_killed() && other.second->origin_ == e->origin_ &&
                   other.second->provisional_state_ == e->provisional_state_;
        });
        if (chosen != nullptr && chosen->provisional_state_ == e->provisional_state_ && many <= most) continue;
        chosen = e;
        most = many;
    }
    if (chosen != nullptr) mark(*chosen, client_entry::reason::displaced);
    return chosen != nullptr;
}

std::size_t client_directory::evict(std::size_t limit) {
    const std::scoped_lock lock{mutex_};
    std::vector<client_memory> held;
    std::vector<client_entry*> whose;
    for (auto& [id, e] : all_) {
        if (e.is_killed() || e.held() == 0 || e.owner_ == nullptr) continue;
        held.push_back({e.held(), e.owner_.get()});
        whose.push_back(&e);
    }
    const std::vector<std::size_t> chosen = choose_evicted(held, limit);
    for (const std::size_t i : chosen) mark(*whose[i], client_entry::reason::memory);
    return chosen.size();
}

// An I/O thread removes its clients before it ends, and needs the mutex to remove them. So while this function holds
// the mutex, a client's I/O thread cannot end before this function has called its check_killed().
std::size_t client_directory::kill(const filter& which) {
    const std::scoped_lock lock{mutex_};
    std::size_t killed = 0;
    for (auto& [id, e] : all_) {
        if (&e == which.spared || (which.id && *which.id != id) || (which.address && *which.address != e.address_))
            continue;
        mark(e, client_entry::reason::killed);
        ++killed;
    }
    return killed;
}

}  // namespace tutti::server
