// Transactions of several groups in the state machine of one of them (machine.hpp, R5 and R6).
#include <string>

#include <gtest/gtest.h>

#include "cluster/replica/fault_injection.hpp"
#include "cluster/replica/machine_helpers.hpp"
#include "cluster/replica/sealed.hpp"

namespace {

using namespace tutti::cluster;
using namespace tutti::cluster::replica::testing;

replica::outcome prepare(machine& m, const std::string& id, const checks& c, const writes& w) {
    entry e;
    e.add_prepare({id, 7}, c, w);
    return m.apply(e.finish()).outcomes.at(0);
}

replica::outcome finish(machine& m, const std::string& id, bool commits) {
    entry e;
    e.add_finish(id, commits);
    return m.apply(e.finish()).outcomes.at(0);
}

/// Returns the transaction that is in the way of a get, "" if the get is answered, or "conflict".
std::string met_by_get(const machine& m, const checks& held, const keys& wanted, version at = 0) {
    backend::snapshot of{.at = at};
    std::vector<backend::record> found;
    if (m.get(of, freshness::same, held, wanted, found) == verdict::good) return {};
    return of.met ? of.met.id : "conflict";
}

TEST(replica_prepared, what_is_prepared_is_held_until_it_is_finished) {
    machine m;
    const version one = commit(m, {}, {{"a", true, "1"}, {"b", true, "1"}, {"c", true, "1"}}).at;
    ASSERT_EQ(prepare(m, "t", {{"a", one}, {"b", one}}, {{"a", true, "2"}}).said, verdict::good);
    EXPECT_EQ(m.holds().prepared, 1u);
    // Its writes are neither seen nor overwritten. An object that it only reads may be read, but not overwritten.
    EXPECT_EQ(met_by_get(m, {}, {"a"}), "t");
    EXPECT_EQ(met_by_get(m, {{"a", one}}, {}), "t");
    EXPECT_EQ(met_by_get(m, {{"b", one}}, {"b", "c"}), "");
    for (const auto& [c, w] :
         {std::pair{checks{{"a", one}}, writes{{"c", true, "3"}}}, std::pair{checks{}, writes{{"a", true, "3"}}},
          std::pair{checks{{"b", one}}, writes{{"b", true, "3"}}}}) {
        const replica::outcome said = commit(m, c, w);
        EXPECT_EQ(said.said, verdict::conflict);
        EXPECT_EQ(said.met.id, "t");
        EXPECT_EQ(said.met.decides, 7u);
        EXPECT_EQ(prepare(m, "u", c, w).met.id, "t");
    }
    // A block that has read an old version does not benefit from waiting.
    EXPECT_FALSE(commit(m, {{"a", one - 1}}, {{"a", true, "3"}}).met);
    EXPECT_FALSE(prepare(m, "u", {{"a", one - 1}}, {{"a", true, "3"}}).met);
    // Readers share.
    ASSERT_EQ(prepare(m, "u", {{"b", one}}, {{"d", true, "1"}}).said, verdict::good);
    const version two = commit(m, {{"b", one}}, {{"c", true, "2"}}).at;
    ASSERT_GT(two, one);
    EXPECT_GT(finish(m, "t", true).at, two);
    EXPECT_EQ(read(m, {"a"})[0].bytes, "2");
    EXPECT_EQ(commit(m, {}, {{"b", true, "2"}}).met.id, "u");
    finish(m, "u", false);
    EXPECT_EQ(m.holds().prepared, 0u);
    EXPECT_FALSE(read(m, {"d"})[0].exists);
    EXPECT_EQ(commit(m, {{"b", one}}, {{"b", true, "2"}}).said, verdict::good);
}

TEST(replica_prepared, what_is_finished_is_finished_once) {
    machine m;
    ASSERT_EQ(prepare(m, "t", {}, {{"a", true, "1"}}).said, verdict::good);
    const version first = finish(m, "t", true).at;
    const version second = commit(m, {{"a", first}}, {{"a", true, "2"}}).at;
    for (const bool commits : {true, false}) {
        EXPECT_EQ(finish(m, "t", commits).said, verdict::good);
        EXPECT_EQ(read(m, {"a"})[0].at, second);
    }
    EXPECT_EQ(finish(m, "never prepared", true).said, verdict::good);
    EXPECT_EQ(m.latest(), second);
}

// Another group has the decision. By that decision, the transaction may have ended while these states were current.
TEST(replica_prepared, states_in_which_it_was_prepared_do_not_show_what_it_overwrote) {
    machine m;
    const version before = commit(m, {}, {{"a", true, "1"}, {"b", true, "1"}}).at;
    const version between = commit(m, {}, {{"b", true, "2"}}).at;
    ASSERT_EQ(prepare(m, "t", {}, {{"a", true, "2"}}).said, verdict::good);
    const version after = commit(m, {}, {{"b", true, "3"}}).at;
    EXPECT_EQ(met_by_get(m, {}, {"a"}, before), "");
    EXPECT_EQ(met_by_get(m, {}, {"a"}, between), "");
    EXPECT_EQ(met_by_get(m, {}, {"a"}, between + 1), "t");
    EXPECT_EQ(met_by_get(m, {}, {"a"}, after), "t");
    EXPECT_EQ(met_by_get(m, {}, {"b"}, after), "");
    machine let_go;
    let_go.load(m.save());
    const version written = finish(m, "t", true).at;
    EXPECT_EQ(met_by_get(m, {}, {"a"}, before), "");
    EXPECT_EQ(met_by_get(m, {}, {"a"}, between), "");
    EXPECT_EQ(met_by_get(m, {}, {"a"}, between + 1), "conflict");
    EXPECT_EQ(met_by_get(m, {}, {"a"}, after), "conflict");
    EXPECT_EQ(met_by_get(m, {}, {"a"}, written), "");
    finish(let_go, "t", false);
    EXPECT_EQ(met_by_get(let_go, {}, {"a"}, after), "");
}

/// Returns true if a member that has not heard of a prepared transaction claims to know the state in which it was
/// prepared.
bool claims_to_know() {
    machine ahead, behind;
    for (machine* const one : {&ahead, &behind}) commit(*one, {}, {{"a", true, "1"}});
    prepare(ahead, "t", {}, {{"a", true, "2"}});
    return behind.latest() >= ahead.latest() && met_by_get(behind, {}, {"a"}, ahead.latest()).empty();
}

TEST(replica_prepared, nobody_shows_a_state_without_knowing_who_was_prepared_in_it) {
    EXPECT_FALSE(claims_to_know());
#if defined(TUTTI_CLUSTER_FAULTS)
    replica::injected_fault = replica::fault::prepared_uncounted;
    EXPECT_TRUE(claims_to_know());
    replica::injected_fault = replica::fault::none;
#endif
}

TEST(replica_prepared, a_snapshot_has_the_prepared_transactions) {
    machine m;
    const version one = commit(m, {}, {{"a", true, "1"}, {"b", true, "1"}}).at;
    ASSERT_EQ(prepare(m, "t", {{"b", one}}, {{"a", true, "2"}, {"c", false, ""}}).said, verdict::good);
    ASSERT_EQ(prepare(m, "s", {{"b", one}}, {}).said, verdict::good);
    machine other;
    other.load(m.save());
    EXPECT_EQ(other.save(), m.save());
    EXPECT_EQ(other.holds().prepared, 2u);
    EXPECT_EQ(met_by_get(other, {}, {"a"}), "t");
    EXPECT_EQ(commit(other, {}, {{"c", true, "1"}}).met.id, "t");
    for (machine* const one_of : {&m, &other}) {
        finish(*one_of, "t", true);
        EXPECT_TRUE(commit(*one_of, {}, {{"b", true, "2"}}).met);
        finish(*one_of, "s", true);
    }
    EXPECT_EQ(other.save(), m.save());
    EXPECT_EQ(read(other, {"a"})[0].bytes, "2");
}

TEST(replica_prepared, what_earlier_releases_wrote_is_read) {
    machine m;
    commit(m, {}, {{"a", true, "1"}});
    const auto of_format = [](char format, std::string bytes, std::size_t format_at, std::size_t left_out) {
        bytes.resize(bytes.size() - 8 - left_out);
        bytes[format_at] = format;
        replica::seal(bytes);
        return bytes;
    };
    std::string without_absence = m.save();
    without_absence.erase(12 + 8, 8);
    machine other;
    for (const std::string& saved : {of_format(1, without_absence, 11, 8), of_format(2, without_absence, 11, 0)}) {
        other.load(saved);
        EXPECT_EQ(other.save(), m.save());
    }
    for (const char format : {'\1', '\2', '\3'}) {
        ASSERT_TRUE(
            other.apply(of_format(format, commit_of({}, {{"a", true, std::to_string(format)}}), 2, 0)).readable);
        EXPECT_EQ(read(other, {"a"})[0].bytes, std::to_string(format));
    }
    std::string newer = m.save();
    newer.resize(newer.size() - 8);
    newer[11] = 4;
    replica::seal(newer);
    EXPECT_THROW(other.load(newer), backend::refusal);
}

}  // namespace
