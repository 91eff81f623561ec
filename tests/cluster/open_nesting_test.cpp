// Open nested blocks over objects of nodes or of an engine. Other nodes see their writes at once, and the undo runs
// when the block around them is rolled back.
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/open_nesting.hpp>
#include <tutti/tutti.hpp>

#include "cluster/nodes.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using cluster::node;
using cluster::ref;
using cluster::testing::account;
using cluster::testing::start_nodes;

/// Adds to two objects and a variable in one open nested block; the undo subtracts the same amounts.
struct book {
    ref<account> left, right;
    var<long> entries{0};

    book(const node& of, const std::string& name) : left{of, name + "/left"}, right{of, name + "/right"} {
        atomically([&](tx& t) {
            left.publish(t, {0});
            right.publish(t, {0});
        });
    }
    static void add(tx& t, book& b, long n) {
        b.left.write(t).balance += n;
        b.right.write(t).balance += n;
        b.entries.set(t, b.entries.get(t) + 1);
    }
    void enter(tx& t, long n) {
        open_nested(t, [&](tx& i) { add(i, *this, n); }, [this, n](tx& u) { add(u, *this, -n); });
    }
};

/// Returns the sum that a block of another thread finds through node `from`.
long seen_from(const node& from, const std::string& name) {
    long both = 0;
    std::thread{[&] {
        const ref<account> left{from, name + "/left"}, right{from, name + "/right"};
        both = atomically([&](tx& t) { return left.read(t).balance + right.read(t).balance; });
    }}.join();
    return both;
}

struct roll_back : std::runtime_error {
    roll_back() : std::runtime_error{"rolled back"} {}
};

// Each name belongs to two objects. Some of these objects are at home on the first node, and the others on the second
// node.
const std::string lock_names[] = {"a", "b", "c", "d"};

/// Calls f(node where the block runs, node where others read, name) for each setting.
template <class F>
void everywhere(F&& f) {
    for (const cluster::placement where : {cluster::placement::home, cluster::placement::writer}) {
        const auto nodes = start_nodes(2, where);
        for (const std::string& name : lock_names) f(*nodes[0], *nodes[1], name);
    }
    const node engine{cluster::engine_options{.address = "memory:"}};
    f(engine, engine, lock_names[0]);
}

// Catches objects that stay locked, or unwritten, until the enclosing block ends.
TEST(cluster_open_nesting, is_immediately_visible_to_other_nodes) {
    support::watchdog guard{"is_immediately_visible_to_other_nodes"};
    everywhere([](const node& here, const node& there, const std::string& name) {
        book b{here, name};
        var<long> around{0};
        atomically([&](tx& t) {
            around.set(t, 1);
            b.enter(t, 5);
            EXPECT_EQ(seen_from(there, name), 10);
        });
        EXPECT_EQ(seen_from(there, name), 10);
        EXPECT_EQ(atomically([&](tx& t) { return b.entries.get(t); }), 1) << "the block around ran once";
    });
}

// Catches an undo that is forgotten, or that runs twice.
TEST(cluster_open_nesting, is_undone_with_the_outer_block) {
    support::watchdog guard{"is_undone_with_the_outer_block"};
    everywhere([](const node& here, const node& there, const std::string& name) {
        book b{here, name};
        EXPECT_THROW(atomically([&](tx& t) {
                         b.enter(t, 5);
                         b.enter(t, 7);
                         EXPECT_EQ(seen_from(there, name), 24);
                         throw roll_back{};
                     }),
                     roll_back);
        EXPECT_EQ(seen_from(there, name), 0);
        EXPECT_EQ(atomically([&](tx& t) { return b.entries.get(t); }), 4) << "two entries, two undone";
    });
}

// Catches an undo that may not use any object because it runs irrevocably; such an undo once ended the program.
TEST(cluster_open_nesting, is_undone_with_a_nested_block) {
    support::watchdog guard{"is_undone_with_a_nested_block"};
    everywhere([](const node& here, const node& there, const std::string& name) {
        book b{here, name};
        const ref<account> total{here, name + "/total"};
        atomically([&](tx& t) { total.publish(t, {0}); });
        atomically([&](tx& t) {
            total.write(t).balance = 1;
            EXPECT_THROW(atomically([&](tx& inner) {
                             b.enter(inner, 5);
                             throw roll_back{};
                         }),
                         roll_back);
            EXPECT_EQ(seen_from(there, name), 0);
            b.enter(t, 2);
        });
        EXPECT_EQ(seen_from(there, name), 4);
        EXPECT_EQ(atomically([&](tx& t) { return total.read(t).balance; }), 1);
    });
}

// If another block changes an object after an undo has read the object, the undo has to start over. Catches an undo
// that gives up instead.
TEST(cluster_open_nesting, repeats_a_conflicting_undo) {
    support::watchdog guard{"repeats_a_conflicting_undo"};
    const auto nodes = start_nodes(2, cluster::placement::home);
    book b{*nodes[0], "a"};
    const ref<account> left{*nodes[1], "a/left"};
    std::thread other;
    atomically([&](tx&) {
        EXPECT_THROW(atomically([&](tx& inner) {
                         open_nested(
                             inner, [&](tx& i) { book::add(i, b, 5); },
                             [&](tx& u) {
                                 book::add(u, b, -5);
                                 // The other block changes the object once, after the undo has read it.
                                 if (!other.joinable()) {
                                     other = std::thread{[&] { atomically([&](tx& t) { ++left.write(t).balance; }); }};
                                     while (seen_from(*nodes[1], "a") != 11) std::this_thread::yield();
                                 }
                             });
                         throw roll_back{};
                     }),
                     roll_back);
    });
    other.join();
    EXPECT_EQ(seen_from(*nodes[1], "a"), 1) << "what the other wrote stays, what was undone does not";
}

}  // namespace
