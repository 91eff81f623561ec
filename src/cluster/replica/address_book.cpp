#include "cluster/replica/address_book.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

#include "cluster/backend/backend.hpp"
#include "cluster/backend/member_address.hpp"
#include "cluster/replica/data_directory.hpp"

namespace tutti::cluster::replica {
namespace {

constexpr const char* first_line = "tutti members 1";

}  // namespace

address_book::address_book(const std::string& folder) : file_{folder + "/members"} {
    std::ifstream in{file_};
    if (!in) return;
    std::string line, address;
    std::getline(in, line);
    bool good = line == first_line;
    for (std::uint64_t id = 0; in >> id >> address;) {
        std::string host;
        int port = 0;
        good = good && id != 0 && backend::group::parse_member_address(address, host, port, true);
        all_[id] = address;
    }
    if (!good || !in.eof()) {
        throw backend::engine_error{file_ +
                                    " was not written by this release: remove it, and the member uses the "
                                    "addresses of its log"};
    }
}

void address_book::update(std::uint64_t id, const std::string& address) {
    const auto known = all_.find(id);
    std::string host;
    int port = 0;
    if (known == all_.end() || known->second == address) return;
    if (!backend::group::parse_member_address(address, host, port, true)) return;
    known->second = address;
    try_to_write();
}

void address_book::match_members(std::span<const raft_node::role> members) {
    if (members.empty()) return;
    bool changed = std::erase_if(all_, [&](const auto& one) {
                       return std::ranges::find(members, one.first,
                                                [](const raft_node::role& r) { return r.who.id; }) == members.end();
                   }) != 0;
    for (const raft_node::role& r : members) changed |= all_.try_emplace(r.who.id, r.who.address).second;
    if (changed) try_to_write();
}

void address_book::move(std::span<const std::pair<std::string, std::string>> all) {
    std::map<std::uint64_t, std::string> moved = all_;
    for (const auto& [from, to] : all) {
        backend::group::check_member_address(to, true);
        const auto known = std::ranges::find(all_, from, [](const auto& one) { return one.second; });
        if (known == all_.end()) {
            std::string listed;
            for (const auto& [id, address] : all_) listed += (listed.empty() ? "" : ", ") + address;
            throw backend::engine_error{file_ + " has no member at " + from +
                                        (listed.empty()
                                             ? ": it is empty, because no member of this release has run there"
                                             : "; the members are at " + listed)};
        }
        moved[known->first] = to;
    }
    for (const auto& [id, address] : moved) {
        if (std::ranges::count(moved, address, [](const auto& one) { return one.second; }) > 1)
            throw backend::engine_error{"two members would have the address " + address + ": nothing was changed"};
    }
    all_ = std::move(moved);
}

void address_book::write() const {
    std::string text = std::string{first_line} + "\n";
    for (const auto& [id, address] : all_) text += std::to_string(id) + " " + address + "\n";
    replace_file(file_, text);
}

void address_book::try_to_write() const {
    try {
        write();
    } catch (const backend::engine_error&) {  // a failing disk ends the member at the next entry of its log
    }
}

}  // namespace tutti::cluster::replica
