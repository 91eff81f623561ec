// Where each member of the group is, by its id: the file `members` of a member's folder.
//
// The log names members with the addresses that they had when they joined, and C-Raft cannot change these. So the book
// goes before the log. It begins with what the log says, and changes in two ways:
//
//   A1  Each member says where it is when it calls another one (its hello). So a group learns of a member that has
//       moved when that member calls.
//   A2  Where no member can call any other, because all have moved, an operator changes the files while no member runs
//       (`tutti member readdress`).
//
// A member that has no entry for another one uses the address of the log. Both then lead to a member, or to none: the
// caller asks for an id (transport.hpp), so a wrong address costs time, and never safety.
//
// Thread safety: none; the loop's thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/replica/seat.hpp"

namespace tutti::cluster::replica {

class address_book {
public:
    /// Reads the file, if it is there. Throws backend::refusal for a file that no member has written.
    explicit address_book(const std::string& folder);

    /// Of a member that the log has at `logged`.
    [[nodiscard]] std::string of(std::uint64_t id, const std::string& logged) const {
        const auto known = all_.find(id);
        return known == all_.end() ? logged : known->second;
    }
    void enter(std::uint64_t id, const std::string& address) { all_[id] = address; }
    /// A1: of a member that the book has.
    void hear(std::uint64_t id, const std::string& address);
    /// The members of the group are these: those that are new are entered with the address of the log, and those that
    /// have left are taken out. Nothing, for a member that has not been let in yet.
    void settle(std::span<const seat::role> members);
    /// A2: each old address and its new one. Nothing is changed unless every old one is known. Throws backend::refusal.
    void move(std::span<const std::pair<std::string, std::string>> all);

    [[nodiscard]] const std::map<std::uint64_t, std::string>& all() const noexcept { return all_; }
    /// Is on the disk when it returns. Throws backend::refusal.
    void write() const;

private:
    /// What cannot be written is written with the next change, and asked for and heard of again after a start.
    void try_to_write() const;

    const std::string file_;
    std::map<std::uint64_t, std::string> all_;
};

}  // namespace tutti::cluster::replica
