// The group of each slot, as far as a program knows, and how the program learns about changes.
//
// A program's map may be outdated. Each get reads, and each commit checks, the group's records of the slots that it
// uses, in the same state of the group's log. So an outdated map only costs another question.
//
//   L1  A slot's record says the same for as long as its version stays the same. So a request that names the version is
//       answered by the group that has the slot.
//   L2  A *closed* slot is between two groups. Reads of a closed slot work, but checks and writes wait. If a slot has
//       been closed for `settling::grace`, by the program's clock, the mover counts as lost, and the program opens the
//       slot again. If the mover still runs, it tries the move again.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "cluster/backend/settling.hpp"

namespace tutti::cluster::backend {

class placing {
public:
    struct place {
        std::size_t part = 0;
        version at = 0;  ///< of that part's record of the slot
        bool closed = false;
        friend bool operator==(const place&, const place&) = default;
    };
    using map = std::vector<place>;  ///< by slots

    /// Makes the map of a prefix that began with the `first` parts. `know_more` adds groups that have joined to the
    /// parts.
    placing(const parts& all, settling& others, std::size_t first, std::function<void()> know_more);

    [[nodiscard]] std::shared_ptr<const map> now() const;
    [[nodiscard]] std::uint32_t slot_of(std::string_view k) const noexcept {
        return static_cast<std::uint32_t>(stable_hash(k) % slots_);
    }
    [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
    [[nodiscard]] std::size_t first() const noexcept { return first_; }

    enum class news : std::uint8_t { none, some, unreachable };
    /// Asks one part after the other until one has each slot. Returns `some` if the map differs from `known`.
    [[nodiscard]] news learn(std::span<const std::uint32_t> slots, const map& known);
    /// Asks those parts for the slots that they have. Returns `some` if this differs from the map.
    [[nodiscard]] news look_around(std::span<const std::size_t> among);
    /// Tries once to settle the slots that are closed in `known` (L2), and then learns their current state.
    void settle_closed(std::span<const std::uint32_t> slots, const map& known);
    /// Returns the part's records of the slots, or nothing if the part does not answer.
    [[nodiscard]] std::optional<std::vector<slot_record>> ask(std::size_t part, std::span<const std::uint32_t> slots);
    /// Returns true if the record says that the slot belongs to that part.
    [[nodiscard]] bool owns(std::size_t part, std::uint32_t slot, const slot_record& said) const noexcept {
        return said.is == slot_record::state::own || said.is == slot_record::state::closed ||
               (said.is == slot_record::state::unsaid && slot % first_ == part);
    }

private:
    [[nodiscard]] std::optional<std::size_t> part_of(std::uint64_t number);
    void set(const std::map<std::uint32_t, place>& found);

    const parts& parts_;
    settling& others_;
    const std::size_t first_;
    const std::uint32_t slots_;
    const std::function<void()> know_more_;
    mutable std::mutex guard_;
    std::shared_ptr<const map> map_;
    std::map<std::pair<std::uint32_t, version>, surroundings::clock::time_point> closed_since_;
};

}  // namespace tutti::cluster::backend
