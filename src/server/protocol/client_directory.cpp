#include "server/protocol/client_directory.hpp"

#include <algorithm>
#include <utility>

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
    const std::scoped_lock lock{mutex_};
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
           // Libraries want these as well. Here they have no meaning.
           " db=0 sub=0 psub=0 multi=-1 qbuf=0 qbuf-free=0 argv-mem=0 obl=0 oll=0 omem=0 tot-mem=0" +
           " lib-name=" + e.library_ + " lib-ver=" + e.version_ + "\n";
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

// The mutex keeps the client's I/O thread from going before it has been told: a thread takes its clients out first.
std::size_t client_directory::kill(const filter& which) {
    const std::scoped_lock lock{mutex_};
    std::size_t killed = 0;
    for (auto& [id, e] : all_) {
        if (&e == which.spared || (which.id && *which.id != id) || (which.address && *which.address != e.address_))
            continue;
        e.killed_.store(true, std::memory_order_release);
        e.where_.look_for_killed();
        ++killed;
    }
    return killed;
}

}  // namespace tutti::server
