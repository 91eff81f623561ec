// The members of a group, their disks and the network between them, in one thread; and what goes wrong with them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/backend/group_engine.hpp"
#include "cluster/replica/past.hpp"
#include "cluster/replica/seat.hpp"
#include "cluster/replica/simulated_io.hpp"

namespace tutti::cluster::replica::testing {

/// What says that a group stands still begins so.
inline constexpr const char* never_ends = "it does not end";

struct conditions {
    unsigned members = 3;
    instant network_delay = 5 * ms, disk_delay = 5 * ms;  ///< at most, usually
    unsigned slow_of_100 = 2;                             ///< messages that take up to fifty times as long
    unsigned lost_of_100 = 2;
    unsigned snapshot_threshold = 40, snapshot_trailing = 8;
    std::size_t message_bytes = 1u << 20;  ///< of entries
    window history;
    std::size_t most_erased = machine::default_most_erased;
};

struct question {
    enum kind : std::uint8_t { get, commit, prepare, finish, forget, list, changed, adopt } is = get;
    backend::holder who{};   ///< of prepare and finish
    bool committed = false;  ///< of finish: it is to be written
    backend::snapshot of;
    backend::freshness how = backend::freshness::same;
    std::vector<backend::check> checks;
    std::vector<backend::write> writes;
    std::vector<backend::key> wanted;
    backend::slot_set slots{};  ///< of list and changed
    backend::listing from{};    ///< of list
    std::vector<backend::change> adopted{};
    backend::version absence = 0;  ///< of adopt
};

struct answer {
    reply said;
    backend::snapshot of;
    std::vector<backend::record> found;
    raft_id leader = 0;
    backend::listing place{};  ///< of list; of changed, `over` and, as the version that comes before, `begun`
    std::vector<backend::change> listed{};
};

class group final : private network {
public:
    group(agenda& events, past& truth, conditions how);
    ~group() override;

    /// Over a network that loses and delays; a member that is not there refuses, or says nothing.
    void ask(raft_id whom, question q, std::function<void(answer)> back);

    [[nodiscard]] std::vector<raft_id> members() const;  ///< that are meant to be in it
    /// Not killed, and not stopped.
    [[nodiscard]] bool runs(raft_id id) const;
    [[nodiscard]] bool has_process(raft_id id) const;
    [[nodiscard]] std::size_t down() const;
    /// 0: nobody that runs believes it.
    [[nodiscard]] raft_id leader() const;

    void kill(raft_id id);
    void restart(raft_id id);
    void stop(raft_id id, instant how_long);
    /// A write fails; whoever runs it kills it when it says so.
    void break_disk(raft_id id);
    /// Messages between those and all others are lost, or those in one direction.
    void cut_off(const std::set<raft_id>& those, bool one_way);
    void heal();
    /// Its clock jumps, or stands still, or goes at another speed, until all is well.
    void upset_clock(raft_id id);
    /// The clocks go as fast as all others, from where they are.
    void mend_clocks();
    /// The leader asks another to lead.
    void hand_over();
    /// Looks it up at the leader: who asked for a change may not have heard that it was made.
    void ask_who_is_in_it();
    /// Through the leader there is.
    void let_one_join();
    void let_one_leave(raft_id id);

    /// All members run and hold the same, and have applied all; or what is different.
    [[nodiscard]] std::string compare();
    /// At most, at a member: transactions that wait to be finished.
    [[nodiscard]] std::size_t prepared() const;
    /// What was noticed while it ran.
    [[nodiscard]] const std::string& wrong() const noexcept { return wrong_; }

    struct counts {
        std::size_t kills = 0, cuts = 0, stops = 0, joins = 0, leaves = 0, installs = 0, elections = 0,
                    broken_disks = 0, handed_over = 0, upset_clocks = 0;
        std::size_t cut = 0, held = 0;  // messages of leaders, to an entry before their last; without any entry
    };
    [[nodiscard]] counts happened() const noexcept { return counts_; }

private:
    struct node {
        raft_id id = 0;
        bool in_group = true;
        disk stored;
        std::unique_ptr<own_clock> clock;  // of its machine: it outlives the process
        std::unique_ptr<simulated_io> io;
        std::unique_ptr<seat> sits;
        unsigned life = 0;  // which of its processes it is
        bool flush_planned = false;
        version place = 0;  // what it has told the past
    };

    bool send(raft_id from, raft_id to, parcel what) override;
    void note_size(const node& from, const parcel& what);
    void deliver(raft_id to, const parcel& what);
    /// What a member says to list and changed.
    static void tell_records(const machine& of, raft_id self, const question& q, answer& a);
    void answer_question(node& n, question q, const std::function<void(answer)>& back);
    void plan_flush(node& n);
    void look_after(node& n, unsigned life);
    void start(node& n, bool first);
    void heard(node& n);
    [[nodiscard]] instant delay();
    [[nodiscard]] static std::string address(raft_id id) { return "member" + std::to_string(id); }

    agenda& agenda_;
    past& past_;
    const conditions how_;
    std::map<raft_id, node> nodes_;
    std::set<std::pair<raft_id, raft_id>> cut_;
    std::map<std::pair<raft_id, raft_id>, instant> last_;  // a connection keeps the order
    std::vector<std::pair<std::unique_ptr<seat>, std::unique_ptr<simulated_io>>> ending_;
    version reached_ = 1;  // by any member
    std::string wrong_;
    counts counts_;
};

}  // namespace tutti::cluster::replica::testing
