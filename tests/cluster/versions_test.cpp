// Objects that a program with another version of their type has written. The tests write a type that looks like that
// version, under the tag of the type that they read.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <typeinfo>

#include <gtest/gtest.h>
#include <tutti/cluster/ref.hpp>

namespace before {

struct person {
    std::string name;
    template <class Archive>
    void serialize(Archive& a) {
        a(name);
    }
};
struct account {
    long balance = 0;
};

}  // namespace before

namespace first {

struct person {
    std::string name;
    int age = -1;
    template <class Archive>
    void serialize(Archive& a, std::uint32_t version) {
        a(name);
        if (version >= 1) a(age);
    }
};

}  // namespace first

namespace second {

struct account {
    long balance = 0;
    long limit = -1;
    template <class Archive>
    void serialize(Archive& a, std::uint32_t version) {
        a(balance);
        if (version >= 2) a(limit);
    }
};
struct person {
    std::string name;
    int age = -1;
    std::string town = "nowhere";
    template <class Archive>
    void save(Archive& a, std::uint32_t /*version*/) const {
        a(name, age, town);
    }
    template <class Archive>
    void load(Archive& a, std::uint32_t version) {
        a(name);
        if (version >= 1) a(age);
        if (version >= 2) a(town);
    }
};

}  // namespace second

CEREAL_CLASS_VERSION(first::person, 1)
CEREAL_CLASS_VERSION(second::person, 2)
CEREAL_CLASS_VERSION(second::account, 2)

namespace {

namespace cluster = tutti::cluster;

template <class T>
std::uint64_t name_of() {
    return cluster::object_id{typeid(T).name()}.low;
}

/// Returns the bytes that a program writes if its version of the type `Read` looks like `Written`.
template <class Read, class Written>
std::string written_as(const Written& value) {
    std::string bytes;
    cluster::detail::holder_of<Written>{value}.encode(bytes);
    std::uint64_t tag = 0;
    std::memcpy(&tag, bytes.data(), sizeof tag);
    tag ^= name_of<Written>() ^ name_of<Read>();
    std::memcpy(bytes.data(), &tag, sizeof tag);
    return bytes;
}

template <class T>
T decoded(std::string_view bytes) {
    const auto held = cluster::detail::decode<T>(cluster::object_id{"ada"}, bytes);
    return static_cast<cluster::detail::holder_of<T>&>(*held).value;
}

template <class T>
std::string refusal(std::string_view bytes) {
    try {
        (void)decoded<T>(bytes);
    } catch (const cluster::type_mismatch& e) {
        return e.what();
    }
    return "it was read";
}

TEST(cluster_versions, read_earlier_type_versions) {
    const auto grown = decoded<second::person>(written_as<second::person>(first::person{"Ada", 36}));
    EXPECT_EQ(grown.name, "Ada");
    EXPECT_EQ(grown.age, 36);
    EXPECT_EQ(grown.town, "nowhere");
    const auto same = decoded<second::person>(written_as<second::person>(second::person{"Ada", 36, "London"}));
    EXPECT_EQ(same.town, "London");
}

TEST(cluster_versions, count_from_unversioned_objects) {
    EXPECT_EQ(decoded<first::person>(written_as<first::person>(before::person{"Ada"})).name, "Ada");
    EXPECT_EQ(decoded<second::person>(written_as<second::person>(before::person{"Ada"})).age, -1);
    const auto copied = decoded<second::account>(written_as<second::account>(before::account{7}));
    EXPECT_EQ(copied.balance, 7);
    EXPECT_EQ(copied.limit, -1);
}

// Catches a program that reads a later version, and loses its new fields when it writes the object back.
TEST(cluster_versions, refuse_later_type_versions) {
    const std::string said = refusal<first::person>(written_as<first::person>(second::person{"Ada", 36, "London"}));
    EXPECT_NE(said.find("was written as version 2 of"), std::string::npos) << said;
    EXPECT_NE(said.find("knows versions up to 1"), std::string::npos) << said;
    EXPECT_NE(refusal<before::person>(written_as<before::person>(first::person{"Ada", 36})).find("which has none here"),
              std::string::npos);
}

TEST(cluster_versions, do_not_make_types_compatible) {
    std::string bytes;
    cluster::detail::holder_of<second::account>{{7, 8}}.encode(bytes);
    EXPECT_NE(refusal<second::person>(bytes).find("published as another type"), std::string::npos);
    EXPECT_NE(refusal<first::person>(bytes).find("published as another type"), std::string::npos);
    EXPECT_NE(refusal<first::person>(written_as<first::person>(first::person{"Ada", 3}).substr(0, 10)).find("is no"),
              std::string::npos);
}

}  // namespace
