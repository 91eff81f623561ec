// The state machine of a group, alone: the effect of entries on records, the readable states, and the treatment of
// invalid bytes.
#include "cluster/replica/machine.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "cluster/replica/fault_injection.hpp"
#include "cluster/replica/machine_helpers.hpp"
#include "cluster/replica/sealed.hpp"
#include "support/effort.hpp"

namespace {

using namespace tutti::cluster;
using namespace tutti::cluster::replica::testing;

TEST(replica_machine, a_commit_writes_all_or_nothing_and_checks_what_it_has_read) {
    machine m;
    const auto first = commit(m, {{"a", 0}}, {{"a", true, "1"}, {"b", true, "1"}});
    ASSERT_EQ(first.said, verdict::good);
    EXPECT_EQ(commit(m, {{"a", 0}}, {{"a", true, "2"}, {"c", true, "2"}}).said, verdict::conflict);
    // Write skew: the checked record is not the written one.
    EXPECT_EQ(commit(m, {{"b", first.at + 1}}, {{"c", true, "2"}}).said, verdict::conflict);
    const auto found = read(m, {"a", "b", "c"});
    EXPECT_EQ(found[0].bytes, "1");
    EXPECT_EQ(found[1].at, first.at);
    EXPECT_FALSE(found[2].exists);
    EXPECT_EQ(found[2].at, 0u);
    EXPECT_EQ(m.latest(), first.at);
}

TEST(replica_machine, commits_of_one_entry_are_judged_one_after_the_other) {
    machine m;
    entry e;
    e.add_commit(checks{{"a", 0}}, writes{{"a", true, "1"}});
    e.add_commit(checks{{"a", 0}}, writes{{"a", true, "2"}});
    e.add_commit(checks{{"b", 0}}, writes{{"b", true, "3"}});
    const applied said = m.apply(e.finish());
    ASSERT_EQ(said.outcomes.size(), 3u);
    EXPECT_EQ(said.outcomes[0].said, verdict::good);
    EXPECT_EQ(said.outcomes[1].said, verdict::conflict);
    EXPECT_EQ(said.outcomes[2].said, verdict::good);
    EXPECT_LT(said.outcomes[0].at, said.outcomes[2].at);
    EXPECT_EQ(read(m, {"a"})[0].bytes, "1");
}

TEST(replica_machine, absent_is_not_the_same_twice) {
    machine m;
    ASSERT_EQ(commit(m, {{"a", 0}}, {{"a", true, "1"}}).said, verdict::good);
    const auto erased = commit(m, {}, {{"a", false, ""}});
    const auto now = read(m, {"a"})[0];
    EXPECT_FALSE(now.exists);
    EXPECT_EQ(now.at, erased.at);
    EXPECT_EQ(commit(m, {{"a", 0}}, {{"a", true, "2"}}).said, verdict::conflict);
    EXPECT_EQ(m.holds().erased, 1u);
    EXPECT_EQ(m.holds().objects, 0u);
    // An erasure is kept until it can no longer be requested. Its versions are never used again.
    entry e;
    e.add_forget(keys{"a"});
    ASSERT_TRUE(m.apply(e.finish()).readable);
    EXPECT_EQ(m.holds().erased, 0u);
    EXPECT_EQ(m.holds().bytes, 0u);
    EXPECT_GT(commit(m, {{"a", 0}}, {{"a", true, "3"}}).at, erased.at);
}

TEST(replica_machine, earlier_states_can_be_read_until_the_window_has_gone_on) {
    machine m{{.writes = 4}};
    // The empty state is a state, too: its readers do not see later writes.
    backend::snapshot nothing;
    std::vector<backend::record> none;
    ASSERT_EQ(m.get(nothing, freshness::same, {}, keys{"a"}, none), verdict::good);
    ASSERT_NE(nothing.at, 0u);
    std::vector<version> at;
    at.push_back(commit(m, {}, {{"a", true, "0"}}).at);
    ASSERT_EQ(m.get(nothing, freshness::same, {}, keys{"a"}, none), verdict::good);
    EXPECT_FALSE(none[0].exists);
    for (int i = 1; i < 8; ++i) at.push_back(commit(m, {}, {{"a", true, std::to_string(i)}}).at);
    ASSERT_LE(m.floor(), at[3]);
    for (int i = 3; i < 8; ++i) EXPECT_EQ(read(m, {"a"}, at[static_cast<unsigned>(i)])[0].bytes, std::to_string(i));
    backend::snapshot of{at[0]};
    std::vector<backend::record> found;
    EXPECT_EQ(m.get(of, freshness::same, {}, keys{"a"}, found), verdict::conflict);
    of.at = m.latest() + 1;
    EXPECT_EQ(m.get(of, freshness::same, {}, keys{"a"}, found), verdict::conflict);
    // Held records are checked in the requested state.
    of.at = at[5];
    EXPECT_EQ(m.get(of, freshness::same, checks{{"a", at[5]}}, keys{"b"}, found), verdict::good);
    EXPECT_EQ(m.get(of, freshness::now, checks{{"a", at[5]}}, keys{"b"}, found), verdict::conflict);
    EXPECT_EQ(of.at, at[5]);
}

TEST(replica_machine, the_window_is_bounded_by_bytes_too) {
    machine m{{.writes = 1000, .bytes = 1000}};
    for (int i = 0; i < 100; ++i) commit(m, {}, {{"a", true, std::string(100, 'x')}});
    EXPECT_LE(m.holds().kept_bytes, 1000u);
    EXPECT_EQ(m.holds().bytes, 101u);
    EXPECT_GT(m.floor(), 85u);
}

TEST(replica_machine, changes_come_in_the_order_of_commits_and_of_whole_ones) {
    machine m{{.writes = 10}};
    const auto first = commit(m, {}, {{"a", true, "1"}, {"b", true, "1"}});
    commit(m, {}, {{"a", false, ""}});
    commit(m, {}, {{"c", true, "3"}});
    version place = first.at - 1;
    std::vector<backend::change> all;
    ASSERT_TRUE(m.changes_after(place, 1, all));
    ASSERT_EQ(all.size(), 2u);  // both of one commit
    EXPECT_EQ(place, first.at);
    EXPECT_EQ(all[1].is.bytes, "1");
    ASSERT_TRUE(m.changes_after(place, 100, all));
    ASSERT_EQ(all.size(), 4u);
    EXPECT_FALSE(all[2].is.exists);
    EXPECT_EQ(all[3].of, "c");
    EXPECT_EQ(place, m.latest());
    ASSERT_TRUE(m.changes_after(place, 100, all));
    EXPECT_EQ(all.size(), 4u);
    for (int i = 0; i < 20; ++i) commit(m, {}, {{"d", true, ""}});
    EXPECT_FALSE(m.changes_after(place, 100, all));
    place = m.latest() + 1;
    EXPECT_FALSE(m.changes_after(place, 100, all));
}

/// A simple model of the machine: the whole history of each record.
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

TEST(replica_machine, agrees_with_a_model_and_with_one_that_was_loaded_in_between) {
    for (std::uint64_t seed = 1; seed <= tutti::support::rounds(200); ++seed) {
        random_load any{seed};
        machine m{{.writes = 5 + any.below(100)}};
        machine other{{.writes = 1}};
        model is;
        for (int step = 0; step < 100; ++step) {
            entry e;
            std::vector<bool> expected;
            for (std::size_t i = 1 + any.below(3); i > 0; --i) {
                const checks c = any.some_checks(is);
                const writes w = any.some_writes();
                e.add_commit(c, w);
                expected.push_back(is.commit(c, w));
            }
            const std::string bytes = e.finish();
            const applied said = m.apply(bytes);
            ASSERT_EQ(said.outcomes.size(), expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i)
                ASSERT_EQ(said.outcomes[i].said, expected[i] ? verdict::good : verdict::conflict);
            if (any.below(10) == 0) {
                const std::string saved = other.save();
                other = machine{{.writes = 1 + any.below(50)}};
                other.load(saved);
            }
            ASSERT_TRUE(other.apply(bytes).readable);
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
        // The counters equal those of a machine that has counted anew.
        machine fresh;
        fresh.load(m.save());
        ASSERT_EQ(fresh.save(), m.save());
        ASSERT_EQ(fresh.holds().objects, m.holds().objects);
        ASSERT_EQ(fresh.holds().erased, m.holds().erased);
        ASSERT_EQ(fresh.holds().bytes, m.holds().bytes);
    }
}

TEST(replica_machine, an_entry_that_nobody_has_written_changes_nothing) {
    machine m;
    commit(m, {}, {{"a", true, "1"}});
    const std::string before = m.save();
    entry e;
    e.add_commit(checks{{"a", 2}}, writes{{"a", true, "2"}, {"b", false, ""}});
    e.add_forget(keys{"a", "b"});
    e.add_prepare({"t", 1}, checks{{"a", 2}}, writes{{"c", true, "3"}});
    e.add_finish("t", true);
    const std::string good = e.finish();
    const auto is_refused = [&](const std::string& bytes) {
        const applied said = m.apply(bytes);
        EXPECT_FALSE(said.readable);
        EXPECT_NE(said.why, "");
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
    EXPECT_TRUE(m.apply(good).readable);
}

/// Bytes that follow a valid checksum are read within their bounds.
TEST(replica_machine, hostile_entries_are_judged_alike) {
    std::mt19937_64 dice{1};
    entry e;
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
        replica::seal(bytes);
        machine one, two;
        commit(one, {}, {{"a", true, "1"}});
        commit(two, {}, {{"a", true, "1"}});
        const applied said = one.apply(bytes), again = two.apply(bytes);
        ASSERT_EQ(said.readable, again.readable);
        ASSERT_EQ(said.outcomes.size(), again.outcomes.size());
        ASSERT_EQ(one.save(), two.save());
    }
}

TEST(replica_machine, a_snapshot_that_nobody_has_saved_is_refused_and_changes_nothing) {
    machine m;
    commit(m, {}, {{"a", true, "1"}, {"b", true, ""}});
    commit(m, {}, {{"b", false, ""}});
    const std::string good = m.save();
    machine other;
    commit(other, {}, {{"c", true, "1"}});
    const std::string before = other.save();
    const auto is_refused = [&](const std::string& bytes) {
        EXPECT_THROW(other.load(bytes), backend::refusal);
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
        replica::seal(bytes);
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
void make_and_erase(machine& m, unsigned from, unsigned count, unsigned at_once = 1) {
    for (unsigned i = from; i < from + count; i += at_once) {
        writes made, erased;
        for (unsigned k = i; k < i + at_once; ++k) {
            made.push_back({"o" + std::to_string(k), true, "1"});
            erased.push_back({"o" + std::to_string(k), false, ""});
        }
        ASSERT_EQ(commit(m, {}, made).said, verdict::good);
        ASSERT_EQ(commit(m, {}, erased).said, verdict::good);
    }
}

TEST(replica_machine, erased_records_go_and_their_versions_do_not_come_again) {
    machine m{{.writes = 10}, 8};
    ASSERT_EQ(commit(m, {{"a", 0}}, {{"a", true, "1"}}).said, verdict::good);
    const version erased = commit(m, {}, {{"a", false, ""}}).at;
    make_and_erase(m, 0, 100);
    EXPECT_LE(m.holds().erased, 8u);
    EXPECT_EQ(m.holds().objects, 0u);
    EXPECT_LT(m.save().size(), 400u);
    const backend::record now = read(m, {"a"})[0];
    EXPECT_FALSE(now.exists);
    EXPECT_GE(now.at, erased);
    // Of those who read it before it was made, or as erased, nobody commits. A check for no record still passes.
    EXPECT_EQ(commit(m, {{"a", 0}}, {{"b", true, "1"}}).said, verdict::conflict);
    EXPECT_EQ(commit(m, {{"a", erased}}, {{"b", true, "1"}}).said, verdict::conflict);
    EXPECT_EQ(commit(m, {{"never", backend::unwritten}}, {{"b", true, "1"}}).said, verdict::good);
    EXPECT_EQ(commit(m, {{"b", backend::unwritten}}, {{"b", true, "1"}}).said, verdict::conflict);
    EXPECT_EQ(commit(m, {{"o99", backend::unwritten}}, {{"b", true, "1"}}).said, verdict::conflict) << "it is erased";
    // A program that reads it now commits.
    EXPECT_EQ(commit(m, {{"a", read(m, {"a"})[0].at}}, {{"a", true, "2"}}).said, verdict::good);
    EXPECT_GT(read(m, {"a"})[0].at, now.at);
}

TEST(replica_machine, a_commit_that_erases_more_than_are_kept_leaves_few) {
    machine m{{}, 8};
    make_and_erase(m, 0, 100, 100);
    EXPECT_EQ(m.holds().erased, 4u);
    // The drop is a state of its own, and changes are told all the same.
    EXPECT_EQ(m.latest(), 4u);
    version place = 1;
    std::vector<backend::change> told;
    ASSERT_TRUE(m.changes_after(place, 1000, told));
    EXPECT_EQ(told.size(), 200u);
    EXPECT_EQ(place, m.latest());
    EXPECT_EQ(std::ranges::count(told, false, [](const backend::change& c) { return c.is.exists; }), 100);
}

TEST(replica_machine, states_of_the_window_stay_as_they_were_when_erased_records_go) {
    machine m{{}, 4};
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

TEST(replica_machine, members_that_load_or_write_images_drop_the_same) {
    for (std::uint64_t seed = 1; seed <= tutti::support::rounds(200); ++seed) {
        std::mt19937_64 dice{seed};
        const auto any = [&](std::size_t n) { return dice() % n; };
        const std::size_t most = 1 + any(6);
        machine m{{.writes = 5 + any(200)}, most}, other{{.writes = 1 + any(3)}, most};
        for (int step = 0; step < 200; ++step) {
            entry e;
            for (std::size_t i = 1 + any(3); i > 0; --i) {
                const backend::key k = "k" + std::to_string(any(12));
                switch (any(8)) {
                    case 0: e.add_prepare({std::to_string(any(5)), 1}, {}, writes{{k, any(2) == 0, "p"}}); break;
                    case 1: e.add_finish(std::to_string(any(5)), any(2) == 0); break;
                    case 2:
                        e.add_adopt({}, std::vector<backend::change>{{k, {any(2) == 0, any(50), "c"}}}, any(50));
                        break;
                    default: e.add_commit({}, writes{{k, any(2) == 0, "1"}}); break;
                }
            }
            const std::string bytes = e.finish();
            ASSERT_TRUE(m.apply(bytes).readable);
            ASSERT_TRUE(other.apply(bytes).readable);
            ASSERT_EQ(m.save(), other.save()) << seed;
            ASSERT_LE(m.holds().erased, most);
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
            replica::seal(image);
            machine of_image{{}, most};
            of_image.load(image);
            ASSERT_EQ(of_image.save(), whole) << seed;
            const std::string saved = other.save();
            other = machine{{.writes = 1 + any(50)}, most};
            other.load(saved);
            ASSERT_EQ(m.absence(), other.absence());
        }
    }
}

TEST(replica_machine, no_absence_that_was_read_is_current_after_the_key_was_written) {
    for (std::uint64_t seed = 1; seed <= tutti::support::rounds(200); ++seed) {
        std::mt19937_64 dice{seed};
        const auto any = [&](std::size_t n) { return dice() % n; };
        const std::size_t most = 1 + any(6);
        machine m{{.writes = 10 + any(40)}, most};
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
            const bool passes = commit(m, {{one.of, one.at}}, {}).said == verdict::good;
            ASSERT_TRUE(!passes || written[one.of] == one.writes) << seed << ": a change was missed";
            ASSERT_EQ(commit(m, {{k, now.at}}, {}).said, verdict::good) << "what is read now is current";
            if (any(3) == 0) {
                const backend::key w = "k" + std::to_string(any(8));
                commit(m, {}, {{w, any(3) == 0, "1"}});
                ++written[w];
            }
            if (any(40) == 0) {
                const std::string saved = m.save();
                m = machine{{.writes = 10 + any(40)}, most};
                m.load(saved);
            }
        }
    }
}

TEST(replica_machine, entries_of_earlier_releases_drop_nothing) {
    const auto of_earlier = [](std::string bytes) {
        bytes.resize(bytes.size() - 8);
        bytes[2] = 3;
        replica::seal(bytes);
        return bytes;
    };
    // One member begins with a snapshot of an earlier release, the other with the log.
    machine from_log{{}, 4}, from_snapshot{{}, 4};
    for (int i = 0; i < 100; ++i) {
        const std::string bytes = of_earlier(commit_of({}, {{"o" + std::to_string(i), false, ""}}));
        ASSERT_TRUE(from_log.apply(bytes).readable);
        if (i == 50) from_snapshot.load(from_log.save());
        if (i > 50) from_snapshot.apply(bytes);
    }
    EXPECT_EQ(from_log.holds().erased, 100u);
    std::size_t before = 100;
    while (before > 4) {
        const std::string bytes = commit_of({}, {{"a", true, "1"}});
        from_log.apply(bytes);
        from_snapshot.apply(bytes);
        ASSERT_EQ(from_log.save(), from_snapshot.save());
        ASSERT_LT(from_log.holds().erased, before);
        before = from_log.holds().erased;
    }
}

TEST(replica_machine, records_of_another_group_bring_what_it_has_dropped) {
    machine from{{}, 4}, to{{}, 4};
    const version before = read(to, {"a"})[0].at;
    commit(from, {}, {{"a", true, "1"}});
    const version erased = commit(from, {}, {{"a", false, ""}}).at;
    make_and_erase(from, 0, 20);
    entry e;
    e.add_adopt({}, {}, from.absence());
    ASSERT_EQ(to.apply(e.finish()).outcomes[0].said, verdict::good);
    EXPECT_GE(read(to, {"a"})[0].at, erased);
    EXPECT_EQ(commit(to, {{"a", before}}, {{"a", true, "2"}}).said, verdict::conflict);
    EXPECT_GT(commit(to, {}, {{"a", true, "2"}}).at, from.absence());
    entry impossible;
    impossible.add_adopt({}, {}, ~version{0});
    EXPECT_EQ(to.apply(impossible.finish()).outcomes[0].said, verdict::refused);
}

// The simulation notices each of these faults as well. These tests show which rule of the machine each fault breaks.
#if defined(TUTTI_CLUSTER_FAULTS)

TEST(replica_machine, a_window_that_is_too_old_shows_another_state_if_nobody_looks) {
    machine m{{.writes = 2}};
    for (int i = 0; i < 8; ++i) commit(m, {}, {{"a", true, std::to_string(i)}});
    backend::snapshot of{2};
    std::vector<backend::record> found;
    replica::injected_fault = replica::fault::old_below_window;
    EXPECT_EQ(m.get(of, freshness::same, {}, keys{"a"}, found), verdict::good);
    replica::injected_fault = replica::fault::none;
    EXPECT_NE(found[0].bytes, "0");
}

#endif

replica::outcome adopt(machine& m, const checks& c, const std::vector<backend::change>& records) {
    entry e;
    e.add_adopt(c, records, 0);
    return m.apply(e.finish()).outcomes.at(0);
}

backend::change record_of(const backend::key& k, version at, const std::string& bytes) {
    return {k, {!bytes.empty(), at, bytes}};
}

TEST(replica_machine, records_of_another_group_keep_their_versions) {
    machine m;
    const version before = commit(m, {}, {{"p", true, "arriving"}, {"b", true, "1"}}).at;
    ASSERT_EQ(adopt(m, {{"p", before}}, {record_of("a", 900, "9"), record_of("c", 3, "")}).said, verdict::good);
    EXPECT_EQ(read(m, {"a"})[0].at, 900u);
    EXPECT_EQ(read(m, {"c"})[0].at, 3u);
    EXPECT_FALSE(read(m, {"c"})[0].exists);
    // Earlier states do not have the record, and a new write gets a version that the record never had.
    EXPECT_EQ(read(m, {"a"}, before)[0].at, 0u);
    EXPECT_GT(commit(m, {{"a", 900}}, {{"a", true, "10"}}).at, 900u);
    EXPECT_EQ(adopt(m, {{"p", before + 1}}, {record_of("b", 950, "2")}).said, verdict::conflict);
    EXPECT_EQ(adopt(m, {}, {record_of("b", ~version{0}, "2")}).said, verdict::refused);
    // A late record does not replace anything.
    const version now = read(m, {"a"})[0].at;
    ASSERT_EQ(adopt(m, {}, {record_of("a", 900, "9")}).said, verdict::good);
    EXPECT_EQ(read(m, {"a"})[0].at, now);
    // No commit of this group has written the record.
    version place = before;
    std::vector<backend::change> told;
    ASSERT_TRUE(m.changes_after(place, 100, told));
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].is.bytes, "10");
    machine other;
    other.load(m.save());
    EXPECT_EQ(other.save(), m.save());
    EXPECT_EQ(read(other, {"c"})[0].at, 3u);
}

TEST(replica_machine, what_has_gone_to_another_group_is_only_in_states_before) {
    machine m{{.writes = 4}};
    const version one = commit(m, {}, {{"a", true, "1"}, {"b", true, "1"}}).at;
    ASSERT_EQ(adopt(m, {}, {record_of("a", 0, "")}).said, verdict::good);
    EXPECT_EQ(read(m, {"a"})[0].at, 0u);
    EXPECT_EQ(read(m, {"a"}, one)[0].bytes, "1");
    EXPECT_EQ(m.holds().objects, 1u);
    machine loaded;
    loaded.load(m.save());
    EXPECT_EQ(loaded.save(), m.save());
    for (int i = 0; i < 8; ++i) commit(m, {}, {{"b", true, std::to_string(i)}});
    EXPECT_GT(m.floor(), one);
    EXPECT_EQ(read(m, {"a"})[0].at, 0u);
    // The record comes back.
    ASSERT_EQ(adopt(m, {}, {record_of("a", one, "1")}).said, verdict::good);
    EXPECT_EQ(read(m, {"a"})[0].at, one);
}

TEST(replica_machine, all_of_some_keys_is_listed_in_pieces) {
    machine m;
    writes all;
    for (int i = 0; i < 200; ++i) all.push_back({(i % 2 == 0 ? "o" : "t") + std::to_string(i), true, "1"});
    commit(m, {}, all);
    machine::listed place;
    std::vector<backend::change> found;
    unsigned pieces = 0;
    do {
        m.list(place, 16, 50, [](std::string_view k) { return k.starts_with('o'); }, found);
        ++pieces;
    } while (place.next != place.buckets);
    EXPECT_EQ(found.size(), 100u);
    EXPECT_GT(pieces, 5u);
    // Records that grow meanwhile do not move the records that are not listed yet.
    place = {};
    found.clear();
    m.list(place, 1000, 50, [](std::string_view k) { return k.starts_with('o'); }, found);
    ASSERT_NE(place.next, place.buckets);
    writes more;
    for (int i = 1000; i < 3000; ++i) more.push_back({"o" + std::to_string(i), true, "2"});
    commit(m, {}, more);
    const auto everything = ~std::size_t{0};
    m.list(place, everything, everything, [](std::string_view k) { return k.starts_with('o'); }, found);
    EXPECT_EQ(std::ranges::count(found, "1", [](const backend::change& c) { return c.is.bytes; }), 100);
    // A place in another machine's table is not valid here.
    place = {7, 3};
    found.clear();
    m.list(place, everything, everything, [](std::string_view k) { return k.starts_with('o'); }, found);
    EXPECT_EQ(found.size(), 2100u);
}

/// Returns the image of a machine that continues to work meanwhile.
std::string image_of(machine& m, const std::function<void()>& between) {
    std::string all;
    m.begin_image();
    do between();
    while (!m.next_piece(64, 1, all));
    replica::seal(all);
    return all;
}

TEST(replica_machine, an_image_is_of_the_state_in_which_it_was_begun) {
    std::mt19937 dice{7};
    const auto any = [&dice](unsigned below) { return static_cast<unsigned>(dice() % below); };
    machine m;
    const auto change = [&] {
        const std::string k = "o" + std::to_string(any(3000));
        entry e;
        switch (any(6)) {
            case 0: e.add_forget(keys{k}); break;
            case 1: e.add_commit({}, writes{{k, false, ""}}); break;
            case 2:
                e.add_adopt(
                    {}, std::vector<backend::change>{{k, {any(2) == 0, any(2) * 1'000'000UL, "from elsewhere"}}}, 0);
                break;
            case 3: e.add_prepare({std::to_string(any(20)), 1}, {}, writes{{k, true, "prepared"}}); break;
            case 4: e.add_finish(std::to_string(any(20)), any(2) == 0); break;
            default: e.add_commit({}, writes{{k, true, std::to_string(dice())}}); break;
        }
        ASSERT_TRUE(m.apply(e.finish()).readable);
    };
    for (int round = 0; round < 8; ++round) {
        for (int i = 0; i < 1000; ++i) change();
        const std::string before = m.save();
        const std::string image = image_of(m, [&] { change(); });
        EXPECT_FALSE(m.has_image());
        ASSERT_TRUE(machine::is_whole(image));
        machine loaded;
        loaded.load(image);
        ASSERT_EQ(loaded.save(), before);
        ASSERT_NE(m.save(), before);
    }
}

TEST(replica_machine, an_image_of_later_records_would_be_seen) {
    machine m;
    for (int i = 0; i < 100; ++i) commit(m, {}, {{"o" + std::to_string(i), true, "before"}});
    const std::string before = m.save();
    replica::injected_fault = replica::fault::image_of_later;
    const std::string image = image_of(m, [&] { commit(m, {}, {{"o7", true, "after"}}); });
    replica::injected_fault = replica::fault::none;
    machine loaded;
    EXPECT_THROW(loaded.load(image), backend::refusal);
    EXPECT_NE(loaded.save(), before);
}

TEST(replica_machine, an_image_copies_what_changes_meanwhile_and_no_piece_is_large) {
    machine m;
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
    machine loaded;
    loaded.load(image_of(m, [] {}));
    EXPECT_EQ(loaded.save(), before);
}

}  // namespace
