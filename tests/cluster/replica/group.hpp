// The members of a group, their disks and the network between them, in one thread, with injected faults.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/backend/group_engine.hpp"
#include "cluster/replica/history_checker.hpp"
#include "cluster/replica/raft_node.hpp"
#include "cluster/replica/simulated_io.hpp"

namespace tutti::cluster::replica::testing {

/// The prefix of an error that says that a group hangs.
inline constexpr const char* never_ends = "it does not end";

struct conditions {
    unsigned members = 3;
    instant network_delay = 5 * ms, disk_delay = 5 * ms;  ///< upper bounds in the usual case
    unsigned slow_of_100 = 2;  ///< percentage of messages that take up to fifty times as long
    unsigned lost_of_100 = 2;
    unsigned snapshot_threshold = 40, snapshot_trailing = 8;
    std::size_t message_bytes = 1u << 20;  ///< of entries
    history_window history;
    std::size_t max_erased = state_machine::default_max_erased;
};

struct question {
    enum kind : std::uint8_t { get, commit, prepare, finish, forget, list, changed, import_records } is = get;
    backend::blocking_transaction who{};  ///< for prepare and finish
    bool committed = false;               ///< for finish: commit or abort
    backend::read_snapshot of;
    backend::freshness how = backend::freshness::same;
    std::vector<backend::check> checks;
    std::vector<backend::write> writes;
    std::vector<backend::key> wanted;
    backend::slot_set slots{};    ///< for list and changed
    backend::list_cursor from{};  ///< for list
    std::vector<backend::change> imported{};
    backend::version absence = 0;  ///< of import_records
};

struct answer {
    reply result;
    backend::read_snapshot of;
    std::vector<backend::record> found;
    raft_id leader = 0;
    backend::list_cursor place{};  ///< for list; for changed: `over` and, as the version before the changes, `begun`
    std::vector<backend::change> listed{};
};

class group final : private network {
public:
    group(event_queue& events, history_checker& truth, conditions how);
    ~group() override;

    /// Sends a question over a network that loses and delays messages. A member that is down refuses it or does not
    /// answer.
    void ask(raft_id whom, question q, std::function<void(answer)> back);

    [[nodiscard]] std::vector<raft_id> members() const;  ///< members that should be in the group
    /// Returns true if the member is neither killed nor stopped.
    [[nodiscard]] bool runs(raft_id id) const;
    [[nodiscard]] bool has_process(raft_id id) const;
    [[nodiscard]] std::size_t down() const;
    /// Returns the member that runs and considers itself the leader, or 0.
    [[nodiscard]] raft_id leader() const;

    void kill(raft_id id);
    void restart(raft_id id);
    void stop(raft_id id, instant how_long);
    /// Makes a write fail. The simulation kills the member when it reports the failure.
    void break_disk(raft_id id);
    /// Drops messages between these members and all others, in both directions or in one.
    void cut_off(const std::set<raft_id>& those, bool one_way);
    void heal();
    /// Makes the member's clock jump, stop, or run at another speed until the group is mended.
    void upset_clock(raft_id id);
    /// Makes all clocks run at the same speed from their current values.
    void mend_clocks();
    /// Makes the leader ask another member to lead.
    void hand_over();
    /// Asks the leader for the members, because the requester of a change may not have learned that the change
    /// succeeded.
    void ask_who_is_in_it();
    /// Changes the membership through the current leader.
    void let_one_join();
    void let_one_leave(raft_id id);

    /// Returns an empty string if all members run, have applied everything and hold the same data. Otherwise returns
    /// the difference.
    [[nodiscard]] std::string compare();
    /// Returns the largest number of prepared transactions at any member.
    [[nodiscard]] std::size_t prepared() const;
    /// Returns the first error noticed during the run.
    [[nodiscard]] const std::string& wrong() const noexcept { return wrong_; }

    struct counts {
        std::size_t kills = 0, cuts = 0, stops = 0, joins = 0, leaves = 0, installs = 0, elections = 0,
                    broken_disks = 0, handed_over = 0, upset_clocks = 0;
        std::size_t cut = 0, held = 0;  // messages that lack the leader's last entries: with entries; without any
    };
    [[nodiscard]] counts happened() const noexcept { return counts_; }

private:
    struct node {
        raft_id id = 0;
        bool in_group = true;
        disk stored;
        std::unique_ptr<skewed_clock> clock;  // the clock of the member's host, which outlives the process
        std::unique_ptr<simulated_io> io;
        std::unique_ptr<raft_node> running;
        unsigned life = 0;  // number of the member's current process
        bool flush_planned = false;
        version place = 0;  // the last version that the member has reported to the history
    };

    bool send(raft_id from, raft_id to, parcel what) override;
    void note_size(const node& from, const parcel& what);
    void deliver(raft_id to, const parcel& what);
    /// Answers the questions list and changed.
    static void tell_records(const state_machine& of, raft_id self, const question& q, answer& a);
    void answer_question(node& n, question q, const std::function<void(answer)>& back);
    void plan_flush(node& n);
    void look_after(node& n, unsigned life);
    void start(node& n, bool first);
    void heard(node& n);
    [[nodiscard]] instant delay();
    [[nodiscard]] static std::string address(raft_id id) { return "member" + std::to_string(id); }

    event_queue& events_;
    history_checker& past_;
    const conditions how_;
    std::map<raft_id, node> nodes_;
    std::set<std::pair<raft_id, raft_id>> cut_;
    std::map<std::pair<raft_id, raft_id>, instant> last_;  // a connection delivers messages in order
    std::vector<std::pair<std::unique_ptr<raft_node>, std::unique_ptr<simulated_io>>> ending_;
    version reached_ = 1;  // the highest version of any member
    std::string wrong_;
    counts counts_;
};

}  // namespace tutti::cluster::replica::testing
