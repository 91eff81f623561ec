// The checker of memcached's histories distinguishes correct ones from wrong ones. The wrong ones of the last tests
// come from a server whose increments take no lock (the build `broken`).
#include "memcached/linear.hpp"

#include <gtest/gtest.h>

namespace {

using namespace mc::linear;

command of(kind what, std::uint64_t called, std::uint64_t answered, std::string answer, std::string argument = "",
           std::uint64_t unique = 0) {
    return {.what = what,
            .argument = std::move(argument),
            .unique = unique,
            .answer = std::move(answer),
            .called = called,
            .answered = answered};
}

TEST(linear, accepts_what_one_client_sees) {
    EXPECT_TRUE(is_linearizable({}));
    EXPECT_TRUE(is_linearizable({of(kind::get, 0, 1, ""), of(kind::add, 2, 3, "STORED", "9"),
                                 of(kind::incr, 4, 5, "12", "3"), of(kind::append, 6, 7, "STORED", "x"),
                                 of(kind::gets, 8, 9, "12x", "", 7), of(kind::cas, 10, 11, "STORED", "new", 7),
                                 of(kind::cas, 12, 13, "EXISTS", "newer", 7), of(kind::get, 14, 15, "new"),
                                 of(kind::remove, 16, 17, "DELETED"), of(kind::replace, 18, 19, "NOT_STORED", "z")}));
}

TEST(linear, orders_commands_that_overlap) {
    const auto set = of(kind::set, 0, 10, "STORED", "a");
    EXPECT_TRUE(is_linearizable({set, of(kind::get, 1, 2, ""), of(kind::get, 3, 4, "a")}));
    EXPECT_FALSE(is_linearizable({set, of(kind::get, 1, 2, "a"), of(kind::get, 3, 4, "")}));
    EXPECT_FALSE(is_linearizable({of(kind::set, 0, 1, "STORED", "a"), of(kind::get, 2, 3, "")}));
}

TEST(linear, finds_lost_updates) {
    const auto set = of(kind::set, 0, 1, "STORED", "10");
    EXPECT_TRUE(is_linearizable({set, of(kind::incr, 2, 5, "11", "1"), of(kind::incr, 3, 4, "12", "1")}));
    EXPECT_FALSE(is_linearizable({set, of(kind::incr, 2, 5, "11", "1"), of(kind::incr, 3, 4, "11", "1")}));
    const auto seen = of(kind::gets, 2, 3, "10", "", 5);
    EXPECT_FALSE(
        is_linearizable({set, seen, of(kind::cas, 4, 6, "STORED", "a", 5), of(kind::cas, 5, 7, "STORED", "b", 5)}));
}

TEST(linear, finds_a_unique_number_that_comes_back) {
    EXPECT_FALSE(is_linearizable({of(kind::set, 0, 1, "STORED", "a"), of(kind::gets, 2, 3, "a", "", 5),
                                  of(kind::set, 4, 5, "STORED", "a"), of(kind::gets, 6, 7, "a", "", 5)}));
}

TEST(linear, knows_expiry_flushes_and_evictions) {
    auto expired = of(kind::set, 0, 1, "STORED", "a");
    expired.expired = true;
    EXPECT_TRUE(is_linearizable({expired, of(kind::get, 2, 3, "")}));
    EXPECT_FALSE(is_linearizable({expired, of(kind::get, 2, 3, "a")}));
    const auto set = of(kind::set, 0, 1, "STORED", "a");
    EXPECT_TRUE(is_linearizable({set, of(kind::flush, 2, 3, "OK"), of(kind::get, 4, 5, "")}));
    EXPECT_FALSE(is_linearizable({set, of(kind::flush, 2, 3, "OK"), of(kind::get, 4, 5, "a")}));
    EXPECT_TRUE(is_linearizable({set, of(kind::get, 2, 3, "")}, true));
    EXPECT_FALSE(is_linearizable({set, of(kind::get, 2, 3, "b")}, true));
}

// The increment comes between the look-up and the store of a swap, and both take effect.
TEST(linear, rejects_an_increment_of_a_value_that_is_gone) {
    EXPECT_FALSE(is_linearizable({of(kind::set, 0, 1, "STORED", "300989"), of(kind::gets, 2, 3, "300989", "", 7),
                                  of(kind::cas, 4, 8, "STORED", "q", 7), of(kind::decr, 6, 7, "300933", "56"),
                                  of(kind::decr, 9, 10, "300932", "1")}));
}

// Between unlinking the old value and linking the new one, a reader without a lock does not find the key.
TEST(linear, rejects_a_key_that_is_missing_while_it_is_replaced) {
    EXPECT_FALSE(is_linearizable({of(kind::set, 0, 1, "STORED", "609"), of(kind::prepend, 2, 6, "STORED", "1"),
                                  of(kind::incr, 3, 4, "NOT_FOUND", "76")}));
}

TEST(linear, refuses_more_commands_than_it_has_bits_for) {
    EXPECT_TRUE(is_linearizable(std::vector<command>(64, of(kind::get, 0, 1, ""))));
    EXPECT_THROW(is_linearizable(std::vector<command>(65, of(kind::get, 0, 1, ""))), std::invalid_argument);
}

}  // namespace
