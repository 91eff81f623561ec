// The RTM instructions, and their effects.
//
// If the processor does not have them, they run under valgrind, which knows them and ends every transaction at its
// begin. Catches a status that is decoded wrongly, an instruction that is encoded wrongly, and a `begin` that mistakes
// the second return for the first.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/lifecycle/registry.hpp"
#include "hardware/rtm.hpp"

namespace tutti::hardware {
namespace {

using namespace instructions;

TEST(rtm, says_why_a_transaction_ended) {
    EXPECT_EQ(reason_of(0), hardware_abort::interrupt);
    EXPECT_EQ(reason_of(0b10), hardware_abort::interrupt);
    EXPECT_EQ(reason_of(0b100), hardware_abort::conflict);
    EXPECT_EQ(reason_of(0b110), hardware_abort::conflict);
    EXPECT_EQ(reason_of(0b1000), hardware_abort::capacity);
    EXPECT_EQ(reason_of(0b1100), hardware_abort::capacity);
    EXPECT_EQ(reason_of(0b10000), hardware_abort::debug);
    EXPECT_EQ(reason_of(0b100000), hardware_abort::nested);
    for (std::uint32_t code = 0; code < hardware_abort_count; ++code)
        EXPECT_EQ(reason_of(code << 24 | 1), static_cast<hardware_abort>(code));
    EXPECT_EQ(reason_of(0xff000001), hardware_abort::interrupt);  // another program's XABORT
    EXPECT_EQ(reason_of(0x07000000), hardware_abort::interrupt);  // no XABORT: the code is meaningless
}

/// Runs if these instructions exist: the processor's, or valgrind's.
class rtm_instructions : public testing::Test {};

TEST_F(rtm_instructions, commits_a_transaction) {
    volatile int stored = 0;
    const std::uint32_t status = xbegin();
    if (status == has_begun) {
        stored = 1;
        const bool inside = xtest();
        xend();
        EXPECT_TRUE(inside);
        EXPECT_EQ(stored, 1);
    } else {
        EXPECT_EQ(stored, 0);
    }
    EXPECT_FALSE(xtest());
}

TEST_F(rtm_instructions, rolls_back_memory_on_abort) {
    volatile int stored = 0;
    const std::uint32_t status = xbegin();
    if (status == has_begun) {
        stored = 1;
        xabort<hardware_abort::strict>();
    }
    EXPECT_NE(status, has_begun);
    EXPECT_EQ(stored, 0);
    xabort<hardware_abort::capacity>();  // outside of a transaction: no effect
}

TEST_F(rtm_instructions, records_why_begin_failed) {
    core::descriptor& d = core::acquire_descriptor();
    d.algorithm_data.hardware.tries_left = max_hardware_attempts;
    if (rtm::begin(d)) rtm::abort(d, hardware_abort::capacity);
    // Here after an abort, the processor's own or the one above.
    EXPECT_LE(d.algorithm_data.hardware.tries_left, max_hardware_attempts);
    if (std::getenv("TUTTI_UNDER_VALGRIND") != nullptr) {
        EXPECT_EQ(d.algorithm_data.hardware.tries_left, 0);  // valgrind reports a lack of capacity
    }
    core::release_descriptor(d);
}

}  // namespace
}  // namespace tutti::hardware
