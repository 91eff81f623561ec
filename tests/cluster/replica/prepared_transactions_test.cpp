// Transactions of several groups in the state machine of one of them (state_machine.hpp, RSM5 and RSM6).
#include <string>

#include <gtest/gtest.h>

#include "cluster/replica/checksummed.hpp"
#include "cluster/replica/fault_injection.hpp"
#include "cluster/replica/state_machine_helpers.hpp"

namespace {

using namespace tutti::cluster;
using namespace tutti::cluster::replica::testing;

replica::operation_result prepare(state_machine& m, const std::string& id, const checks& c, const writes& w) {
    log_entry_builder e;
    e.add_prepare({id, 7}, c, w);
    return m.apply(e.finish()).results.at(0);
}

replica::operation_result finish(state_machine& m, const std::string& id, bool commits) {
    log_entry_builder e;
    e.add_finish(id, commits);
    return m.apply(e.finish()).results.at(0);
}

/// Returns the transaction that is in the way of a get, "" if the get is answered, or "conflict".
std::string met_by_get(const state_machine& m, const checks& held, const keys& wanted, version at = 0) {
    backend::read_snapshot of{.at = at};
    std::vector<backend::record> found;
    if (m.get(of, freshness::same, held, wanted, found) == engine_status::good) return {};
    return of.blocked_by ? of.blocked_by.id : "conflict";
}

TEST(prepared_transactions_test, holds_keys_until_finished) {
    state_machine m;
    const version one = commit(m, {}, {{"a", true, "1"}, {"b", true, "1"}, {"c", true, "1"}}).at;
    ASSERT_EQ(prepare(m, "t", {{"a", one}, {"b", one}}, {{"a", true, "2"}}).status, engine_status::good);
    EXPECT_EQ(m.statistics().prepared, 1u);
    // The prepared transaction's writes are neither seen nor overwritten. An object that it only reads may be read, but
    // not overwritten.
    EXPECT_EQ(met_by_get(m, {}, {"a"}), "t");
    EXPECT_EQ(met_by_get(m, {{"a", one}}, {}), "t");
    EXPECT_EQ(met_by_get(m, {{"b", one}}, {"b", "c"}), "");
    for (const auto& [c, w] :
         {std::pair{checks{{"a", one}}, writes{{"c", true, "3"}}}, std::pair{checks{}, writes{{"a", true, "3"}}},
          std::pair{checks{{"b", one}}, writes{{"b", true, "3"}}}}) {
        const replica::operation_result result = commit(m, c, w);
        EXPECT_EQ(result.status, engine_status::conflict);
        EXPECT_EQ(result.blocked_by.id, "t");
        EXPECT_EQ(result.blocked_by.deciding_group, 7u);
        EXPECT_EQ(prepare(m, "u", c, w).blocked_by.id, "t");
    }
    // A block that has read an old version does not benefit from waiting.
    EXPECT_FALSE(commit(m, {{"a", one - 1}}, {{"a", true, "3"}}).blocked_by);
    EXPECT_FALSE(prepare(m, "u", {{"a", one - 1}}, {{"a", true, "3"}}).blocked_by);
    // Transactions that only read an object do not exclude each other.
    ASSERT_EQ(prepare(m, "u", {{"b", one}}, {{"d", true, "1"}}).status, engine_status::good);
    const version two = commit(m, {{"b", one}}, {{"c", true, "2"}}).at;
    ASSERT_GT(two, one);
    EXPECT_GT(finish(m, "t", true).at, two);
    EXPECT_EQ(read(m, {"a"})[0].bytes, "2");
    EXPECT_EQ(commit(m, {}, {{"b", true, "2"}}).blocked_by.id, "u");
    finish(m, "u", false);
    EXPECT_EQ(m.statistics().prepared, 0u);
    EXPECT_FALSE(read(m, {"d"})[0].exists);
    EXPECT_EQ(commit(m, {{"b", one}}, {{"b", true, "2"}}).status, engine_status::good);
}

TEST(prepared_transactions_test, finishes_a_transaction_once) {
    state_machine m;
    ASSERT_EQ(prepare(m, "t", {}, {{"a", true, "1"}}).status, engine_status::good);
    const version first = finish(m, "t", true).at;
    const version second = commit(m, {{"a", first}}, {{"a", true, "2"}}).at;
    for (const bool commits : {true, false}) {
        EXPECT_EQ(finish(m, "t", commits).status, engine_status::good);
        EXPECT_EQ(read(m, {"a"})[0].at, second);
    }
    EXPECT_EQ(finish(m, "never prepared", true).status, engine_status::good);
    EXPECT_EQ(m.latest(), second);
}

// Another group has the decision. By that decision, the transaction may have ended while these states were current.
TEST(prepared_transactions_test, hides_overwritten_records_while_prepared) {
    state_machine m;
    const version before = commit(m, {}, {{"a", true, "1"}, {"b", true, "1"}}).at;
    const version between = commit(m, {}, {{"b", true, "2"}}).at;
    ASSERT_EQ(prepare(m, "t", {}, {{"a", true, "2"}}).status, engine_status::good);
    const version after = commit(m, {}, {{"b", true, "3"}}).at;
    EXPECT_EQ(met_by_get(m, {}, {"a"}, before), "");
    EXPECT_EQ(met_by_get(m, {}, {"a"}, between), "");
    EXPECT_EQ(met_by_get(m, {}, {"a"}, between + 1), "t");
    EXPECT_EQ(met_by_get(m, {}, {"a"}, after), "t");
    EXPECT_EQ(met_by_get(m, {}, {"b"}, after), "");
    state_machine let_go;
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
    state_machine ahead, behind;
    for (state_machine* const one : {&ahead, &behind}) commit(*one, {}, {{"a", true, "1"}});
    prepare(ahead, "t", {}, {{"a", true, "2"}});
    return behind.latest() >= ahead.latest() && met_by_get(behind, {}, {"a"}, ahead.latest()).empty();
}

TEST(prepared_transactions_test, names_the_prepared_transactions_of_a_state) {
    EXPECT_FALSE(claims_to_know());
#if defined(TUTTI_CLUSTER_FAULTS)
    replica::injected_fault = replica::fault::prepared_uncounted;
    EXPECT_TRUE(claims_to_know());
    replica::injected_fault = replica::fault::none;
#endif
}

TEST(prepared_transactions_test, are_part_of_a_snapshot) {
    state_machine m;
    const version one = commit(m, {}, {{"a", true, "1"}, {"b", true, "1"}}).at;
    ASSERT_EQ(prepare(m, "t", {{"b", one}}, {{"a", true, "2"}, {"c", false, ""}}).status, engine_status::good);
    ASSERT_EQ(prepare(m, "s", {{"b", one}}, {}).status, engine_status::good);
    state_machine other;
    other.load(m.save());
    EXPECT_EQ(other.save(), m.save());
    EXPECT_EQ(other.statistics().prepared, 2u);
    EXPECT_EQ(met_by_get(other, {}, {"a"}), "t");
    EXPECT_EQ(commit(other, {}, {{"c", true, "1"}}).blocked_by.id, "t");
    for (state_machine* const one_of : {&m, &other}) {
        finish(*one_of, "t", true);
        EXPECT_TRUE(commit(*one_of, {}, {{"b", true, "2"}}).blocked_by);
        finish(*one_of, "s", true);
    }
    EXPECT_EQ(other.save(), m.save());
    EXPECT_EQ(read(other, {"a"})[0].bytes, "2");
}

TEST(prepared_transactions_test, reads_the_format_of_earlier_releases) {
    state_machine m;
    commit(m, {}, {{"a", true, "1"}});
    const auto of_format = [](char format, std::string bytes, std::size_t format_at, std::size_t left_out) {
        bytes.resize(bytes.size() - 8 - left_out);
        bytes[format_at] = format;
        replica::finish_checksummed(bytes);
        return bytes;
    };
    std::string without_absence = m.save();
    without_absence.erase(12 + 8, 8);
    state_machine other;
    for (const std::string& saved : {of_format(1, without_absence, 11, 8), of_format(2, without_absence, 11, 0)}) {
        other.load(saved);
        EXPECT_EQ(other.save(), m.save());
    }
    for (const char format : {'\1', '\2', '\3'}) {
        ASSERT_TRUE(
            other.apply(of_format(format, commit_of({}, {{"a", true, std::to_string(format)}}), 2, 0)).is_readable);
        EXPECT_EQ(read(other, {"a"})[0].bytes, std::to_string(format));
    }
    std::string newer = m.save();
    newer.resize(newer.size() - 8);
    newer[11] = 4;
    replica::finish_checksummed(newer);
    EXPECT_THROW(other.load(newer), backend::engine_error);
}

}  // namespace
