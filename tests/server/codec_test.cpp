// The conversion of arguments and answers. Catches an answer that is not exactly one value, and a parameter that takes
// words of a later one.

#include <gtest/gtest.h>

#include "tutti/server/procedure.hpp"

namespace tutti::server {
namespace {

static_assert(detail::in_order<>());
static_assert(detail::in_order<int, std::optional<int>, std::vector<int>>());
static_assert(!detail::in_order<std::optional<int>, int>(), "one argument would leave none for the int");
static_assert(!detail::in_order<std::vector<int>, int>());
static_assert(!detail::in_order<std::vector<int>, std::optional<int>>());

TEST(reply, rejects_a_list_after_a_value) {
    std::string bytes;
    reply to{bytes};
    EXPECT_FALSE(to.complete());
    to.text("x");
    EXPECT_TRUE(to.complete());
    to.list(1);
    EXPECT_FALSE(to.complete()) << "the list waits for an element, and the whole looks as if it balanced";
    to.integer(1);
    EXPECT_FALSE(to.complete());
}

TEST(reply, lists_nest) {
    std::string bytes;
    reply to{bytes};
    to.list(2);
    to.list(0);
    EXPECT_FALSE(to.complete());
    to.list(1);
    to.null();
    EXPECT_TRUE(to.complete());
}

}  // namespace
}  // namespace tutti::server
