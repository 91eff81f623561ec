#include "cluster/replica/fault_schedule.hpp"

namespace tutti::cluster::replica::testing {

void inject_fault(event_queue& events, group& of, bool membership) {
    const std::vector<raft_id> all = of.members();
    const raft_id one = events.chance(40) && of.leader() != 0 ? of.leader() : all[events.below(all.size())];
    const bool may_fall = of.runs(one) && 2 * (of.down() + 1) < all.size();
    const instant long_time = events.between(50, 1500) * ms;
    switch (events.below(membership ? 11 : 9)) {
        case 0:
        case 1:
            if (!may_fall) break;
            of.kill(one);
            events.after(long_time, [&of, one] { of.restart(one); });
            break;
        case 2:
            if (may_fall) of.stop(one, long_time);
            break;
        case 3:
            of.cut_off({one}, events.chance(30));
            events.after(long_time, [&of] { of.heal(); });
            break;
        case 4: {
            std::set<raft_id> some;
            for (const raft_id id : all) {
                if (events.chance(50)) some.insert(id);
            }
            of.cut_off(some, events.chance(20));
            events.after(long_time, [&of] { of.heal(); });
            break;
        }
        case 5:
            // A power failure of all members: more than a minority fails, and still nothing is lost.
            if (!events.chance(10)) break;
            for (const raft_id id : all) {
                if (!of.has_process(id)) continue;
                of.kill(id);
                events.after(events.below(800 * ms), [&of, id] { of.restart(id); });
            }
            break;
        case 6:
            if (may_fall) of.break_disk(one);
            break;
        case 7: of.hand_over(); break;
        case 8:
            of.upset_clock(one);
            if (events.chance(50)) events.after(long_time, [&of] { of.mend_clocks(); });
            break;
        case 9:
            if (all.size() < 6) of.let_one_join();
            break;
        default:
            if (all.size() > 3) of.let_one_leave(one);
            break;
    }
}

void inject_network_fault(event_queue& events, group& of, bool clocks) {
    const std::vector<raft_id> all = of.members();
    const raft_id one = events.chance(60) && of.leader() != 0 ? of.leader() : all[events.below(all.size())];
    const bool cuts = events.chance(50);
    if (cuts) of.cut_off({one}, false);
    else if (clocks) of.upset_clock(one);
    events.after(events.between(50, 1500) * ms, [&of, cuts] { cuts ? of.heal() : of.mend_clocks(); });
}

void heal(group& of) {
    of.heal();
    of.mend_clocks();
    of.ask_who_is_in_it();
    for (const raft_id id : of.members()) of.restart(id);
}

}  // namespace tutti::cluster::replica::testing
