// The state machine of a group, alone: the effect of entries on records, the readable states, and the treatment of
// invalid bytes.
#include "cluster/replica/state_machine.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "cluster/replica/checksummed.hpp"
#include "cluster/replica/fault_injection.hpp"
#include "cluster/replica/state_machine_helpers.hpp"
#include "support/effort.hpp"

namespace {

using namespace tutti::cluster;
using namespace tutti::cluster::replica::testing;

TEST(state_machine_test, commits_atomically_after_checking_reads) {
    state_machine m;
    const auto first = commit(m, {{"a", 0}}, {{"a", true, "1"}, {"b", true, "1"}});
    ASSERT_EQ(first.status, engine_status::good);
    EXPECT_EQ(commit(m, {{"a", 0}}, {{"a", true, "2"}, {"c", true, "2"}}).status, engine_status::conflict);
    // Write skew: the checked record is not the written one.
    EXPECT_EQ(commit(m, {{"b", first.at + 1}}, {{"c", true, "2"}}).status, engine_status::conflict);
    const auto found = read(m, {"a", "b", "c"});
    EXPECT_EQ(found[0].bytes, "1");
    EXPECT_EQ(found[1].at, first.at);
    EXPECT_FALSE(found[2].exists);
    EXPECT_EQ(found[2].at, 0u);
    EXPECT_EQ(m.latest(), first.at);
}

TEST(state_machine_test, checks_commits_of_one_entry_in_order) {
    state_machine m;
    log_entry_builder e;
    e.add_commit(checks{{"a", 0}}, writes{{"a", true, "1"}});
    e.add_commit(checks{{"a", 0}}, writes{{"a", true, "2"}});
    e.add_commit(checks{{"b", 0}}, writes{{"b", true, "3"}});
    const applied_entry result = m.apply(e.finish());
    ASSERT_EQ(result.results.size(), 3u);
    EXPECT_EQ(result.results[0].status, engine_status::good);
    EXPECT_EQ(result.results[1].status, engine_status::conflict);
    EXPECT_EQ(result.results[2].status, engine_status::good);
    EXPECT_LT(result.results[0].at, result.results[2].at);
    EXPECT_EQ(read(m, {"a"})[0].bytes, "1");
}

TEST(state_machine_test, changes_the_absent_version_after_an_erase) {
    state_machine m;
    ASSERT_EQ(commit(m, {{"a", 0}}, {{"a", true, "1"}}).status, engine_status::good);
    const auto erased = commit(m, {}, {{"a", false, ""}});
    const auto now = read(m, {"a"})[0];
    EXPECT_FALSE(now.exists);
    EXPECT_EQ(now.at, erased.at);
    EXPECT_EQ(commit(m, {{"a", 0}}, {{"a", true, "2"}}).status, engine_status::conflict);
    EXPECT_EQ(m.statistics().erased, 1u);
    EXPECT_EQ(m.statistics().objects, 0u);
    // An erasure is kept until it can no longer be requested. Its versions are never used again.
    log_entry_builder e;
    e.add_forget(keys{"a"});
    ASSERT_TRUE(m.apply(e.finish()).is_readable);
    EXPECT_EQ(m.statistics().erased, 0u);
    EXPECT_EQ(m.statistics().bytes, 0u);
    EXPECT_GT(commit(m, {{"a", 0}}, {{"a", true, "3"}}).at, erased.at);
}

TEST(state_machine_test, reads_earlier_states_within_the_history_window) {
    state_machine m{{.writes = 4}};
    // The empty state is a state, too: its readers do not see later writes.
    backend::read_snapshot nothing;
    std::vector<backend::record> none;
    ASSERT_EQ(m.get(nothing, freshness::same, {}, keys{"a"}, none), engine_status::good);
    ASSERT_NE(nothing.at, 0u);
    std::vector<version> at;
    at.push_back(commit(m, {}, {{"a", true, "0"}}).at);
    ASSERT_EQ(m.get(nothing, freshness::same, {}, keys{"a"}, none), engine_status::good);
    EXPECT_FALSE(none[0].exists);
    for (int i = 1; i < 8; ++i) at.push_back(commit(m, {}, {{"a", true, std::to_string(i)}}).at);
    ASSERT_LE(m.floor(), at[3]);
    for (int i = 3; i < 8; ++i) EXPECT_EQ(read(m, {"a"}, at[static_cast<unsigned>(i)])[0].bytes, std::to_string(i));
    backend::read_snapshot of{at[0]};
    std::vector<backend::record> found;
    EXPECT_EQ(m.get(of, freshness::same, {}, keys{"a"}, found), engine_status::conflict);
    of.at = m.latest() + 1;
    EXPECT_EQ(m.get(of, freshness::same, {}, keys{"a"}, found), engine_status::conflict);
    // Held records are checked in the requested state.
    of.at = at[5];
    EXPECT_EQ(m.get(of, freshness::same, checks{{"a", at[5]}}, keys{"b"}, found), engine_status::good);
    EXPECT_EQ(m.get(of, freshness::now, checks{{"a", at[5]}}, keys{"b"}, found), engine_status::conflict);
    EXPECT_EQ(of.at, at[5]);
}

TEST(state_machine_test, bounds_the_history_window_by_bytes) {
    state_machine m{{.writes = 1000, .bytes = 1000}};
    for (int i = 0; i < 100; ++i) commit(m, {}, {{"a", true, std::string(100, 'x')}});
    EXPECT_LE(m.statistics().kept_bytes, 1000u);
    EXPECT_EQ(m.statistics().bytes, 101u);
    EXPECT_GT(m.floor(), 85u);
}

TEST(state_machine_test, lists_changes_of_complete_commits_in_order) {
    state_machine m{{.writes = 10}};
    const auto first = commit(m, {}, {{"a", true, "1"}, {"b", true, "1"}});
    commit(m, {}, {{"a", false, ""}});
    commit(m, {}, {{"c", true, "3"}});
    version place = first.at - 1;
    std::vector<backend::change> all;
    ASSERT_TRUE(m.changes_after(place, 1, all));
    ASSERT_EQ(all.size(), 2u);  // both of one commit
    EXPECT_EQ(place, first.at);
    EXPECT_EQ(all[1].value.bytes, "1");
    ASSERT_TRUE(m.changes_after(place, 100, all));
    ASSERT_EQ(all.size(), 4u);
    EXPECT_FALSE(all[2].value.exists);
    EXPECT_EQ(all[3].of, "c");
    EXPECT_EQ(place, m.latest());
    ASSERT_TRUE(m.changes_after(place, 100, all));
    EXPECT_EQ(all.size(), 4u);
    for (int i = 0; i < 20; ++i) commit(m, {}, {{"d", true, ""}});
    EXPECT_FALSE(m.changes_after(place, 100, all));
    place = m.latest() + 1;
    EXPECT_FALSE(m.changes_after(place, 100, all));
}

/// A simple model of the state machine: the whole history of each record.
struct model {
    std::map<backend::key, std::map<version, backend::record>> all;
    version latest = 1;

    [[nodiscard]] backend::record as_of(const backend::key& k, version at) const {
        const auto known = all.find(k);
        if (known == all.end()) return {};
        const auto after = known->second.upper_bound(at);
        return after == known->second.begin() ? backend::record{} : std::prev(after)->second;
    }
    bool commit(const checks& c, const writes& w) {
        for (const auto& one : c) {
            if (as_of(one.of, latest).at != one.at) return false;
        }
        if (!w.empty()) ++latest;
        for (const auto& one : w) all[one.of][latest] = {one.exists, latest, one.exists ? one.bytes : ""};
        return true;
    }
};

class random_load {
public:
    explicit random_load(std::uint64_t seed) : dice_{seed} {}
    [[nodiscard]] std::size_t below(std::size_t n) { return dice_() % n; }
    [[nodiscard]] backend::key any_key() { return "k" + std::to_string(below(12)); }
    [[nodiscard]] checks some_checks(const model& of) {
        checks c;
        for (std::size_t i = below(4); i > 0; --i) {
            const backend::key k = any_key();
            const version at = of.as_of(k, of.latest).at;
            c.push_back({k, below(10) == 0 ? at + 1 : at});
        }
        return c;
    }
    [[nodiscard]] writes some_writes() {
        writes w;
        for (std::size_t i = below(4); i > 0; --i) {
            const backend::key k = any_key();
            if (std::ranges::find(w, k, &backend::write::of) == w.end())
                w.push_back({k, below(4) != 0, std::string(below(30), 'x')});
        }
        return w;
    }

private:
    std::mt19937_64 dice_;
};

TEST(state_machine_test, matches_a_model_and_a_reloaded_copy) {
    for (std::uint64_t seed = 1; seed <= tutti::support::rounds(200); ++seed) {
        random_load any{seed};
        state_machine m{{.writes = 5 + any.below(100)}};
        state_machine other{{.writes = 1}};
        model is;
        for (int step = 0; step < 100; ++step) {
            log_entry_builder e;
            std::vector<bool> expected;
            for (std::size_t i = 1 + any.below(3); i > 0; --i) {
                const checks c = any.some_checks(is);
                const writes w = any.some_writes();
                e.add_commit(c, w);
                expected.push_back(is.commit(c, w));
            }
            const std::string bytes = e.finish();
            const applied_entry result = m.apply(bytes);
            ASSERT_EQ(result.results.size(), expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i)
                ASSERT_EQ(result.results[i].status, expected[i] ? engine_status::good : engine_status::conflict);
            if (any.below(10) == 0) {
                const std::string saved = other.save();
                other = state_machine{{.writes = 1 + any.below(50)}};
                other.load(saved);
            }
            ASSERT_TRUE(other.apply(bytes).is_readable);
            ASSERT_EQ(m.latest(), is.latest);
            for (version at = m.floor(); at <= m.latest(); at += 1 + any.below(4)) {
                const backend::key k = any.any_key();
                const auto is_now = read(m, {k}, at)[0];
                const auto should = is.as_of(k, at);
                ASSERT_EQ(is_now.at, should.at) << seed;
                ASSERT_EQ(is_now.exists, should.exists);
                ASSERT_EQ(is_now.bytes, should.bytes);
            }
        }
        ASSERT_EQ(m.save(), other.save()) << seed;
        // The counters equal those of a state machine that has counted anew.
        state_machine fresh;
        fresh.load(m.save());
        ASSERT_EQ(fresh.save(), m.save());
        ASSERT_EQ(fresh.statistics().objects, m.statistics().objects);
        ASSERT_EQ(fresh.statistics().erased, m.statistics().erased);
        ASSERT_EQ(fresh.statistics().bytes, m.statistics().bytes);
    }
}

TEST(state_machine_test, ignores_an_invalid_entry) {
    state_machine m;
    commit(m, {}, {{"a", true, "1"}});
    const std::string before = m.save();
    log_entry_builder e;
    e.add_commit(checks{{"a", 2}}, writes{{"a", true, "2"}, {"b", false, ""}});
    e.add_forget(keys{"a", "b"});
    e.add_prepare({"t", 1}, checks{{"a", 2}}, writes{{"c", true, "3"}});
    e.add_finish("t", true);
    const std::string good = e.finish();
    const auto is_refused = [&](const std::string& bytes) {
        const applied_entry result = m.apply(bytes);
        EXPECT_FALSE(result.is_readable);
        EXPECT_NE(result.why, "");
        EXPECT_EQ(m.save(), before);
    };
    is_refused("");
    for (std::size_t n = 0; n < good.size(); ++n) is_refused(good.substr(0, n));
    for (std::size_t n = 0; n < good.size(); ++n) {
        std::string bytes = good;
        bytes[n] = static_cast<char>(bytes[n] ^ (1 << (n % 8)));
        is_refused(bytes);
    }
    is_refused(good + "x");
    EXPECT_TRUE(m.apply(good).is_readable);
}

/// Bytes that follow a valid checksum are read within their bounds.
TEST(state_machine_test, applies_hostile_entries_deterministically) {
    std::mt19937_64 dice{1};
    log_entry_builder e;
    e.add_commit(checks{{"a", 2}}, writes{{"a", true, "22"}});
    e.add_forget(keys{"a"});
    e.add_prepare({"t", 1}, checks{{"b", 0}}, writes{{"c", true, "3"}});
    e.add_prepare({"u", 1}, checks{}, writes{{"b", true, "4"}});
    e.add_finish("t", true);
    const std::string good = e.finish();
    for (std::size_t i = 0; i < tutti::support::rounds(20000); ++i) {
        std::string bytes = good.substr(0, good.size() - 8);
        for (std::uint64_t n = 1 + dice() % 4; n > 0; --n)
            bytes[3 + dice() % (bytes.size() - 3)] = static_cast<char>(dice());
        if (dice() % 3 == 0) bytes.resize(3 + dice() % bytes.size());
        replica::finish_checksummed(bytes);
        state_machine one, two;
        commit(one, {}, {{"a", true, "1"}});
        commit(two, {}, {{"a", true, "1"}});
        const applied_entry result = one.apply(bytes), again = two.apply(bytes);
        ASSERT_EQ(result.is_readable, again.is_readable);
        ASSERT_EQ(result.results.size(), again.results.size());
        ASSERT_EQ(one.save(), two.save());
    }
}

TEST(state_machine_test, refuses_an_invalid_snapshot_without_changes) {
    state_machine m;
    commit(m, {}, {{"a", true, "1"}, {"b", true, ""}});
    commit(m, {}, {{"b", false, ""}});
    const std::string good = m.save();
    state_machine other;
    commit(other, {}, {{"c", true, "1"}});
    const std::string before = other.save();
    const auto is_refused = [&](const std::string& bytes) {
        EXPECT_THROW(other.load(bytes), backend::engine_error);
        EXPECT_EQ(other.save(), before);
    };
    for (std::size_t n = 0; n < good.size(); ++n) {
        is_refused(good.substr(0, n));
        std::string bytes = good;
        bytes[n] = static_cast<char>(bytes[n] ^ 4);
        is_refused(bytes);
    }
    // With a valid checksum: a count that is too large, versions of the future, a record twice.
    const auto summed = [](std::string bytes) {
        replica::finish_checksummed(bytes);
        return bytes;
    };
    const std::string body = good.substr(0, good.size() - 8);
    const std::size_t records = 12 + 8 + 8;
    std::string bytes = body;
    bytes[records] = 100;
    is_refused(summed(bytes));
    bytes = body;
    bytes[12 + 8] = 99;  // the version of keys without a record
    is_refused(summed(bytes));
    bytes = body;
    bytes[records + 8 + 4 + 1] = 99;  // the version of a
    is_refused(summed(bytes));
    bytes = body;
    bytes[body.size() - 8 - 10] = 'a';  // the key b
    is_refused(summed(bytes));
    bytes = body;
    bytes[body.size() - 8] = 1;  // a prepared transaction that is missing
    is_refused(summed(bytes));
    other.load(good);
    EXPECT_EQ(other.save(), good);
    EXPECT_EQ(other.floor(), other.latest());
}

/// Makes and erases objects, `at_once` of them in one commit.
void make_and_erase(state_machine& m, unsigned from, unsigned count, unsigned at_once = 1) {
    for (unsigned i = from; i < from + count; i += at_once) {
        writes made, erased;
        for (unsigned k = i; k < i + at_once; ++k) {
            made.push_back({"o" + std::to_string(k), true, "1"});
            erased.push_back({"o" + std::to_string(k), false, ""});
        }
        ASSERT_EQ(commit(m, {}, made).status, engine_status::good);
        ASSERT_EQ(commit(m, {}, erased).status, engine_status::good);
    }
}

TEST(state_machine_test, drops_erased_records_without_reusing_versions) {
    state_machine m{{.writes = 10}, 8};
    ASSERT_EQ(commit(m, {{"a", 0}}, {{"a", true, "1"}}).status, engine_status::good);
    const version erased = commit(m, {}, {{"a", false, ""}}).at;
    make_and_erase(m, 0, 100);
    EXPECT_LE(m.statistics().erased, 8u);
    EXPECT_EQ(m.statistics().objects, 0u);
    EXPECT_LT(m.save().size(), 400u);
    const backend::record now = read(m, {"a"})[0];
    EXPECT_FALSE(now.exists);
    EXPECT_GE(now.at, erased);
    // A commit that has read `a` before `a` was made, or as erased, fails. A check that a key has no record still
    // passes.
    EXPECT_EQ(commit(m, {{"a", 0}}, {{"b", true, "1"}}).status, engine_status::conflict);
    EXPECT_EQ(commit(m, {{"a", erased}}, {{"b", true, "1"}}).status, engine_status::conflict);
    EXPECT_EQ(commit(m, {{"never", backend::unwritten}}, {{"b", true, "1"}}).status, engine_status::good);
    EXPECT_EQ(commit(m, {{"b", backend::unwritten}}, {{"b", true, "1"}}).status, engine_status::conflict);
    EXPECT_EQ(commit(m, {{"o99", backend::unwritten}}, {{"b", true, "1"}}).status, engine_status::conflict)
        << "it is erased";
    // A program that reads `a` now can commit.
    EXPECT_EQ(commit(m, {{"a", read(m, {"a"})[0].at}}, {{"a", true, "2"}}).status, engine_status::good);
    EXPECT_GT(read(m, {"a"})[0].at, now.at);
}

TEST(state_machine_test, drops_most_records_of_a_large_erase) {
    state_machine m{{}, 8};
    make_and_erase(m, 0, 100, 100);
    EXPECT_EQ(m.statistics().erased, 4u);
    // The drop is a state of its own, and changes are reported all the same.
    EXPECT_EQ(m.latest(), 4u);
    version place = 1;
    std::vector<backend::change> reported;
    ASSERT_TRUE(m.changes_after(place, 1000, reported));
    EXPECT_EQ(reported.size(), 200u);
    EXPECT_EQ(place, m.latest());
    EXPECT_EQ(std::ranges::count(reported, false, [](const backend::change& c) { return c.value.exists; }), 100);
}

TEST(state_machine_test, keeps_earlier_states_when_dropping_erased_records) {
    state_machine m{{}, 4};
    const version made = commit(m, {}, {{"a", true, "1"}}).at;
    const version erased = commit(m, {}, {{"a", false, ""}}).at;
    std::vector<std::pair<version, backend::record>> seen;
    for (unsigned i = 0; i < 20; ++i) {
        make_and_erase(m, i, 1);
        seen.emplace_back(m.latest(), read(m, {"a"})[0]);
    }
    ASSERT_GT(m.absence(), erased);
    for (const auto& [at, was] : seen) EXPECT_EQ(read(m, {"a"}, at)[0].at, was.at);
    EXPECT_EQ(read(m, {"a"}, made)[0].bytes, "1");
    EXPECT_EQ(read(m, {"a"}, erased)[0].at, erased);
    EXPECT_EQ(read(m, {"never"}, made)[0].at, 0u);
    EXPECT_EQ(read(m, {"never"})[0].at, m.absence());
}

TEST(state_machine_test, drops_the_same_records_after_load_or_image) {
    for (std::uint64_t seed = 1; seed <= tutti::support::rounds(200); ++seed) {
        std::mt19937_64 dice{seed};
        const auto any = [&](std::size_t n) { return dice() % n; };
        const std::size_t most = 1 + any(6);
        state_machine m{{.writes = 5 + any(200)}, most}, other{{.writes = 1 + any(3)}, most};
        for (int step = 0; step < 200; ++step) {
            log_entry_builder e;
            for (std::size_t i = 1 + any(3); i > 0; --i) {
                const backend::key k = "k" + std::to_string(any(12));
                switch (any(8)) {
                    case 0: e.add_prepare({std::to_string(any(5)), 1}, {}, writes{{k, any(2) == 0, "p"}}); break;
                    case 1: e.add_finish(std::to_string(any(5)), any(2) == 0); break;
                    case 2:
                        e.add_import({}, std::vector<backend::change>{{k, {any(2) == 0, any(50), "c"}}}, any(50));
                        break;
                    default: e.add_commit({}, writes{{k, any(2) == 0, "1"}}); break;
                }
            }
            const std::string bytes = e.finish();
            ASSERT_TRUE(m.apply(bytes).is_readable);
            ASSERT_TRUE(other.apply(bytes).is_readable);
            ASSERT_EQ(m.save(), other.save()) << seed;
            ASSERT_LE(m.statistics().erased, most);
            if (any(10) != 0) continue;
            // In pieces, with an entry between any two.
            std::string image;
            m.begin_image();
            const std::string whole = m.save();
            while (!m.next_piece(100, 1000, image)) {
                const std::string more = commit_of({}, {{"k" + std::to_string(any(12)), any(2) == 0, "2"}});
                m.apply(more);
                other.apply(more);
            }
            replica::finish_checksummed(image);
            state_machine of_image{{}, most};
            of_image.load(image);
            ASSERT_EQ(of_image.save(), whole) << seed;
            const std::string saved = other.save();
            other = state_machine{{.writes = 1 + any(50)}, most};
            other.load(saved);
            ASSERT_EQ(m.absence(), other.absence());
        }
    }
}

TEST(state_machine_test, invalidates_a_read_absence_after_a_write) {
    for (std::uint64_t seed = 1; seed <= tutti::support::rounds(200); ++seed) {
        std::mt19937_64 dice{seed};
        const auto any = [&](std::size_t n) { return dice() % n; };
        const std::size_t most = 1 + any(6);
        state_machine m{{.writes = 10 + any(40)}, most};
        struct sight {
            backend::key of;
            version at = 0;
            std::size_t writes = 0;  // to the key, until then
        };
        std::map<backend::key, std::size_t> written;
        std::vector<sight> seen;
        for (int step = 0; step < 300; ++step) {
            const backend::key k = "k" + std::to_string(any(8));
            const backend::record now = read(m, {k})[0];
            seen.push_back({k, now.at, written[k]});
            const sight& one = seen[any(seen.size())];
            const bool passes = commit(m, {{one.of, one.at}}, {}).status == engine_status::good;
            ASSERT_TRUE(!passes || written[one.of] == one.writes) << seed << ": a change was missed";
            ASSERT_EQ(commit(m, {{k, now.at}}, {}).status, engine_status::good) << "a new read is current";
            if (any(3) == 0) {
                const backend::key w = "k" + std::to_string(any(8));
                commit(m, {}, {{w, any(3) == 0, "1"}});
                ++written[w];
            }
            if (any(40) == 0) {
                const std::string saved = m.save();
                m = state_machine{{.writes = 10 + any(40)}, most};
                m.load(saved);
            }
        }
    }
}

TEST(state_machine_test, drops_nothing_for_entries_of_earlier_releases) {
    const auto of_earlier = [](std::string bytes) {
        bytes.resize(bytes.size() - 8);
        bytes[2] = 3;
        replica::finish_checksummed(bytes);
        return bytes;
    };
    // One member begins with a snapshot of an earlier release, the other with the log.
    state_machine from_log{{}, 4}, from_snapshot{{}, 4};
    for (int i = 0; i < 100; ++i) {
        const std::string bytes = of_earlier(commit_of({}, {{"o" + std::to_string(i), false, ""}}));
        ASSERT_TRUE(from_log.apply(bytes).is_readable);
        if (i == 50) from_snapshot.load(from_log.save());
        if (i > 50) from_snapshot.apply(bytes);
    }
    EXPECT_EQ(from_log.statistics().erased, 100u);
    std::size_t before = 100;
    while (before > 4) {
        const std::string bytes = commit_of({}, {{"a", true, "1"}});
        from_log.apply(bytes);
        from_snapshot.apply(bytes);
        ASSERT_EQ(from_log.save(), from_snapshot.save());
        ASSERT_LT(from_log.statistics().erased, before);
        before = from_log.statistics().erased;
    }
}

TEST(state_machine_test, imports_the_absence_version_of_another_group) {
    state_machine from{{}, 4}, to{{}, 4};
    const version before = read(to, {"a"})[0].at;
    commit(from, {}, {{"a", true, "1"}});
    const version erased = commit(from, {}, {{"a", false, ""}}).at;
    make_and_erase(from, 0, 20);
    log_entry_builder e;
    e.add_import({}, {}, from.absence());
    ASSERT_EQ(to.apply(e.finish()).results[0].status, engine_status::good);
    EXPECT_GE(read(to, {"a"})[0].at, erased);
    EXPECT_EQ(commit(to, {{"a", before}}, {{"a", true, "2"}}).status, engine_status::conflict);
    EXPECT_GT(commit(to, {}, {{"a", true, "2"}}).at, from.absence());
    log_entry_builder impossible;
    impossible.add_import({}, {}, ~version{0});
    EXPECT_EQ(to.apply(impossible.finish()).results[0].status, engine_status::refused);
}

// The simulation notices each of these faults as well. These tests show which rule of the state machine each fault
// breaks.
#if defined(TUTTI_CLUSTER_FAULTS)

TEST(state_machine_test, fails_without_the_window_check) {
    state_machine m{{.writes = 2}};
    for (int i = 0; i < 8; ++i) commit(m, {}, {{"a", true, std::to_string(i)}});
    backend::read_snapshot of{2};
    std::vector<backend::record> found;
    replica::injected_fault = replica::fault::old_below_window;
    EXPECT_EQ(m.get(of, freshness::same, {}, keys{"a"}, found), engine_status::good);
    replica::injected_fault = replica::fault::none;
    EXPECT_NE(found[0].bytes, "0");
}

#endif

replica::operation_result import_into(state_machine& m, const checks& c, const std::vector<backend::change>& records) {
    log_entry_builder e;
    e.add_import(c, records, 0);
    return m.apply(e.finish()).results.at(0);
}

backend::change record_of(const backend::key& k, version at, const std::string& bytes) {
    return {k, {!bytes.empty(), at, bytes}};
}

TEST(state_machine_test, keeps_versions_of_imported_records) {
    state_machine m;
    const version before = commit(m, {}, {{"p", true, "arriving"}, {"b", true, "1"}}).at;
    ASSERT_EQ(import_into(m, {{"p", before}}, {record_of("a", 900, "9"), record_of("c", 3, "")}).status,
              engine_status::good);
    EXPECT_EQ(read(m, {"a"})[0].at, 900u);
    EXPECT_EQ(read(m, {"c"})[0].at, 3u);
    EXPECT_FALSE(read(m, {"c"})[0].exists);
    // Earlier states do not have the record, and a new write gets a version that the record never had.
    EXPECT_EQ(read(m, {"a"}, before)[0].at, 0u);
    EXPECT_GT(commit(m, {{"a", 900}}, {{"a", true, "10"}}).at, 900u);
    EXPECT_EQ(import_into(m, {{"p", before + 1}}, {record_of("b", 950, "2")}).status, engine_status::conflict);
    EXPECT_EQ(import_into(m, {}, {record_of("b", ~version{0}, "2")}).status, engine_status::refused);
    // A late record does not replace anything.
    const version now = read(m, {"a"})[0].at;
    ASSERT_EQ(import_into(m, {}, {record_of("a", 900, "9")}).status, engine_status::good);
    EXPECT_EQ(read(m, {"a"})[0].at, now);
    // No commit of this group has written the record.
    version place = before;
    std::vector<backend::change> reported;
    ASSERT_TRUE(m.changes_after(place, 100, reported));
    ASSERT_EQ(reported.size(), 1u);
    EXPECT_EQ(reported[0].value.bytes, "10");
    state_machine other;
    other.load(m.save());
    EXPECT_EQ(other.save(), m.save());
    EXPECT_EQ(read(other, {"c"})[0].at, 3u);
}

TEST(state_machine_test, hides_moved_records_from_later_states) {
    state_machine m{{.writes = 4}};
    const version one = commit(m, {}, {{"a", true, "1"}, {"b", true, "1"}}).at;
    ASSERT_EQ(import_into(m, {}, {record_of("a", 0, "")}).status, engine_status::good);
    EXPECT_EQ(read(m, {"a"})[0].at, 0u);
    EXPECT_EQ(read(m, {"a"}, one)[0].bytes, "1");
    EXPECT_EQ(m.statistics().objects, 1u);
    state_machine loaded;
    loaded.load(m.save());
    EXPECT_EQ(loaded.save(), m.save());
    for (int i = 0; i < 8; ++i) commit(m, {}, {{"b", true, std::to_string(i)}});
    EXPECT_GT(m.floor(), one);
    EXPECT_EQ(read(m, {"a"})[0].at, 0u);
    // The record comes back.
    ASSERT_EQ(import_into(m, {}, {record_of("a", one, "1")}).status, engine_status::good);
    EXPECT_EQ(read(m, {"a"})[0].at, one);
}

TEST(state_machine_test, lists_matching_records_in_pieces) {
    state_machine m;
    writes all;
    for (int i = 0; i < 200; ++i) all.push_back({(i % 2 == 0 ? "o" : "t") + std::to_string(i), true, "1"});
    commit(m, {}, all);
    state_machine::list_position place;
    std::vector<backend::change> found;
    unsigned pieces = 0;
    do {
        m.list(place, 16, 50, [](std::string_view k) { return k.starts_with('o'); }, found);
        ++pieces;
    } while (place.next != place.buckets);
    EXPECT_EQ(found.size(), 100u);
    EXPECT_GT(pieces, 5u);
    // New records do not move the records that are not listed yet.
    place = {};
    found.clear();
    m.list(place, 1000, 50, [](std::string_view k) { return k.starts_with('o'); }, found);
    ASSERT_NE(place.next, place.buckets);
    writes more;
    for (int i = 1000; i < 3000; ++i) more.push_back({"o" + std::to_string(i), true, "2"});
    commit(m, {}, more);
    const auto everything = ~std::size_t{0};
    m.list(place, everything, everything, [](std::string_view k) { return k.starts_with('o'); }, found);
    EXPECT_EQ(std::ranges::count(found, "1", [](const backend::change& c) { return c.value.bytes; }), 100);
    // A position in another state machine's table is not valid here.
    place = {7, 3};
    found.clear();
    m.list(place, everything, everything, [](std::string_view k) { return k.starts_with('o'); }, found);
    EXPECT_EQ(found.size(), 2100u);
}

/// Returns the image of a state machine that continues to work meanwhile.
std::string image_of(state_machine& m, const std::function<void()>& between) {
    std::string all;
    m.begin_image();
    do between();
    while (!m.next_piece(64, 1, all));
    replica::finish_checksummed(all);
    return all;
}

TEST(state_machine_test, writes_an_image_of_the_initial_state) {
    std::mt19937 dice{7};
    const auto any = [&dice](unsigned below) { return static_cast<unsigned>(dice() % below); };
    state_machine m;
    const auto change = [&] {
        const std::string k = "o" + std::to_string(any(3000));
        log_entry_builder e;
        switch (any(6)) {
            case 0: e.add_forget(keys{k}); break;
            case 1: e.add_commit({}, writes{{k, false, ""}}); break;
            case 2:
                e.add_import(
                    {}, std::vector<backend::change>{{k, {any(2) == 0, any(2) * 1'000'000UL, "from elsewhere"}}}, 0);
                break;
            case 3: e.add_prepare({std::to_string(any(20)), 1}, {}, writes{{k, true, "prepared"}}); break;
            case 4: e.add_finish(std::to_string(any(20)), any(2) == 0); break;
            default: e.add_commit({}, writes{{k, true, std::to_string(dice())}}); break;
        }
        ASSERT_TRUE(m.apply(e.finish()).is_readable);
    };
    for (int round = 0; round < 8; ++round) {
        for (int i = 0; i < 1000; ++i) change();
        const std::string before = m.save();
        const std::string image = image_of(m, [&] { change(); });
        EXPECT_FALSE(m.has_image());
        ASSERT_TRUE(state_machine::is_complete(image));
        state_machine loaded;
        loaded.load(image);
        ASSERT_EQ(loaded.save(), before);
        ASSERT_NE(m.save(), before);
    }
}

TEST(state_machine_test, detects_an_image_of_later_records) {
    state_machine m;
    for (int i = 0; i < 100; ++i) commit(m, {}, {{"o" + std::to_string(i), true, "before"}});
    const std::string before = m.save();
    replica::injected_fault = replica::fault::image_of_later_state;
    const std::string image = image_of(m, [&] { commit(m, {}, {{"o7", true, "after"}}); });
    replica::injected_fault = replica::fault::none;
    state_machine loaded;
    EXPECT_THROW(loaded.load(image), backend::engine_error);
    EXPECT_NE(loaded.save(), before);
}

TEST(state_machine_test, copies_changing_records_and_limits_image_pieces) {
    state_machine m;
    writes all;
    for (int i = 0; i < 20000; ++i) all.push_back({"o" + std::to_string(i), true, std::string(100, 'x')});
    commit(m, {}, all);
    m.begin_image();
    std::size_t pieces = 0, largest = 0;
    for (bool last = false; !last; ++pieces) {
        std::string piece;
        last = m.next_piece(4096, 10'000, piece);
        largest = std::max(largest, piece.size());
    }
    EXPECT_GT(pieces, 100u);
    EXPECT_LT(largest, 20'000u);  // plus one shard
    // An unfinished image is not part of the next one.
    m.begin_image();
    commit(m, {}, {{"o1", true, "other"}});
    const std::string before = m.save();
    state_machine loaded;
    loaded.load(image_of(m, [] {}));
    EXPECT_EQ(loaded.save(), before);
}

}  // namespace
