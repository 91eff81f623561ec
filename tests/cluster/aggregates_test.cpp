// Aggregates without a serialization function, and aggregates with one.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/nodes.hpp"

namespace {

using namespace tutti;
using cluster::ref;
using cluster::serializer;
using cluster::testing::start_nodes;

enum class colour : std::uint8_t { red, green };

struct line {
    std::string what;
    unsigned count = 0;
    bool operator==(const line&) const = default;
};

struct order {
    std::string who;
    std::vector<line> lines;
    std::map<std::string, line> by_name;
    std::optional<line> last;
    int places[3] = {};
    std::array<double, 2> prices{};
    line first;
    colour paint = colour::red;
    bool paid = false;
    bool operator==(const order&) const = default;
};

order some_order() {
    return {"Ada",
            {{"nut", 3}, {"bolt", 4}},
            {{"nut", {"nut", 5}}},
            line{"bolt", 6},
            {7, 8, 9},
            {1.5, 2.5},
            {"", 10},
            colour::green,
            true};
}

template <class T>
std::string bytes_of(const T& value) {
    std::string bytes;
    serializer<T>::encode(bytes, value);
    return bytes;
}
template <class T>
T there_and_back(const T& value) {
    T back;
    serializer<T>::decode(bytes_of(value), back);
    return back;
}

TEST(cluster_aggregates, are_sent_unchanged) {
    const auto nodes = start_nodes(2, cluster::placement::home);
    for (std::uint64_t i = 0; i < 8; ++i) {  // half of the ids are at home on each node
        const ref<order> here{*nodes[0], {7, i}}, there{*nodes[1], {7, i}};
        atomically([&](tx& t) { here.publish(t, some_order()); });
        atomically([&](tx& t) { there.write(t).lines.push_back({"saw", 1}); });
        order expected = some_order();
        expected.lines.push_back({"saw", 1});
        EXPECT_TRUE(atomically([&](tx& t) { return here.read(t) == expected; }));
        EXPECT_TRUE(atomically([&](tx& t) { return there.read(t) == expected; }));
    }
}

struct as_many_as_there_may_be {
    std::string a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x;
    bool operator==(const as_many_as_there_may_be&) const = default;
};
struct one {
    std::string a;
    bool operator==(const one&) const = default;
};
struct nothing_but_a_vector_of_itself {
    std::vector<nothing_but_a_vector_of_itself> all;
    bool operator==(const nothing_but_a_vector_of_itself&) const = default;
};

TEST(cluster_aggregates, keep_all_fields) {
    EXPECT_EQ(there_and_back(one{"a"}), (one{"a"}));
    const as_many_as_there_may_be all{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l",
                                      "m", "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x"};
    EXPECT_EQ(there_and_back(all), all);
    const nothing_but_a_vector_of_itself tree{{{}, {{{}, {}}}, {}}};
    EXPECT_EQ(there_and_back(tree), tree);
}

// The bytes of an aggregate are its fields and nothing more.
TEST(cluster_aggregates, encode_only_their_fields) {
    EXPECT_EQ(bytes_of(line{"nut", 3}).size(), sizeof(std::uint64_t) + 3 + sizeof(unsigned));
}

struct with_a_member {
    std::string kept, forgotten;
    template <class A>
    void serialize(A& a) {
        a(kept);
    }
};
struct with_a_pair_of_members {
    std::string kept, forgotten;
    template <class A>
    void save(A& a) const {
        a(kept);
    }
    template <class A>
    void load(A& a) {
        a(kept);
    }
};
struct with_a_function {
    std::string kept, forgotten;
};
template <class A>
void serialize(A& a, with_a_function& value) {
    a(value.kept);
}
struct with_a_pair_of_functions {
    std::string kept, forgotten;
};
template <class A>
void save(A& a, const with_a_pair_of_functions& value) {
    a(value.kept);
}
template <class A>
void load(A& a, with_a_pair_of_functions& value) {
    a(value.kept);
}
struct with_a_version {
    std::string kept, forgotten;
};
template <class A>
void serialize(A& a, with_a_version& value, std::uint32_t /*version*/) {
    a(value.kept);
}

template <class T>
class cluster_aggregates_with_own_serialization : public ::testing::Test {};
using types_with_own_serialization =
    ::testing::Types<with_a_member, with_a_pair_of_members, with_a_function, with_a_pair_of_functions, with_a_version>;
TYPED_TEST_SUITE(cluster_aggregates_with_own_serialization, types_with_own_serialization);

TYPED_TEST(cluster_aggregates_with_own_serialization, use_their_own_serialization) {
    static_assert(std::is_aggregate_v<TypeParam>);
    const auto back = there_and_back(TypeParam{"kept", "forgotten"});
    EXPECT_EQ(back.kept, "kept");
    EXPECT_EQ(back.forgotten, "");
}

// Catches a decoder that makes an object from too few bytes.
TEST(cluster_aggregates, refuse_truncated_bytes) {
    const std::string all = bytes_of(some_order());
    for (std::size_t n = 0; n < all.size(); ++n) {
        order back;
        EXPECT_ANY_THROW(serializer<order>::decode(all.substr(0, n), back)) << n;
    }
}

struct plain {
    long balance = 0;
};
static_assert(serializer<plain>::keeps_versions == false);

TEST(cluster_aggregates, are_copied_if_trivially_copyable) { EXPECT_EQ(bytes_of(plain{5}).size(), sizeof(plain)); }

}  // namespace
