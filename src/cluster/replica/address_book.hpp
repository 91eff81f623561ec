// The address of each member of the group, by its id: the file `members` of a member's folder.
//
// The log names members with the addresses that they had when they joined, and C-Raft cannot change these. So the book
// has precedence over the log. The book begins with the addresses of the log, and changes in two ways:
//
//   ADB1  Each member sends its address when it calls another one (its hello). So a group learns the new address of a
//         member when that member connects.
//   ADB2  If all members have new addresses, no member can call another one. Then an operator changes the files while
//         no member runs (`tutti member readdress`).
//
// A member whose book lacks another member uses the address of the log. A wrong address costs time, but is always safe,
// because the caller names the id of the member that it wants (transport.hpp).
//
// Not thread-safe: the book belongs to the loop's thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/replica/raft_node.hpp"

namespace tutti::cluster::replica {

class address_book {
public:
    /// Reads the file if it exists. Throws backend::engine_error for a file that no member has written.
    explicit address_book(const std::string& folder);

    /// Returns the address of a member whose address in the log is `logged`.
    [[nodiscard]] std::string of(std::uint64_t id, const std::string& logged) const {
        const auto known = all_.find(id);
        return known == all_.end() ? logged : known->second;
    }
    void add(std::uint64_t id, const std::string& address) { all_[id] = address; }
    /// Updates the address of a member that is in the book (ADB1).
    void update(std::uint64_t id, const std::string& address);
    /// Makes the book match the group's members. Adds new members with the address of the log, and removes members that
    /// have left. Does nothing for a member that has not been admitted yet.
    void match_members(std::span<const raft_node::role> members);
    /// Replaces each old address by its new one (ADB2). Changes nothing unless every old address is known. Throws
    /// backend::engine_error.
    void move(std::span<const std::pair<std::string, std::string>> all);

    [[nodiscard]] const std::map<std::uint64_t, std::string>& all() const noexcept { return all_; }
    /// Writes the file. The file is on the disk when this function returns. Throws backend::engine_error.
    void write() const;

private:
    /// Writes the file if possible. Otherwise the next change writes the file, and the member learns the addresses
    /// again after a start.
    void try_to_write() const;

    const std::string file_;
    std::map<std::uint64_t, std::string> all_;
};

}  // namespace tutti::cluster::replica
