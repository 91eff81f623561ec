// One-step commits on a single node, from several threads: the protocol without the engine and the network.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/ordering/fault_injection.hpp"
#include "cluster/protocol/transaction.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti::cluster;
namespace support = tutti::support;
namespace wire = tutti::wire;

class nobody_else final : public network {
public:
    void exchange(std::span<call> calls) override { EXPECT_TRUE(calls.empty()); }
    void begin(std::span<call> calls) override { EXPECT_TRUE(calls.empty()); }
    void finish() override { ADD_FAILURE(); }
    void post(node_number, tutti::wire::message_type, std::string) override { ADD_FAILURE(); }
    bool is_reachable(node_number) const noexcept override { return true; }
    void pause(unsigned) override { std::this_thread::yield(); }
};

constexpr std::uint64_t accounts = 6;
constexpr long opening = 100;

/// The balance is stored twice, so that a torn write shows.
using balances = std::array<long, 2>;

std::string bytes_of(long balance) {
    const balances both{balance, balance};
    return {reinterpret_cast<const char*>(&both), sizeof both};
}

long balance_of(const std::string& bytes) {
    balances both{};
    std::memcpy(&both, bytes.data(), std::min(bytes.size(), sizeof both));
    constexpr long torn = 1'000'000;
    return both[0] == both[1] ? both[0] : torn;
}

/// A bank on a node of a one-node cluster.
class bank {
public:
    bank() {
        nobody_else network;
        distributed_transaction t{here, network, 0};
        EXPECT_TRUE(t.begin());
        for (std::uint64_t i = 0; i < accounts; ++i) set(t, i, opening);
        EXPECT_EQ(t.prepare(true), protocol_status::good);
        t.commit();
    }
    /// Transfers 1. With `at_once`, the commit is one step. Otherwise, the commit locks objects, as in a cluster of
    /// several nodes.
    static bool transfer(distributed_transaction& t, std::uint64_t from, std::uint64_t to, bool at_once) {
        if (!t.begin()) return false;
        if (!add(t, from, -1) || !add(t, to, 1)) return false;
        if (t.prepare(at_once) != protocol_status::good) return false;
        EXPECT_EQ(t.is_decided(), at_once);
        if (!at_once) std::this_thread::yield();  // lets other threads run while the locks are held
        t.commit();
        return true;
    }
    /// Returns the sum of all accounts, read one after another, or 0 if the transaction must start over.
    static long sum(distributed_transaction& t, bool snapshot) {
        if (!t.begin(snapshot)) return 0;
        long all = 0;
        for (std::uint64_t i = 0; i < accounts; ++i) {
            if (!open(t, i)) return 0;
            all += balance_of(t.find({0, i})->bytes);
            std::this_thread::yield();  // gives the other threads time to commit
        }
        t.end_snapshot();
        return all;
    }

    protocol_node here{0, 1, object_placement::home};

private:
    static bool open(distributed_transaction& t, std::uint64_t i) {
        const object_id id{0, i};
        return t.open({&id, 1}) == protocol_status::good;
    }
    static bool set(distributed_transaction& t, std::uint64_t i, long balance) {
        if (!open(t, i)) return false;
        object_entry& e = *t.find({0, i});
        e.written = e.will_exist = true;
        e.fresh = bytes_of(balance);
        return true;
    }
    static bool add(distributed_transaction& t, std::uint64_t i, long by) {
        return open(t, i) && set(t, i, balance_of(t.find({0, i})->bytes) + by);
    }
};

/// Runs two threads that transfer, and two threads that read. One transferring thread commits in one step. The other
/// one alternates between one step and locks. Returns a description of the error, or an empty string.
std::string run_bank(std::size_t transfers) {
    bank b;
    std::atomic<unsigned> running{2};
    std::atomic<bool> torn{false};
    std::vector<std::jthread> threads;
    for (std::uint16_t slot = 1; slot <= 2; ++slot) {
        threads.emplace_back([&, slot] {
            nobody_else network;
            distributed_transaction t{b.here, network, slot};
            for (std::size_t i = 0; i < transfers; ++i) {
                const std::uint64_t from = (i + slot) % accounts, to = (i * 5 + 1) % accounts;
                while (from != to && !bank::transfer(t, from, to, slot == 1 || i % 2 == 0)) std::this_thread::yield();
            }
            running.fetch_sub(1);
        });
        threads.emplace_back([&, slot] {
            nobody_else network;
            distributed_transaction t{b.here, network, static_cast<std::uint16_t>(slot + 2)};
            while (running.load() != 0) {
                const long all = bank::sum(t, slot == 1);
                if (all != 0 && all != accounts * opening) torn = true;
            }
        });
    }
    threads.clear();
    nobody_else network;
    distributed_transaction t{b.here, network, 0};
    if (torn) return "a sum of two moments";
    return bank::sum(t, false) == accounts * opening ? "" : "money was lost";
}

TEST(cluster_local_commit, keeps_the_total_under_concurrent_commits) {
    const support::watchdog guard{"keeps_the_total_under_concurrent_commits"};
    EXPECT_EQ(run_bank(support::rounds(4'000)), "");
}

// A build with a sanitizer checks memory and threads. The other builds check that the tests notice broken steps.
#if !defined(TUTTI_SANITIZED)

class cluster_local_commit_with_faults : public ::testing::TestWithParam<fault> {};

TEST_P(cluster_local_commit_with_faults, is_caught) {
    const support::watchdog guard{"cluster_local_commit_with_faults"};
    injected_fault = GetParam();
    std::string found;
    for (int turn = 0; found.empty() && turn < 5000; ++turn) found = run_bank(500);
    injected_fault = fault::none;
    EXPECT_NE(found, "");
}

// The simulation covers the faults that show even if commits run one after another.
INSTANTIATE_TEST_SUITE_P(all, cluster_local_commit_with_faults,
                         ::testing::Values(fault::local_commit_in_parts, fault::draw_version_early,
                                           fault::read_during_change, fault::show_locked),
                         [](const auto& p) {
                             switch (p.param) {
                                 case fault::local_commit_in_parts: return "in_parts";
                                 case fault::draw_version_early: return "version_drawn_early";
                                 case fault::read_during_change: return "read_during_change";
                                 default: return "show_locked";
                             }
                         });

#endif

// ---- SEQ1 to SEQ4: a read of an object's header, between whose loads another thread changes that header

/// Runs a function before each load that the read makes. The function's argument is the number of that load.
struct between {
    static inline std::function<void(unsigned)> happens;
    static inline unsigned loads = 0;
    static void before_load() { happens(loads++); }
    [[nodiscard]] static constexpr bool skips_recheck() noexcept { return false; }
};

struct look_at_change {
    const char* what;
    void (*change)(seqlock_object& s);  // called while the object is closed; leaves it open or closed
};

constexpr object_id looked_for{1, 2};
constexpr std::uint64_t time_of_look = 10, its_tag = 7;
using pair = std::array<long, 2>;

void show_pair(seqlock_object& s, std::uint64_t version, long number) {
    pair p{number, number};
    s.end_write(version, {&p, sizeof p, its_tag});
}

const look_at_change changes[]{
    {"written", [](seqlock_object& s) { show_pair(s, time_of_look + 1, 2); }},
    // Changes the value under the same version. No commit does this.
    {"written_in_silence", [](seqlock_object& s) { show_pair(s, 3, 2); }},
    {"erased", [](seqlock_object& s) { s.end_write(false, time_of_look + 1, "", false); }},
    {"of_another_type",
     [](seqlock_object& s) {
         pair p{2, 2};
         s.end_write(3, {&p, sizeof p, its_tag + 1});
     }},
    {"of_another_size",
     [](seqlock_object& s) {
         long number = 2;
         s.end_write(3, {&number, sizeof number, its_tag});
     }},
    {"another_object",
     [](seqlock_object& s) {
         static_cast<void>(s.reuse({1, 3}));
         show_pair(s, 3, 2);
     }},
    {"only_locked", [](seqlock_object& s) { s.cancel_write(); }},
    {"locked", [](seqlock_object&) {}},
};

class cluster_seqlock_object : public ::testing::TestWithParam<look_at_change> {};

// Catches a read that does not compare the seqlock's word, or compares it with the wrong word. Catches a read that
// accepts a closed object. Catches a read that does not check the object's id, type, length, existence or version.
TEST_P(cluster_seqlock_object, reads_one_state_or_fails) {
    constexpr unsigned last = 12;  // more than the number of loads
    for (unsigned begins = 0; begins <= last; ++begins) {
        for (unsigned ends = begins; ends <= last; ++ends) {
            seqlock_object s;
            static_cast<void>(s.reuse(looked_for));
            show_pair(s, 3, 1);
            between::loads = 0;
            between::happens = [&](unsigned load) {
                if (load == begins) s.begin_write();
                if (load == ends) GetParam().change(s);
            };
            pair got{};
            std::uint64_t word = 0, version = 0;
            const detail::seqlock_object_base& looked_at = s;
            const bool sees = looked_at.try_read<sizeof got, between>(looked_for, time_of_look,
                                                                      {&got, sizeof got, its_tag}, word, version);
            ASSERT_LT(between::loads, last);
            const std::string what{GetParam().what};
            const bool is_over_before = ends == 0, begins_after = begins >= between::loads;
            const bool leaves_it = what == "only_locked" && ends < between::loads;
            const bool may_see = begins_after || leaves_it || (is_over_before && what == "written_in_silence");
            EXPECT_TRUE(may_see || !sees) << begins << " to " << ends;
            EXPECT_TRUE(sees || !(begins_after || (leaves_it && is_over_before))) << begins << " to " << ends;
            if (!sees) continue;
            EXPECT_EQ(got, (is_over_before && !leaves_it ? pair{2, 2} : pair{1, 1}));
            EXPECT_EQ(version, 3u);
            EXPECT_TRUE(s.is_unchanged_since(word));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(all, cluster_seqlock_object, ::testing::ValuesIn(changes),
                         [](const auto& p) { return std::string{p.param.what}; });

// ---- DIR11: in-place commits

/// A node of a one-node cluster, with helpers to see and write its objects as one thread does.
struct in_place {
    void write(const object_id& id, const std::string& bytes) {
        ASSERT_EQ(objects.lock_to_write(id, read_object(id).version, other), wire::lock_refusal::none);
        objects.apply_decision(id, wire::action::put, std::string{bytes}, clock.tick(), other);
    }
    /// Reads the object with the lock.
    wire::object_view read_object(const object_id& id, std::uint64_t at = wire::newest) {
        wire::object_view view;
        object_directory::lookup_hint found;
        objects.read(id, view, at, found);
        return view;
    }
    /// Reads the object without the lock.
    object_directory::lookup_hint see(const object_id& id) {
        wire::object_view view;
        object_directory::lookup_hint found;
        objects.read(id, view, wire::newest, found);
        EXPECT_TRUE(objects.reread(found, id, view));
        return found;
    }
    /// Reads like `see`, but retries while another thread has the object closed for a read.
    object_directory::lookup_hint see_in_the_end(const object_id& id) {
        wire::object_view view;
        object_directory::lookup_hint found;
        do objects.read(id, view, wire::newest, found);
        while (!objects.reread(found, id, view));
        return found;
    }
    /// Wraps a number that has the length that `bytes_of` encodes.
    static detail::typed_bytes image_of(long& number) { return {&number, sizeof number, 7}; }
    static std::string bytes_of(long number) {
        std::string bytes(2 * sizeof number, '\0');
        constexpr std::uint64_t tag = 7;
        std::memcpy(bytes.data(), &tag, sizeof tag);
        std::memcpy(bytes.data() + sizeof tag, &number, sizeof number);
        return bytes;
    }
    /// Writes `number` to the object seen at `written`, after a read of the object seen at `read`.
    bool commit(const object_directory::lookup_hint& read, const object_directory::lookup_hint& written, long number) {
        const std::array<object_directory::in_place_write, 2> spots{
            object_directory::in_place_write{read.object, read.word, {}},
            object_directory::in_place_write{written.object, written.word, image_of(number)}};
        return objects.commit_in_place(spots, version);
    }

    const object_id x{0, 1}, y{0, 2};
    const transaction_name other{.node = 0, .slot = 9, .sequence = 1};
    logical_clock clock;
    snapshot_tracker readers{0, 1, clock};
    object_directory objects{0, 1, clock, readers};
    std::uint64_t version = 0;
};

/// Returns a description of the error, or an empty string.
std::string run_in_place() {
    in_place n;
    n.write(n.x, in_place::bytes_of(1));
    n.write(n.y, in_place::bytes_of(2));
    const auto again = [&](long number) { return n.commit(n.see(n.x), n.see(n.y), number); };
    const auto is_there = [&](long number) { return n.read_object(n.y).bytes == in_place::bytes_of(number); };

    if (!again(3)) return "it is not done where nothing is in the way";
    if (!is_there(3)) return "who has the shard's lock does not see it";
    if (n.read_object(n.y).version != n.version || n.version != n.clock.now()) return "it has another version";

    object_directory::lookup_hint x = n.see(n.x), y = n.see(n.y);
    n.write(n.x, in_place::bytes_of(4));
    if (n.commit(x, y, 5)) return "what it has read is another one";
    x = n.see(n.x);
    if (!n.commit(x, y, 5)) return "what it did not get to write is not what it was";
    if (n.commit(x, y, 6)) return "what it writes is another one";
    y = n.see(n.y);
    if (n.objects.lock_to_write(n.x, n.read_object(n.x).version, n.other) != wire::lock_refusal::none)
        return "x is locked";
    if (n.commit(x, y, 6)) return "what it has read is locked for writing";
    n.objects.unlock(n.x, n.other);

    if (n.objects.lock_to_read(n.y, n.read_object(n.y).version, n.other) != wire::lock_refusal::none)
        return "y is locked";
    if (again(6)) return "what it writes is locked for reading";
    n.objects.unlock(n.y, n.other);
    if (!again(6)) return "what was locked for reading is never written again";

    wire::object_view view;
    if (!n.objects.reserve(n.y, {.who = n.other, .irrevocable = true, .ids = {}}, true, view)) return "y is reserved";
    if (again(7)) return "what it writes is reserved";
    n.objects.end_reservation(n.y, n.other.thread());
    if (!again(7)) return "what was reserved is never written again";

    std::array<long, 2> longer{};
    y = n.see(n.y);
    const std::array<object_directory::in_place_write, 1> alone{
        object_directory::in_place_write{y.object, y.word, {longer.data(), sizeof longer, 7}}};
    if (n.objects.commit_in_place(alone, n.version)) return "it grows, for which its entry may have no memory";

    if (!n.objects.watch(n.y, n.read_object(n.y).version, 0)) return "y is another one";
    if (again(8)) return "its watcher is not notified";
    return is_there(7) ? "" : "what was refused is there";
}

/// Runs the same commits beside a reader that may request the previous versions.
std::string run_in_place_beside_reader() {
    in_place n;
    n.write(n.x, in_place::bytes_of(1));
    n.write(n.y, in_place::bytes_of(2));
    const object_directory::lookup_hint x = n.see(n.x), y = n.see(n.y);
    const std::uint64_t time = n.readers.enter();
    static_cast<void>(n.commit(x, y, 3));
    const wire::object_view then = n.read_object(n.y, time);
    n.readers.leave(time);
    if (then.where != wire::lookup_result::here || then.bytes != in_place::bytes_of(2))
        return "a reader misses a value";
    return n.commit(x, n.see(n.y), 4) ? "" : "it is not done when the reader has ended";
}

/// Runs two threads, each of which writes the object that the other has read. At least one of each pair must fail.
std::string run_skew(std::size_t rounds) {
    in_place n;
    n.write(n.x, in_place::bytes_of(0));
    n.write(n.y, in_place::bytes_of(0));
    std::barrier<> together{2};
    std::atomic<unsigned> commits{0};
    std::atomic<bool> skewed{false};
    const auto take_part = [&](const object_id& reads, const object_id& writes, bool judges) {
        for (std::size_t i = 0; i < rounds; ++i) {
            const object_directory::lookup_hint read = n.see_in_the_end(reads), written = n.see_in_the_end(writes);
            auto number = static_cast<long>(i);
            const std::array<object_directory::in_place_write, 2> spots{
                object_directory::in_place_write{read.object, read.word, {}},
                object_directory::in_place_write{written.object, written.word, in_place::image_of(number)}};
            std::uint64_t version = 0;
            together.arrive_and_wait();
            if (n.objects.commit_in_place(spots, version)) ++commits;
            together.arrive_and_wait();
            if (judges && commits.exchange(0) == 2) skewed = true;
            together.arrive_and_wait();
        }
    };
    std::jthread other{take_part, n.x, n.y, false};
    take_part(n.y, n.x, true);
    return skewed ? "two have committed, each without the other's write" : "";
}

TEST(cluster_in_place_commit, writes_only_unchanged_unshared_objects) {
    EXPECT_EQ(run_in_place(), "");
    EXPECT_EQ(run_in_place_beside_reader(), "");
    EXPECT_EQ(run_skew(support::rounds(2'000)), "");
}

#if !defined(TUTTI_SANITIZED)  // a build with a sanitizer checks memory and threads

class cluster_in_place_commit_with_faults : public ::testing::TestWithParam<fault> {};

TEST_P(cluster_in_place_commit_with_faults, is_caught) {
    injected_fault = GetParam();
    const std::string found = run_in_place() + run_in_place_beside_reader() + run_skew(2'000);
    injected_fault = fault::none;
    EXPECT_NE(found, "");
}

INSTANTIATE_TEST_SUITE_P(all, cluster_in_place_commit_with_faults,
                         ::testing::Values(fault::in_place_without_validation, fault::in_place_ignores_guards,
                                           fault::in_place_without_old_value, fault::in_place_validates_early,
                                           fault::trust_outdated_entry),
                         [](const auto& p) {
                             switch (p.param) {
                                 case fault::in_place_without_validation: return "without_look";
                                 case fault::in_place_ignores_guards: return "beside_others";
                                 case fault::in_place_without_old_value: return "before_readers";
                                 case fault::in_place_validates_early: return "looks_early";
                                 default: return "trust_outdated_entry";
                             }
                         });

#endif

}  // namespace
