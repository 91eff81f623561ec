// Runs small programs in all orders of the events on their nodes. Also runs them with broken protocols: some order of a
// program must show each fault, wherever the search begins.
#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "cluster/explored_cluster.hpp"
#include "cluster/ordering/fault_injection.hpp"

namespace {

using namespace tutti::cluster;
using namespace tutti::cluster::testing;

/// Returns a program of two nodes with a client on each.
small_program of_two(const char* name, small_transaction here, small_transaction there) {
    small_program p;
    p.name = name;
    p.clients = {{0, {std::move(here)}}, {1, {std::move(there)}}};
    return p;
}
small_program staying(small_program p) {
    p.how = object_placement::home;
    return p;
}
small_program finely(small_program p) {
    p.fine = true;
    return p;
}
small_program waiting(small_program p, unsigned pauses = 1) {
    p.pauses = pauses;
    return p;
}
small_program doubled(small_program p) {
    p.twice = true;
    return p;
}
small_program copied(small_program p) {
    p.copied = true;
    return staying(std::move(p));
}
small_program ending(small_program p, node_number which) {
    p.ends = which;
    return p;
}
/// Returns a program of three nodes, with objects 0 and 1 on the first two.
small_program of_three(const char* name, small_transaction one, small_transaction two, small_transaction three) {
    small_program p;
    p.name = name;
    p.nodes = 3;
    p.clients = {{0, {std::move(one)}}, {1, {std::move(two)}}, {2, {std::move(three)}}};
    return p;
}
/// Returns a program of three nodes in which the second has no client; objects stay.
small_program seen_by_third(const char* name, small_transaction one, small_transaction third) {
    small_program p = staying(finely(waiting(of_three(name, std::move(one), {}, std::move(third)))));
    p.clients.erase(p.clients.begin() + 1);
    return p;
}

/// Returns a program with a client on the first of `nodes` nodes. The second node ends and rejoins with another
/// client.
small_program returning(const char* name, node_number nodes, small_transaction before, small_transaction after) {
    small_program p;
    p.name = name;
    p.nodes = nodes;
    p.clients = {{0, {std::move(before)}}};
    p.ends = 1;
    p.returns = small_client{1, {std::move(after)}};
    return waiting(std::move(p));
}

/// Returns a program in which the first node writes on both others. Its links to both of them, or to one, are cut.
small_program of_several(const char* name, small_client other) {
    small_program p;
    p.name = name;
    p.nodes = 3;
    p.clients = {{0, {{{{{1, 2}, true}}}}}, std::move(other)};
    return p;
}
small_program cutting(small_program p, node_number one, node_number two) {
    p.cut.emplace_back(one, two);
    return p;
}

/// Returns a program in which the first node has read an object on the third, and writes on the second.
small_program lost_reader() {
    using enum form;
    const opening read_1{{1}}, read_2{{2}}, read_4{{4}}, write_1{{1}, true}, write_2{{2}, true}, write_4{{4}, true};
    small_program p =
        staying(waiting(of_three("lost_reader", {{read_2, write_1}, flat, true}, {{write_4}}, {{write_2}})));
    p.objects = 5;
    p.clients[1].transactions.push_back({{read_4, read_1, read_2}, snapshot});
    return p;
}

/// Returns a program in which the first node reads a copy of the third node's object, and writes on the second node.
/// The second node's clock is ahead of the third's. The time of a reader on the second node lies between these clocks.
/// A writer overwrites the copied object once its node has lost the first node.
small_program lost_reader_of_a_copy(const char* name = "lost_reader_of_a_copy") {
    using enum form;
    const opening read_1{{1}}, read_2{{2}}, write_1{{1}, true}, write_2{{2}, true};
    small_program p = copied(waiting(of_three(name, {{read_2, write_1}}, {{read_1, read_2}, snapshot}, {})));
    p.clients.pop_back();
    p.follows = small_client{2, {{{write_2}}}};
    p.only_copy = {0, 2};
    p.ahead = 1;
    return p;
}

/// Returns a program that reads the only copy of an object. The node that returns owns the object.
small_program copy_of_one_that_returns() {
    using enum form;
    const opening read_1{{1}}, read_2{{2}}, write_2{{2}, true};
    small_program p =
        copied(returning("copy_of_one_that_returns", 3, {{read_1, write_2}, flat, true}, {{read_1, read_2}, snapshot}));
    p.only_copy = {0, 1};
    return p;
}

small_program in_part(small_program p, std::uint64_t orders = 1000) {
    p.orders_run = orders;
    return p;
}

/// Gives each transaction `attempts` attempts.
small_program again(small_program p, unsigned attempts = 2) {
    p.attempts = attempts;
    return p;
}

const std::vector<small_program>& programs() {
    using enum form;
    const opening read_0{{0}}, read_1{{1}}, read_2{{2}}, read_both{{0, 1}}, write_0{{0}, true}, write_1{{1}, true},
        write_2{{2}, true}, write_both{{0, 1}, true}, write_others{{1, 2}, true};
    static const std::vector<small_program> all{
        again(of_two("write_both", {{write_both}}, {{write_both}})),
        finely(of_two("write_both_in_turn", {{write_0, write_1}}, {{write_1, write_0}})),
        of_two("write_beside_variables", {{write_both}, flat, true}, {{write_both}, flat, true}),
        staying(again(of_two("write_what_stays", {{write_0, write_1}}, {{write_1, write_0}}))),
        finely(of_two("read_skew", {{write_both}}, {{read_1, read_0}})),
        finely(of_two("write_skew", {{read_1, write_0}}, {{read_0, write_1}})),
        of_two("closed", {{read_0, read_1, write_2}, closed}, {{write_others}}),
        of_two("checkpoint", {{read_0, read_1, write_2}, checkpoint}, {{write_others}}),
        waiting(of_two("open", {{write_1, write_0}, open}, {{write_1, write_0}, open})),
        of_two("snapshot", {{write_both}}, {{read_both, read_0}, snapshot}),
        waiting(again(of_two("snapshot_in_turn", {{write_both}}, {{read_1, read_0}, snapshot}))),
        waiting(of_two("irrevocable", {{write_1}, irrevocable}, {{write_1}})),
        waiting(of_two("two_irrevocable", {{write_0}, irrevocable}, {{write_1}, irrevocable})),
        waiting(of_two("irrevocable_late", {{read_1, write_0}, late}, {{write_both}})),
        again(of_two("sleeper", {{read_1}, sleeper}, {{write_1}}), 3),
        doubled(of_two("prepares_twice", {{write_1}}, {{write_1}})),
        of_three("three_writers", {{write_0}}, {{write_0}}, {{write_0}}),
        of_three("three_readers", {{write_0}}, {{read_0, write_1}}, {{read_1, read_0}}),
        copied(waiting(of_two("copies_read_skew", {{write_both}}, {{read_1, read_0}}))),
        copied(waiting(of_two("copies_write_skew", {{read_1, write_0}}, {{read_0, write_1}}))),
        ending(seen_by_third("decider_ends", {{write_both}}, {{read_1, read_0}}), 1),
        ending(seen_by_third("asker_ends", {{write_both}}, {{read_0, read_1}}), 0),
        ending(of_two("decider_ends_where_objects_move", {{write_both}}, {{write_both}}), 1),
        returning("one_returns", 2, {{write_0, read_1}}, {{read_1, read_0}}),
        returning("one_returns_and_writes", 2, {{read_0, write_1}}, {{write_1, write_0}}),
        in_part(copied(
            returning("copies_of_one_that_returns", 3, {{read_1, write_2}, flat, true}, {{read_1, read_2}, snapshot}))),
        copy_of_one_that_returns(),
        ending(of_several("coordinator_ends", {2, {{{read_2}}}}), 0),
        ending(in_part(of_several("coordinator_ends_beside_a_writer", {2, {{{write_others}}}}), 3000), 0),
        ending(in_part(staying(of_several("coordinator_ends_and_objects_stay", {2, {{{write_others}}}})), 3000), 0),
        cutting(staying(of_several("coordinator_is_cut_off", {2, {{{read_2, read_1}}}})), 0, 1),
        ending(staying(of_several("coordinator_of_what_stays_ends", {2, {{{read_2}}}})), 0),
        cutting(
            cutting(in_part(staying(of_several("coordinator_is_cut_off_from_both", {2, {{{read_2}}}})), 5000), 0, 1), 0,
            2),
        ending(in_part(lost_reader(), 5000), 0),
        ending(lost_reader_of_a_copy(), 0),
        cutting(lost_reader_of_a_copy("reader_of_a_copy_is_cut_off"), 0, 2),
        ending(again(seen_by_third("doubt", {{write_1}, flat, true}, {{read_1}, sleeper}), 3), 0),
    };
    return all;
}

const small_program& program_of(std::string_view name) {
    for (const small_program& p : programs()) {
        if (p.name == name) return p;
    }
    throw std::invalid_argument{std::string{name}};
}

/// The outcomes of all orders of a program.
struct sum {
    std::size_t all_committed = 0, some_did_not = 0, partial_rollbacks = 0;
    commit_participant::statistics doubts;
};

/// Runs an explored cluster, and adds its outcome to the sum.
class counted final : public run {
public:
    counted(const small_program& p, sum& in) : program_{p}, explored_{p}, sum_{in} {}
    event_set& events() noexcept override { return explored_.events(); }
    std::string verdict() override {
        std::size_t transactions = 0;
        for (const small_client& c : program_.clients) transactions += c.transactions.size();
        ++(explored_.committed() == transactions ? sum_.all_committed : sum_.some_did_not);
        sum_.partial_rollbacks += explored_.partial_rollbacks();
        std::string wrong = explored_.verdict();
        const commit_participant::statistics d = explored_.doubts();
        sum_.doubts.in_doubt += d.in_doubt;
        sum_.doubts.committed += d.committed;
        sum_.doubts.aborted += d.aborted;
        return wrong;
    }

private:
    const small_program& program_;
    explored_cluster explored_;
    sum& sum_;
};

std::string text_of(const exploration& e) {
    std::string text = e.wrong;
    for (const std::string& what : e.order) text += "\n  " + what;
    return text;
}

class cluster_small_programs : public ::testing::TestWithParam<std::string> {};

TEST_P(cluster_small_programs, are_correct_in_every_order) {
    const small_program& p = program_of(GetParam());
    sum all;
    bounds most;
    if (p.orders_run != 0) most.orders = p.orders_run;
#if defined(TUTTI_SANITIZED)
    most.orders = 200;  // a sanitizer checks memory; all orders use memory in the same way
#endif
    const exploration e = explore(most, [&] { return std::make_unique<counted>(p, all); });
    EXPECT_EQ(e.wrong, "") << text_of(e);
    if (most.orders == bounds{}.orders) {
        EXPECT_TRUE(e.complete);
        EXPECT_GT(all.all_committed, 0u);
        const bool has_blocks = std::ranges::any_of(p.clients, [](const small_client& c) {
            const form how = c.transactions.front().how;
            return how == form::closed || how == form::checkpoint;
        });
        EXPECT_EQ(all.partial_rollbacks > 0, has_blocks);
        if (p.name == std::string_view{"coordinator_ends"}) {
            EXPECT_GT(all.doubts.committed, 0u);
            EXPECT_GT(all.doubts.aborted, 0u);
            EXPECT_GT(all.doubts.in_doubt, 0u);
        }
        if (p.name == std::string_view{"coordinator_of_what_stays_ends"}) {
            EXPECT_GT(all.doubts.committed, 0u);
            EXPECT_EQ(all.doubts.in_doubt, 0u) << "each participant has said yes, or one of them never will";
        }
    }
    std::printf(
        "%s: %llu orders, %llu abandoned, %zu events at most; not every client committed in %zu, partial roll-backs "
        "%zu, "
        "another node knew of %llu commits and %llu others, %llu objects in doubt\n",
        p.name, static_cast<unsigned long long>(e.orders), static_cast<unsigned long long>(e.abandoned), e.longest,
        all.some_did_not, all.partial_rollbacks, static_cast<unsigned long long>(all.doubts.committed),
        static_cast<unsigned long long>(all.doubts.aborted), static_cast<unsigned long long>(all.doubts.in_doubt));
}

std::vector<std::string> program_names() {
    std::vector<std::string> all;
    for (const small_program& p : programs()) all.emplace_back(p.name);
    return all;
}

INSTANTIATE_TEST_SUITE_P(all, cluster_small_programs, ::testing::ValuesIn(program_names()),
                         [](const auto& p) { return p.param; });

// Runs one order. After its first event, the reader runs only when no other event is pending.
TEST(cluster_small_programs_with_rejoin, restart_readers_of_earlier_times) {
    const opening read_0{{0}}, read_1{{1}};
    explored_cluster w{finely(
        again(returning("reader_of_the_past", 2, {{read_0, read_1}, form::snapshot}, {{read_0}, form::snapshot})))};
    event_set& events = w.events();
    const auto is_of_reader = [&events](unsigned e) { return events.name_of(e).starts_with("client 0"); };
    const auto begins = std::ranges::find_if(events.pending(), is_of_reader);
    ASSERT_NE(begins, events.pending().end());
    events.run_event(*begins);  // the reader has read its first object
    for (unsigned i = 0; !events.pending().empty(); ++i) {
        ASSERT_LT(i, 1000u);
        const auto other = std::ranges::find_if_not(events.pending(), is_of_reader);
        events.run_event(other != events.pending().end() ? *other : events.pending().front());
    }
    EXPECT_EQ(w.verdict(), "");
    EXPECT_EQ(w.readers_too_late(), 1u);
    EXPECT_EQ(w.committed(), 2u) << "its second attempt has a time after the return";
}

// A build with a sanitizer checks memory and threads. The other builds check that the tests notice broken steps.
#if defined(TUTTI_CLUSTER_FAULTS) && !defined(TUTTI_SANITIZED)

struct broken_program {
    fault what;
    const char* step;
    const char* program;
};

class cluster_small_programs_with_faults : public ::testing::TestWithParam<broken_program> {};

TEST_P(cluster_small_programs_with_faults, are_caught_in_some_order) {
    const small_program& p = program_of(GetParam().program);
    injected_fault = GetParam().what;
    const exploration e = explore({}, [&] { return std::make_unique<explored_cluster>(p); });
    injected_fault = fault::none;
    ASSERT_NE(e.wrong, "") << "no order of " << e.orders << " shows it";
    ASSERT_NE(e.wrong, no_end);
    std::printf("order %llu: %s\n", static_cast<unsigned long long>(e.orders), text_of(e).c_str());
}

INSTANTIATE_TEST_SUITE_P(
    all, cluster_small_programs_with_faults,
    ::testing::Values(
        broken_program{fault::no_snapshot_extension, "no_snapshot_extension", "read_skew"},
        broken_program{fault::no_snapshot_extension, "no_snapshot_extension", "write_both"},
        broken_program{fault::no_snapshot_extension, "no_snapshot_extension", "closed"},
        broken_program{fault::clock_by_store, "clock_by_store", "prepares_twice"},
        broken_program{fault::early_release, "early_release", "write_both"},
        broken_program{fault::early_release, "early_release", "snapshot"},
        broken_program{fault::early_release, "early_release", "irrevocable_late"},
        broken_program{fault::stale_copy, "stale_copy", "checkpoint"},
        broken_program{fault::stale_copy, "stale_copy", "three_writers"},
        broken_program{fault::directory_not_updated, "directory_not_updated", "checkpoint"},
        broken_program{fault::directory_not_updated, "directory_not_updated", "open"},
        broken_program{fault::no_validation_at_commit, "no_validation_at_commit", "write_skew"},
        broken_program{fault::keep_stale_copy, "keep_stale_copy", "copies_read_skew"},
        broken_program{fault::write_despite_copies, "write_despite_copies", "copies_read_skew"},
        broken_program{fault::commit_without_copy_check, "commit_without_copy_check", "copies_write_skew"},
        broken_program{fault::show_before_decision_received, "show_before_decision_received", "decider_ends"},
        broken_program{fault::hold_for_lost, "hold_for_lost", "asker_ends"},
        broken_program{fault::pin_without_reference, "pin_without_reference", "copy_of_one_that_returns"},
        broken_program{fault::admit_despite_references, "admit_despite_references", "copy_of_one_that_returns"},
        broken_program{fault::deny_too_early, "deny_too_early", "coordinator_is_cut_off"},
        broken_program{fault::withdraw_alone, "withdraw_alone", "coordinator_is_cut_off_from_both"},
        broken_program{fault::abort_undecided, "abort_undecided", "coordinator_ends_beside_a_writer"},
        broken_program{fault::free_read_locks_early, "free_read_locks_early", "lost_reader"},
        broken_program{fault::drop_lost_copy_holders, "drop_lost_copy_holders", "lost_reader_of_a_copy"},
        broken_program{fault::drop_lost_copy_holders, "drop_lost_copy_holders", "reader_of_a_copy_is_cut_off"},
        broken_program{fault::doubt_without_notification, "doubt_without_notification", "doubt"}),
    [](const auto& p) { return std::string{p.param.step} + "_" + p.param.program; });

#endif

}  // namespace
