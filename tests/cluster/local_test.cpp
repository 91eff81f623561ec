// Blocks that find all their objects in their own process: their copies, and what they cost.
#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/nodes.hpp"
#include "support/heap.hpp"
#include "support/watchdog.hpp"

namespace {

using tutti::cluster::node;
using tutti::cluster::ref;
using tutti::cluster::testing::account;
namespace support = tutti::support;

/// What it does not say to archives is of the block that wrote it alone.
struct forgetful {
    int kept = 0;
    int forgotten = 0;
    std::string name;  // or it would be copied as it is
    template <class Archive>
    void serialize(Archive& a) {
        a(kept, name);
    }
};

// Their copies are made in the memory of those that came before.
TEST(cluster_local, copies_are_new_ones) {
    node here;
    const ref<forgetful> one{here, "one"};
    const ref<account> other{here, "other"};
    tutti::atomically([&](tutti::tx& t) {
        one.publish(t, {1, 1, ""});
        other.publish(t, {7});
    });
    for (int turn = 1; turn < 4; ++turn) {
        tutti::atomically([&](tutti::tx& t) {
            forgetful& mine = one.write(t);
            EXPECT_EQ(mine.kept, turn);
            EXPECT_EQ(mine.forgotten, 0);
            ++mine.kept;
            mine.forgotten = 5;
        });
        // Another type in the same place.
        const long found = tutti::atomically([&](tutti::tx& t) { return other.read(t).balance; });
        EXPECT_EQ(found, 7);
    }
}

template <std::size_t Size>
struct filled {
    std::array<char, Size> bytes{};
    static filled with(char c) {
        filled f;
        f.bytes.fill(c);
        return f;
    }
    bool operator==(const filled&) const = default;
};

/// Written by one reference, and read by others, which have seen it before, or have not.
template <std::size_t Size>
void write_and_read(node& here) {
    using value = filled<Size>;
    const ref<value> writer{here, "of size " + std::to_string(Size)};
    const ref<value> reader{here, writer.id()};
    for (int life = 0; life < 3; ++life) {
        tutti::atomically([&](tutti::tx& t) { writer.publish(t, value::with('a')); });
        for (char c = 'b'; c < 'f'; ++c) {
            tutti::atomically([&](tutti::tx& t) { writer.write(t) = value::with(c); });
            const ref<value> copy = c % 2 == 0 ? reader : ref<value>{here, writer.id()};
            for (const ref<value>* r : {&reader, &copy})
                EXPECT_EQ(tutti::atomically([&](tutti::tx& t) { return r->read(t); }), value::with(c)) << Size;
        }
        EXPECT_TRUE(tutti::atomically([&](tutti::tx& t) { return writer.erase(t); }));
        EXPECT_TRUE(tutti::atomically([&](tutti::tx& t) { return reader.find(t) == nullptr; }));
    }
}

// Catches copies of whole words alone, and a reference that follows where its object was and looks at nothing else.
TEST(cluster_local, what_is_written_is_read_whatever_its_size) {
    node here;
    write_and_read<1>(here);
    write_and_read<12>(here);
    write_and_read<80>(here);
    write_and_read<81>(here);
}

// Catches a value that was copied where another type was expected.
TEST(cluster_local, an_object_is_of_its_type_also_where_it_is_copied) {
    node here;
    const ref<filled<8>> one{here, "one"};
    const ref<account> wrong{here, "one"};
    tutti::atomically([&](tutti::tx& t) { one.publish(t, filled<8>::with('a')); });
    const auto look = [&] { return tutti::atomically([&](tutti::tx& t) { return one.read(t); }); };
    for (int turn = 0; turn < 3; ++turn) {
        EXPECT_EQ(look(), filled<8>::with('a'));
        EXPECT_THROW(tutti::atomically([&](tutti::tx& t) { return wrong.read(t).balance; }),
                     tutti::cluster::type_mismatch);
        EXPECT_THROW(tutti::atomically([&](tutti::tx& t) { return one.read(t).bytes[0] + wrong.read(t).balance; }),
                     tutti::cluster::type_mismatch);
    }
}

TEST(cluster_local, a_block_over_objects_that_are_here_needs_no_memory) {
    node here;
    const ref<account> from{here, "from"}, to{here, "to"};
    tutti::atomically([&](tutti::tx& t) {
        from.publish(t, {0});
        to.publish(t, {0});
    });
    const auto transfer = [&] {
        tutti::atomically([&](tutti::tx& t) {
            from.write(t).balance -= 1;
            to.write(t).balance += 1;
        });
    };
    const auto look = [&] {
        return tutti::atomically([&](tutti::tx& t) { return from.read(t).balance + to.read(t).balance; });
    };
    for (int turn = 0; turn < 4; ++turn) transfer();
    EXPECT_EQ(look(), 0);
    support::refuse_after = 1;
    for (int turn = 0; turn < 4; ++turn) transfer();
    const long sum = look();
    EXPECT_EQ(std::exchange(support::refuse_after, 0), 1u);
    EXPECT_EQ(sum, 0);
    EXPECT_EQ(tutti::atomically([&](tutti::tx& t) { return to.read(t).balance; }), 8);
}

// It finds out in its first execution that its reads have to be logged.
TEST(cluster_local, a_block_that_writes_nothing_starts_over_for_its_log_only_once) {
    node here;
    const ref<account> one{here, "one"};
    tutti::atomically([&](tutti::tx& t) { one.publish(t, {3}); });
    int runs = 0;
    for (int turn = 0; turn < 4; ++turn) {
        const long found = tutti::atomically({.read_only = true}, [&](tutti::tx& t) {
            ++runs;
            return one.read(t).balance;
        });
        EXPECT_EQ(found, 3);
    }
    EXPECT_EQ(runs, 5);
}

/// A commit that writes it calls `encoding` first: after the engine has drawn a version for the variables of the block,
/// and before the commit has locked any object.
struct watched {
    int value = 0;
    std::string name;  // or it would be copied as it is
    static inline thread_local std::function<void()> encoding;
    template <class Archive>
    void serialize(Archive& a) {
        if (encoding) std::exchange(encoding, nullptr)();
        a(value, name);
    }
};

struct yes final : tutti::participant {
    tutti::vote prepare() override { return tutti::vote::commit; }
    void commit() noexcept override {}
    void abort() noexcept override {}
};

class cluster_local_vote : public ::testing::TestWithParam<bool> {};

// Catches a commit that publishes variables by the version that it drew before the vote: a block that has begun since
// finds them in its snapshot, and does not learn that its objects are older.
TEST_P(cluster_local_vote, variables_and_objects_are_seen_together_also_by_a_block_that_begins_during_it) {
    const support::watchdog dog{"cluster_local_vote"};
    node here;
    const ref<watched> object{here, "object"};
    tutti::var<int> variable{0};
    tutti::atomically([&](tutti::tx& t) { object.publish(t, {}); });
    yes beside;
    std::atomic<bool> has_read{false}, is_over{false};
    int seen_first = -1, seen_then = -1;
    std::thread reader;
    tutti::atomically([&](tutti::tx& t) {
        if (GetParam()) t.join(beside);
        variable.set(t, 1);
        object.write(t).value = 1;
        watched::encoding = [&] {
            reader = std::thread{[&] {
                tutti::atomically([&](tutti::tx& r) {
                    seen_first = object.read(r).value;
                    has_read = true;
                    while (!is_over) std::this_thread::yield();
                    seen_then = variable.get(r);
                    EXPECT_EQ(seen_first, seen_then);
                });
            }};
            while (!has_read) std::this_thread::yield();
        };
    });
    is_over = true;
    reader.join();
    EXPECT_EQ(seen_first, 1);
    EXPECT_EQ(seen_then, 1);
}

INSTANTIATE_TEST_SUITE_P(all, cluster_local_vote, ::testing::Bool(),
                         [](const auto& p) { return std::string{p.param ? "beside_another" : "alone"}; });

}  // namespace
