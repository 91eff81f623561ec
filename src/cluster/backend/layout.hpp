// The groups that keep the objects of a prefix, and their order. A record in each of these groups holds the layout. The
// record is needed because a program with another list of groups would search for objects in the wrong groups.
//
//   11 12                          these two, since the prefix began
//   #2 11@1.2.3.4:7001 12- +13@…   the second change: addresses of some of them; 12 has left; 13 has joined
//
// A change is made in one group after the other, in the order of their numbers, and increases the change count. So if
// two records differ, the record with the higher count is the one that all groups will receive.
//
// A group that joins has no objects at first, and a group that leaves has no objects any more. The order never changes,
// and the place of a group that has left is not used again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/backend/group_engine.hpp"

namespace tutti::cluster::backend {

struct layout {
    struct group_entry {
        std::uint64_t number = 0;
        std::vector<std::string> addresses;  ///< if empty, programs have to name the group themselves
        bool joined = false, left = false;
    };
    std::uint64_t change_count = 0;
    std::vector<group_entry> groups;

    /// Returns the number of groups that the prefix began with.
    [[nodiscard]] std::size_t initial_group_count() const noexcept;
    [[nodiscard]] group_entry* find(std::uint64_t number) noexcept;
    [[nodiscard]] std::string text() const;
    [[nodiscard]] static layout parse(std::string_view text);
};

/// Opens a group by its entry in a layout, or returns null. Throws engine_error if the group does not answer.
using group_opener = std::function<std::unique_ptr<group_engine>(const layout::group_entry&)>;

/// Sorts the groups into the order of their records, and opens groups of the layout that are not named. If there are no
/// records yet, writes them, in the order of `groups`. Throws engine_error if other groups keep `prefix`, a group is
/// named twice, or a group does not answer.
layout agree_on_layout(std::vector<std::unique_ptr<group_engine>>& groups, const std::string& prefix,
                       const group_opener& open = {});
/// Returns the layout in the record of the group `at`. Returns an empty layout if the group does not answer, or has no
/// record.
[[nodiscard]] layout read_layout(engine& at);
/// Writes the layout to all of `groups`, in the order of their numbers. Returns false if another change was first, or a
/// group does not answer. In this case, a new try must begin with the layout that the groups have by then.
[[nodiscard]] bool write_layout(std::vector<group_engine*> groups, const layout& to);

}  // namespace tutti::cluster::backend
