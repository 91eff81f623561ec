// How a process takes the place of a node that has gone, and the others let it in: docs/cluster-protocol.md, "When a
// node comes back".
//
//   gather ──▶ all others, again and again, until each has noticed that the former process is gone, and has no ties to
//   it; then each says what it knows of objects (survey). Of an object that somebody has the process knows enough. Of
//   one that all others only have pointers to it asks again: it was on its way, or has ended with the former process.
//   Then it knows what has its home there and lives on, and tells the others (opened), which ask it from then on
//   (admitted).
//
// Invariants:
//   B1  Until it has all surveys, nobody asks it for anything; and it asks nobody before that one has admitted it.
//   B2  A node that gives a survey has lost the former process, and has no ties to it any more; nor is it connected
//       with a former process of any other node that comes back.
//   B3  The version of its return is higher than whatever the clock of any other node said at its survey.
//   B4  Names of its transactions and holds are higher than those of every former process.
//   B5  A node that gives a survey of a second round, or a later one, has brought to their ends the commits that it had
//       begun before that round.
//
// Thread safety: every member.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "cluster/protocol/network.hpp"
#include "cluster/protocol/site.hpp"

namespace tutti::cluster {

/// How a node reaches the others while it is not let in.
class gate : public speaker {
public:
    /// The process of that node that this one is connected with; 0: none.
    [[nodiscard]] virtual std::uint64_t process_of(node_number n) = 0;
};

class admission {
public:
    admission(site& here, gate& others) noexcept : site_{here}, gate_{others} {}

    /// Of a new process, whose cluster has begun: before it may ask anybody. Which of the others serve by now: a
    /// process that is about to come back itself knows nothing that would be lost with it.
    void begin(const std::vector<bool>& serving);
    /// Says again what has had no answer. REQUIRES: begin.
    void repeat();
    /// Returns once it is over, one has gone too early, another round has begun, or that time has come.
    /// @returns whether another round has begun since the latest call
    [[nodiscard]] bool await(base::deadline until);
    /// Whether all others have let it in, but for those that have gone meanwhile.
    [[nodiscard]] bool over();
    /// One that went before it had said what it knows: so this process has to go, and begin again.
    [[nodiscard]] std::optional<node_number> gone();
    /// Of its return: what former processes with its number owned has ended with it. 0: it has not been so far.
    [[nodiscard]] std::uint64_t version();
    /// Of those that it still waits for: some have not said yet what they know.
    [[nodiscard]] std::vector<node_number> awaited();

    /// A message about a return. False: it makes no sense. REQUIRES: site::hear.
    [[nodiscard]] bool hear(const wire::header& h, std::string_view body);
    /// Any other message of a node that is lost here. False: it has no right to say that.
    [[nodiscard]] bool hear_other(node_number from);
    /// REQUIRES: the site has lost it.
    void lose(node_number node);

private:
    static constexpr unsigned bits_of_name = 40;
    static constexpr std::uint64_t most_eras = ~std::uint64_t{0} >> (bits_of_name + 1);

    /// Parts of one list of another node.
    struct incoming {
        std::uint64_t of = 0;  ///< number of the survey, or era
        std::uint32_t parts = 0;
        std::vector<bool> came;
        std::vector<wire::place> places;
    };
    struct other {
        incoming list;
        bool is_gone = false;       ///< while this process was about to come back
        bool has_served = false;    ///< when that began
        bool has_said = false;      ///< all that it knows, in this round
        bool has_admitted = false;  ///< this process
        bool serves = false;
        std::uint64_t asked_again = 0;  ///< the latest round of its gathers, from the second on
        std::uint64_t turn = 0;         ///< of the commits here that had begun by then
        std::uint64_t era = 0;          ///< of the latest process that has come back with that number
    };

    [[nodiscard]] bool hear_gather(node_number from, const wire::gather& asked);
    [[nodiscard]] bool hear_survey(node_number from, wire::survey&& told);
    [[nodiscard]] bool hear_opened(node_number from, wire::opened&& told);
    [[nodiscard]] bool hear_admitted(node_number from, const wire::admitted& told);
    void settle();
    void open();
    void admit_if_both(node_number n);
    [[nodiscard]] bool is_awaited(node_number n) const noexcept;
    [[nodiscard]] bool is_over() const noexcept;
    /// Whether it is all there now.
    [[nodiscard]] static bool add(incoming& to, std::uint64_t of, wire::part_of_list&& list);
    /// In as many messages as it takes.
    template <class Message>
    void say(node_number to, wire::kind kind, Message what, const std::vector<wire::place>& all);
    [[nodiscard]] bool joins() const noexcept { return joining_ && !opened_; }

    site& site_;
    gate& gate_;
    std::mutex guard_;
    std::condition_variable changed_;  ///< what `await` looks at
    bool joining_ = false;             ///< this process comes back
    bool opened_ = false;
    std::uint64_t round_ = 1;
    std::uint64_t awaited_round_ = 1;  ///< when `await` returned last
    std::uint64_t era_ = 0;            ///< above those of all that had come back before; 0: it was there at the start
    std::uint64_t version_ = 0;        ///< of the return
    std::uint64_t surveys_ = 0;        ///< that this node has given
    std::optional<node_number> gone_;
    std::array<other, most_nodes> others_;
    struct whereabouts {
        wire::place latest;
        bool settled = false;
        bool ended = false;  ///< with the former process
    };
    std::unordered_map<object_id, whereabouts, object_id_hash> known_;
    std::vector<std::vector<wire::place>> of_homes_;  ///< what each other node is told
};

}  // namespace tutti::cluster
