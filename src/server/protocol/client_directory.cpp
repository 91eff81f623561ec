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

client_directory::entry& client_directory::add(std::string address, instant now, home& where) {
    const std::scoped_lock lock{mutex_};
    const std::uint64_t id = next_id_++;
    return all_.try_emplace(id, id, std::move(address), now, where).first->second;
}

void client_directory::remove(entry& e) noexcept {
    set_held(e, 0);
    const std::scoped_lock lock{mutex_};
    provisional_.erase(e.id());
    all_.erase(e.id());
}

bool client_directory::set_name(entry& e, std::string_view name) {
    if (!is_word(name)) return false;
    const std::scoped_lock lock{mutex_};
    e.name_ = name;
    return true;
}

bool client_directory::set_library(entry& e, std::string_view name) {
    if (!is_word(name)) return false;
    const std::scoped_lock lock{mutex_};
    e.library_ = name;
    return true;
}

bool client_directory::set_version(entry& e, std::string_view version) {
    if (!is_word(version)) return false;
    const std::scoped_lock lock{mutex_};
    e.version_ = version;
    return true;
}

std::string client_directory::name_of(const entry& e) const {
    const std::scoped_lock lock{mutex_};
    return e.name_;
}

std::string client_directory::described(const entry& e, instant now) {
    return "id=" + std::to_string(e.id_) + " addr=" + e.address_ + " name=" + e.name_ +
           " age=" + seconds(e.arrived_, now) + " idle=" + seconds(e.last_request_.load(), now) +
           // Libraries expect these fields as well. Here they have no meaning.
           " db=0 sub=0 psub=0 multi=-1 qbuf=0 qbuf-free=0 argv-mem=0 obl=0 oll=0 omem=0 tot-mem=" +
           std::to_string(e.held()) + " lib-name=" + e.library_ + " lib-ver=" + e.version_ + "\n";
}

std::string client_directory::list(instant now) const {
    const std::scoped_lock lock{mutex_};
    std::string lines;
    for (const auto& [id, e] : all_) lines += described(e, now);
    return lines;
}

std::string client_directory::line_of(const entry& e, instant now) const {
    const std::scoped_lock lock{mutex_};
    return described(e, now);
}

void client_directory::mark(entry& e, entry::reason why) noexcept {
    e.why_.store(why, std::memory_order_relaxed);
    e.killed_.store(true, std::memory_order_release);
    e.where_.look_for_killed();
}

void client_directory::set_owner(entry& e, std::shared_ptr<principal> owner) {
    const std::scoped_lock lock{mutex_};
    e.owner_ = std::move(owner);
}

std::string client_directory::owner_of(const entry& e) const {
    const std::scoped_lock lock{mutex_};
    return e.owner_ == nullptr ? std::string{} : e.owner_->name();
}

void client_directory::set_held(entry& e, std::size_t bytes) noexcept {
    constexpr std::size_t grain = 1024;
    const std::size_t now = bytes / grain * grain, before = e.held_.load(std::memory_order_relaxed);
    if (now == before) return;
    e.held_.store(now, std::memory_order_relaxed);
    held_.fetch_add(now - before, std::memory_order_relaxed);  // modulo 2^64, so the sum may decrease
}

void client_directory::set_provisional(entry& e, standing now) {
    const std::scoped_lock lock{mutex_};
    if (now == standing::settled) provisional_.erase(e.id_);
    else provisional_.insert_or_assign(e.id_, &e);
    if (now == standing::unknown) e.origin_ = e.owner_;
    e.standing_ = now;
}

bool client_directory::is_provisional(const entry& e) const {
    const std::scoped_lock lock{mutex_};
    return e.standing_ != standing::settled;
}

void client_directory::name_operator(entry& e) {
    const std::scoped_lock lock{mutex_};
    if (e.standing_ == standing::unknown && !std::exchange(e.has_named_operator_, true))
        e.standing_ = standing::names_operator;
    else if (e.standing_ == standing::names_operator) e.standing_ = standing::unknown;  // its first password was wrong
}

// There are as many provisional clients as reserved places, plus those that are being closed. So O(n^2) is cheap. They
// are in the order of arrival, so among equals the first is chosen.
bool client_directory::displace() noexcept {
    const std::scoped_lock lock{mutex_};
    entry* chosen = nullptr;
    std::ptrdiff_t most = 0;
    for (const auto& [id, e] : provisional_) {
        if (e->killed() || (chosen != nullptr && chosen->standing_ < e->standing_)) continue;
        const std::ptrdiff_t many = std::ranges::count_if(provisional_, [&](const auto& other) {
            return !other.second->killed() && other.second->origin_ == e->origin_ &&
                   other.second->standing_ == e->standing_;
        });
        if (chosen != nullptr && chosen->standing_ == e->standing_ && many <= most) continue;
        chosen = e;
        most = many;
    }
    if (chosen != nullptr) mark(*chosen, entry::reason::displaced);
    return chosen != nullptr;
}

std::size_t client_directory::evict(std::size_t most) {
    const std::scoped_lock lock{mutex_};
    std::vector<holding> held;
    std::vector<entry*> whose;
    for (auto& [id, e] : all_) {
        if (e.killed() || e.held() == 0 || e.owner_ == nullptr) continue;
        held.push_back({e.held(), e.owner_.get()});
        whose.push_back(&e);
    }
    const std::vector<std::size_t> chosen = choose_evicted(held, most);
    for (const std::size_t i : chosen) mark(*whose[i], entry::reason::memory);
    return chosen.size();
}

// The mutex keeps the client's I/O thread from ending before it gets the message: that thread removes its clients
// first.
std::size_t client_directory::kill(const filter& which) {
    const std::scoped_lock lock{mutex_};
    std::size_t killed = 0;
    for (auto& [id, e] : all_) {
        if (&e == which.spared || (which.id && *which.id != id) || (which.address && *which.address != e.address_))
            continue;
        mark(e, entry::reason::killed);
        ++killed;
    }
    return killed;
}

}  // namespace tutti::server
