// Which groups keep the objects of a prefix, and in which order: a record in each of them says so. A program that knew
// of others, or of fewer, would look for an object where it is not.
//
//   11 12                          these two, since the prefix began
//   #2 11@1.2.3.4:7001 12- +13@…   the second change of that: the addresses of some of them; 12 has left; 13 has joined
//
// Changes are made in one group after the other, in the order of their numbers, and each counts one more: so of two
// records that differ the one that counts more is what the others will be.
//
// A group that joins has nothing at first, and one that leaves has nothing any more. The order stays, and no place in
// it is given to another.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/backend/group_engine.hpp"

namespace tutti::cluster::backend {

struct layout {
    struct entry {
        std::uint64_t number = 0;
        std::vector<std::string> addresses;  ///< may be none, of one that programs have to name
        bool joined = false, left = false;
    };
    std::uint64_t change = 0;
    std::vector<entry> all;

    /// Those that it began with.
    [[nodiscard]] std::size_t first() const noexcept;
    [[nodiscard]] entry* find(std::uint64_t number) noexcept;
    [[nodiscard]] std::string text() const;
    [[nodiscard]] static layout read(std::string_view text);
};

/// A group by what a layout says of it, or nothing. Throws refusal: it does not answer.
using opener = std::function<std::unique_ptr<group_engine>(const layout::entry&)>;

/// Brings them into the order that their records say, and opens those that are not named, or, where there are no
/// records yet, makes these, in the order in which the groups come. Throws refusal: they are other groups than those
/// that keep `prefix`, one is named twice, or does not answer.
layout settle_layout(std::vector<std::unique_ptr<group_engine>>& groups, const std::string& prefix,
                     const opener& open = {});
/// What that group says, or nothing: it does not answer now, or says nothing.
[[nodiscard]] layout look_up_layout(engine& at);
/// Has all of them, the addressed ones in the order of their numbers, say it. False: another change was first, or one
/// does not answer; then the same is to be tried again, with what they say now.
[[nodiscard]] bool change_layout(std::vector<group_engine*> groups, const layout& to);

}  // namespace tutti::cluster::backend
