// Slots: objects of a prefix move from group to group in units of slots. The hash of a key determines its slot. The
// number of slots is a multiple of the number of groups that the prefix began with. So as long as no slot has moved,
// the hash alone determines a slot's group. Earlier releases, without slots, put the objects into the same groups.
//
// A group keeps the state of a slot as a record in its log, like the objects (docs/cluster-replication.md, "Objects
// move").
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fnv1a.hpp"
#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

/// Returns the hash of a key: FNV-1a, followed by the final mixing step of MurmurHash3. The mixing step makes all bits
/// of the hash depend on each byte of the key. The hash function must never change, because the places of objects
/// depend on it.
[[nodiscard]] inline std::uint64_t stable_hash(std::string_view k) noexcept {
    std::uint64_t h = base::fnv1a(k);
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdULL;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
}

/// Returns the number of slots of a prefix that began with `groups` groups: 256, or the next multiple of `groups`.
[[nodiscard]] constexpr std::size_t slots_for(std::size_t groups) noexcept {
    constexpr std::size_t min_slots = 256;
    return (min_slots + groups - 1) / groups * groups;
}

/// A set of slots. A slot contains objects, leases and commit records. A group's other records belong to no slot, and
/// never move.
struct slot_set {
    std::uint32_t slot_count = 1;
    std::vector<std::uint32_t> slots;  ///< ascending
    [[nodiscard]] bool has(std::string_view k) const noexcept {
        if (!k.starts_with('o') && !k.starts_with('l') && !k.starts_with('m')) return false;
        return std::ranges::binary_search(slots, static_cast<std::uint32_t>(stable_hash(k) % slot_count));
    }
};

/// The state of a slot according to a group's record.
struct slot_record {
    enum class state : std::uint8_t {
        unset,          ///< no record: the group owns the slot if the group owned it when the prefix began
        owned,          ///< the group owns the slot
        write_blocked,  ///< the group owns the slot, but allows no writes while the slot moves to `other`
        importing,      ///< copies of the slot arrive from `other`
        moved,          ///< `other` has the slot
    } is = state::unset;
    std::uint64_t other = 0;  ///< a group's number
    version at = 0;

    static constexpr std::string_view names[]{"", "own", "closed", "arriving", "gone"};
    [[nodiscard]] static key key_of(std::size_t slot) { return "p" + std::to_string(slot); }
    [[nodiscard]] static std::string text(state is, std::uint64_t other = 0) {
        return std::string{names[static_cast<std::size_t>(is)]} + (other == 0 ? "" : " " + std::to_string(other));
    }
    [[nodiscard]] static slot_record parse(const record& r) {
        slot_record s{state::unset, 0, r.at};
        const std::string_view all{r.bytes};
        const std::size_t space = std::min(all.find(' '), all.size());
        const auto* const name = std::ranges::find(names, all.substr(0, space));
        if (r.exists && name != std::end(names)) s.is = static_cast<state>(name - std::begin(names));
        if (space < all.size()) std::from_chars(all.data() + space + 1, all.data() + all.size(), s.other);
        return s;
    }
};

}  // namespace tutti::cluster::backend
