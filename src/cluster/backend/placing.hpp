// Which group has which slot, as far as a program knows, and how it learns that it does not know it any more.
//
// A program's map is a guess. Each get reads, and each commit checks, what the group says of the slots that it is asked
// for, in the same state of its log: so a guess that was wrong costs another question, and no more.
//
//   L1  the record of a slot says the same for as long as its version does. So what is asked under a version is asked
//       of the group that has the slot
//   L2  a slot that is *closed* is between two groups: it can be read, and what would check or write something of it
//       waits. If that has lasted for `settling::grace`, by the program's clock, the mover is taken for gone,
//       and the program opens it again; if that was a wrong guess, the move is tried again
//
// Thread safety: every member.
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
        version at = 0;  ///< of what that part says of the slot
        bool closed = false;
        friend bool operator==(const place&, const place&) = default;
    };
    using map = std::vector<place>;  ///< by slots

    /// Of a prefix that began with the `first` of them. `know_more` has groups that have joined be among them.
    placing(const parts& all, settling& others, std::size_t first, std::function<void()> know_more);

    [[nodiscard]] std::shared_ptr<const map> now() const;
    [[nodiscard]] std::uint32_t slot_of(std::string_view k) const noexcept {
        return static_cast<std::uint32_t>(stable_hash(k) % slots_);
    }
    [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
    [[nodiscard]] std::size_t first() const noexcept { return first_; }

    enum class news : std::uint8_t { none, some, unreachable };
    /// Asks one part after the other until one says that it has them; some: it is not as in `known`.
    [[nodiscard]] news learn(std::span<const std::uint32_t> slots, const map& known);
    /// Asks those parts which slots they have; some: it is not as it was known.
    [[nodiscard]] news look_around(std::span<const std::size_t> among);
    /// L2, of those that are closed in `known`, once: what can be done about it, and what they are then.
    void settle_closed(std::span<const std::uint32_t> slots, const map& known);
    /// What a part says of slots; nothing: it does not answer.
    [[nodiscard]] std::optional<std::vector<slot_record>> ask(std::size_t part, std::span<const std::uint32_t> slots);
    /// The slot is its own, by what it says.
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
