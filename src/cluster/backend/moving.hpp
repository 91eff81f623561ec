// Slots go from one group to another while programs use them (docs/cluster-replication.md, "Objects move", has the
// states and the proof).
//
//   arriving  the group that is to have them says so, and takes copies, which it shows nobody
//   copies    of all that the other holds of them, and then of what is written meanwhile, until little is. What it
//             held of them before is cleared first: the other may have dropped erased records of those keys (B1)
//   closed    the group that has them takes nothing more for them; the last copies
//   own, gone the switch: one transaction of both groups. It checks that the other has dropped no erased records since
//             the last copies, so the version of keys without a record is not lower in the group that has them now
//   cleared   the group that had them forgets what it held
//
// A mover may be killed anywhere, and others may do the same at once: each step checks what the groups say of the
// slots, so of two movers of the same slots one gives up.
//
// Thread safety: one thread.
#pragma once

#include <functional>
#include <set>

#include "cluster/backend/crossing.hpp"
#include "cluster/backend/placing.hpp"

namespace tutti::cluster::backend {

class moving {
public:
    moving(const parts& all, placing& places, settling& others, crossing& both)
        : parts_{all}, places_{places}, others_{others}, both_{both} {}

    enum class end : std::uint8_t {
        moved,
        elsewhere,    ///< another does the same, or has done it: look anew
        unreachable,  ///< a group does not answer, or is too slow: the slots are where they were
    };
    /// REQUIRES: ascending, each once.
    [[nodiscard]] end move(const std::vector<std::uint32_t>& slots, std::size_t from, std::size_t to);
    /// Clears what a part holds of slots that it does not have, left by one that was killed. False: it does not answer.
    [[nodiscard]] bool clear(std::size_t part);

    /// Brings what a part has prepared, and one of those groups decides, to its end. False: one does not answer.
    [[nodiscard]] bool settle(std::size_t part, const std::set<std::uint64_t>& decided_by);

    struct counts {
        std::size_t copied = 0, again = 0, bytes = 0;  ///< records; of them, written while they were copied
    };
    [[nodiscard]] const counts& done() const noexcept { return counts_; }

private:
    using marks = std::vector<check>;  ///< what a part says of the slots
    /// What `part` says of them from now on, if it says what `was` says. `was` becomes that.
    [[nodiscard]] verdict say(std::size_t part, marks& was, const std::string& text);
    /// `arriving` is said anew where an answer was lost, so that copies which come late are refused.
    [[nodiscard]] verdict copy_all(const slot_set& which, std::size_t from, std::size_t to, marks& arriving,
                                   listing& place, bool is_empty);
    [[nodiscard]] verdict copy_changes(const slot_set& which, std::size_t from, std::size_t to, marks& arriving,
                                       listing& place, std::size_t& count);
    /// Where an answer is lost, `again` may change what `still` checks before the records are sent once more.
    [[nodiscard]] verdict adopt(std::size_t part, const marks& still, std::span<const change> records, version absence,
                                const std::function<verdict()>& again);
    [[nodiscard]] std::function<verdict()> arrive_again(std::size_t from, std::size_t to, marks& arriving);
    [[nodiscard]] verdict clear(std::size_t part, const slot_set& which, const marks& still,
                                const std::function<verdict()>& again);
    [[nodiscard]] bool look(std::size_t part, const std::vector<std::uint32_t>& slots, marks& now,
                            std::vector<slot_record>& said);
    [[nodiscard]] bool has_all(std::size_t part, const std::vector<std::uint32_t>& slots,
                               const std::vector<slot_record>& said) const;
    /// `absence`: of the group that has them, as `to` knows it.
    [[nodiscard]] verdict change_hands(std::size_t from, std::size_t to, const marks& closed, const marks& arriving,
                                       version absence);

    const parts& parts_;
    placing& places_;
    settling& others_;
    crossing& both_;
    counts counts_;
};

}  // namespace tutti::cluster::backend
