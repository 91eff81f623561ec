// The parser finds the same requests whatever pieces the stream arrives in, and never holds more than its limits.
// Catches a parser that loses its position, or reads beyond the received bytes.

#include "server/protocol/request_parser.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "server/client.hpp"

namespace tutti::server {
namespace {

using outcome = request_parser::parse_result;
using request_words = std::vector<std::string>;

struct cut {
    std::vector<request_words> requests;
    std::optional<std::string> error;
};

/// Feeds `bytes` in pieces that end at `ends`.
cut feed(const std::string& bytes, const std::vector<std::size_t>& ends, const request_limits& limits = {}) {
    cut result;
    request_parser parser;
    std::size_t start = 0;
    for (const std::size_t end : ends) {
        for (;;) {
            // A copy of its own, so that a sanitizer finds reads beyond its end.
            const std::string seen = bytes.substr(start, end - start);
            const outcome o = parser.parse(seen, limits);
            if (o == outcome::incomplete) break;
            if (o == outcome::malformed) {
                result.error = parser.error();
                return result;
            }
            result.requests.emplace_back(parser.words().begin(), parser.words().end());
            start += parser.length();
            parser.restart();
        }
    }
    return result;
}

cut feed_whole(const std::string& bytes, const request_limits& limits = {}) {
    return feed(bytes, {bytes.size()}, limits);
}

TEST(request_parser_test, parses_arrays_and_lines) {
    const cut all =
        feed_whole(wire({"CALL", "transfer", "1", ""}) + "PING\r\n  echo  two\tx \n*0\r\n\r\n" + wire({"A\r\nB"}));
    EXPECT_FALSE(all.error) << all.error.value_or("");
    EXPECT_EQ(all.requests, (std::vector<request_words>{
                                {"CALL", "transfer", "1", ""}, {"PING"}, {"echo", "two", "x"}, {}, {}, {"A\r\nB"}}));
}

TEST(request_parser_test, gives_the_same_result_for_all_splits) {
    const std::string bytes =
        wire({"CALL", "a", std::string(70, 'x')}) + "PING hello\r\n" + wire({"", "\r\n$1\r\n"}) + "*0\r\n";
    const cut whole = feed_whole(bytes);
    std::vector<std::size_t> every;
    for (std::size_t i = 1; i <= bytes.size(); ++i) every.push_back(i);
    EXPECT_EQ(feed(bytes, every).requests, whole.requests);
    for (std::size_t i = 0; i <= bytes.size(); ++i)
        EXPECT_EQ(feed(bytes, {i, bytes.size()}).requests, whole.requests) << i;
}

TEST(request_parser_test, reports_malformed_requests) {
    for (const char* bytes :
         {"*1\r\n:1\r\n", "*-1\r\n", "*x\r\n", "*1\r\n$-1\r\n", "*1\r\n$x\r\n", "*1\r\n$1\r\nab\r\n", "*\r\n", "*\n",
          "*1\r\n$\n", "*1\r\n$1\nab\r\n", "*1\n$1\r\na\r\n", "*99999999999999999999\r\n",
          "*1\r\n$00000000000000000000000000000000001\r\n", "*1\r\n$9223372036854775807\r\n"}) {
        EXPECT_TRUE(feed_whole(bytes).error) << bytes;
    }
    EXPECT_EQ(feed_whole("*1\r\n$-1\r\n").error, "invalid bulk length: negative");
}

TEST(request_parser_test, enforces_limits_before_the_bytes_arrive) {
    const request_limits limits{.arguments = 4, .bytes = 100};
    EXPECT_TRUE(feed_whole("*5\r\n", limits).error);
    EXPECT_TRUE(feed_whole("*1\r\n$101\r\n", limits).error);
    EXPECT_TRUE(feed_whole("*2\r\n$60\r\n" + std::string(60, 'x') + "\r\n$40\r\n", limits).error);
    EXPECT_TRUE(feed_whole(std::string(101, 'x'), limits).error);
    EXPECT_TRUE(feed_whole("a b c d e\r\n", limits).error);
    EXPECT_FALSE(feed_whole(wire({"a", "b", "c", std::string(70, 'x')}), limits).error);
    EXPECT_FALSE(feed_whole("a b c d\r\n", limits).error);
}

}  // namespace
}  // namespace tutti::server
