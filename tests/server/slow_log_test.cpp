// The slow calls that SLOWLOG shows.

#include <gtest/gtest.h>

#include <chrono>

#include "server/bank.hpp"

namespace tutti::server {
namespace {

// Every call is slow here. Catches a log that grows without bound or keeps long words, and entries that are not calls,
// which may contain passwords.
TEST(slow_log, shows_slow_calls) {
    using std::chrono::microseconds;
    bank_server bank{{.password = "open sesame", .slow_log_slower_than = microseconds{0}, .slow_log_max_len = 3}};
    client ask{bank.port()};
    EXPECT_EQ(ask({"SLOWLOG", "LEN"}).substr(0, 7), "-NOAUTH");
    EXPECT_EQ(ask({"AUTH", "open sesame"}), "OK");
    EXPECT_EQ(ask({"CLIENT", "SETNAME", "mine"}), "OK");
    EXPECT_EQ(ask({"SLOWLOG", "LEN"}), "0");
    EXPECT_EQ(ask({"CALL", "PRIORITY", "7", "balance", "1"}), "1000");
    const std::string own = ask({"CLIENT", "INFO"});
    const std::string address = own.substr(own.find("addr=") + 5, own.find(" name=") - own.find("addr=") - 5);
    const std::string one = ask({"SLOWLOG", "GET"});
    EXPECT_EQ(one.substr(0, 4), "((0 ") << one;
    EXPECT_NE(one.find(" (CALL balance 1) " + address + " mine 7 0 "), std::string::npos) << one;
    EXPECT_EQ(one.substr(one.size() - 5), " OK))") << one;

    ask({"CALL", "balance", std::string(130, '7')});
    EXPECT_NE(ask({"SLOWLOG", "GET", "1"}).find(" " + std::string(128, '7') + "... (2 more bytes)) "),
              std::string::npos);
    EXPECT_EQ(ask({"MULTI"}), "OK");
    for (int i = 0; i < 20; ++i) EXPECT_EQ(ask({"CALL", "balance", "2"}), "QUEUED");
    ask({"EXEC"});
    const std::string several = ask({"SLOWLOG", "GET", "1"});
    EXPECT_NE(several.find("(EXEC balance 2 balance 2 "), std::string::npos) << several;
    EXPECT_NE(several.find(" 2 ... (10 more arguments)) "), std::string::npos) << several;
    ask({"CALL", "noop"});
    EXPECT_EQ(ask({"SLOWLOG", "LEN"}), "3") << "the oldest has gone";
    const std::string all = ask({"SLOWLOG", "GET", "-1"});
    EXPECT_EQ(all.substr(0, 4), "((3 ") << all;
    EXPECT_EQ(all.find("((0 "), std::string::npos) << all;
    EXPECT_EQ(all.find("sesame"), std::string::npos) << all;
    EXPECT_EQ(ask({"SLOWLOG", "GET", "-2"}).substr(0, 9), "-ARGUMENT");
    EXPECT_EQ(ask({"SLOWLOG", "HELP"}).substr(0, 4), "-ERR");
    EXPECT_EQ(ask({"SLOWLOG", "RESET"}), "OK");
    EXPECT_EQ(ask({"SLOWLOG", "GET"}), "()");
}

TEST(slow_log, shows_calls_of_the_program) {
    bank_server bank{{.slow_log_slower_than = std::chrono::microseconds{0}}};
    bank->call<long>("balance", {.priority = 3}, 1).get();
    client ask{bank.port()};
    const std::string one = ask({"SLOWLOG", "GET"});
    EXPECT_NE(one.find(" (CALL balance 1) program "), std::string::npos) << one;
    EXPECT_NE(one.find(" 3 0 "), std::string::npos) << one;
}

TEST(slow_log, is_empty_when_disabled) {
    bank_server bank{{.slow_log_slower_than = std::chrono::microseconds{-1}}};
    client ask{bank.port()};
    EXPECT_EQ(ask({"CALL", "noop"}), "OK");
    EXPECT_EQ(ask({"SLOWLOG", "LEN"}), "0");
}

TEST(slow_log, accepts_limits_beyond_the_range_of_nanoseconds) {
    bank_server bank{{.slow_log_slower_than = std::chrono::microseconds::max()}};
    client ask{bank.port()};
    EXPECT_EQ(ask({"CALL", "noop"}), "OK");
    EXPECT_EQ(ask({"SLOWLOG", "LEN"}), "0");
}

}  // namespace
}  // namespace tutti::server
