// Access without authentication. Catches a web page whose browser sends requests, a follower that was not admitted, and
// a server that silently serves every machine of the network.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "bank.hpp"
#include "server/journal/machine_secret.hpp"
#include "server/net/http_warning.hpp"
#include "server/net/protection.hpp"
#include "server/protocol/web_request.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;

bool is_http(const std::vector<std::string_view>& words) { return is_of_http(words); }

TEST(strangers, http_lines_are_recognized) {
    EXPECT_TRUE(is_http({"POST", "/", "HTTP/1.1"}));
    EXPECT_TRUE(is_http({"get", "/metrics"})) << "version 0.9";
    EXPECT_TRUE(is_http({"GET", "x", "y", "HTTP/1.0"})) << "a path that nobody has encoded";
    EXPECT_TRUE(is_http({"CONNECT", "bank:7411", "HTTP/1.1"}));
    EXPECT_TRUE(is_http({"OPTIONS", "*", "HTTP/1.1"}));
    EXPECT_TRUE(is_http({"PROPFIND", "/", "HTTP/1.1"})) << "any method";
    EXPECT_TRUE(is_http({"PRI", "*", "HTTP/2.0"}));
    EXPECT_TRUE(is_http({"GET", "http://bank/", "HTTP/1.1"}));
    EXPECT_TRUE(is_http({"host:", "127.0.0.1:7411"}));
    EXPECT_TRUE(is_http({"Host:127.0.0.1"}));
    EXPECT_FALSE(is_http({"PING"}));
    EXPECT_FALSE(is_http({"GET", "key"})) << "a command of Redis, which is answered by an error";
    EXPECT_FALSE(is_http({"ECHO", "HTTP/1.1"}));
    EXPECT_FALSE(is_http({"CALL", "/", "HTTP/1.1"}));
    EXPECT_FALSE(is_http({""}));
}

TEST(strangers, requests_of_web_pages_are_not_run) {
    std::mutex mutex;
    std::vector<std::string> lines;
    settings how;
    how.log_callback = [&](severity, const std::string& line) {
        const std::scoped_lock lock{mutex};
        lines.push_back(line);
    };
    bank_server bank{how};
    for (const std::string& head :
         {std::string{"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 13\r\n\r\n"},
          std::string{"HOST: 127.0.0.1\r\n"}, std::string{"GET /x\r\n"}, wire({"POST", "/", "HTTP/1.1"}),
          // The other party of an earlier TLS session chooses the bytes with which it is resumed.
          std::string{"\x16\x03\x01\n"}}) {
        bare_socket page{bank.port()};
        ASSERT_TRUE(page.send(head + "CALL count\r\n"));
        const std::string answer = page.receive_all();
        EXPECT_TRUE(answer.starts_with("-ERR Protocol error: ")) << answer;
        EXPECT_EQ(answer.find('\n'), answer.size() - 1) << "one answer: " << answer;
    }
    client c{bank.port()};
    EXPECT_EQ(c({"CALL", "count"}), "1") << "none of the pages was the first to count";
    EXPECT_EQ(number_of(bank->info(), "malformed_requests"), 5U);
    const std::scoped_lock lock{mutex};
    ASSERT_EQ(lines.size(), 1U) << "a line a minute, however many pages there are";
    EXPECT_NE(lines[0].find("possible attack from a web page: the client 127.0.0.1:"), std::string::npos) << lines[0];
}

TEST(strangers, warnings_are_logged_once_a_minute) {
    http_warning alarm;
    std::vector<std::string> lines;
    const auto note = [&](std::chrono::seconds at) {
        alarm.record("a", http_warning::clock::time_point{} + at,
                     [&](severity, const std::string& line) { lines.push_back(line); });
    };
    for (const auto at : {100s, 101s, 159s, 160s, 161s, 300s}) note(at);
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_TRUE(lines[1].ends_with("(4 in all)")) << lines[1];
}

/// Returns the reason why these settings do not protect a server, or an empty string.
std::string why_not(const settings& how) {
    try {
        require_protection(how);
        return {};
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
}

TEST(strangers, unprotected_servers_listen_only_on_loopback) {
    for (const char* const host : {"127.0.0.1", "127.3.2.1", "::1", "localhost", "::ffff:127.0.0.1"})
        EXPECT_EQ(why_not({.port = 0, .host = host}), "") << host;
    for (const char* const host : {"0.0.0.0", "::", "10.0.0.1", "fe80::1", "::ffff:10.0.0.1"}) {
        settings how{.port = 0, .host = host};
        EXPECT_NE(why_not(how).find("beyond loopback"), std::string::npos) << host;
        EXPECT_NE(why_not(how).find("--unprotected"), std::string::npos) << host;
        how.unprotected = true;
        EXPECT_EQ(why_not(how), "");
    }
    EXPECT_EQ(why_not({.host = "0.0.0.0", .unix_socket = "/x"}), "") << "nothing listens there";
    EXPECT_EQ(why_not({.port = 0, .host = "0.0.0.0", .password = "x"}), "");
    EXPECT_EQ(why_not({.port = 0, .host = "0.0.0.0", .users = {{.name = "a"}}}), "");
    EXPECT_EQ(why_not({.port = 0, .host = "0.0.0.0", .tls = {.certificate = "c", .key = "k"}}), "");
    EXPECT_THROW(bank_server{settings{.host = "0.0.0.0"}}, std::invalid_argument) << "before anything else is done";
}

TEST(strangers, the_machine_secret_is_readable_by_its_owner_only) {
    std::string folder = testing::TempDir() + "tutti-secret-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const std::string inside = folder + "/own", path = inside + "/tutti-replication";
    const std::string secret = journal::machine_secret_in(inside);
    EXPECT_EQ(secret.size(), 64U);
    EXPECT_EQ(journal::machine_secret_in(inside), secret) << "it stays";
    struct ::stat is{};
    ASSERT_EQ(::stat(path.c_str(), &is), 0);
    EXPECT_EQ(is.st_mode & 0777, 0600U);
    ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
    EXPECT_THROW(static_cast<void>(journal::machine_secret_in(inside)), std::runtime_error) << "others may read it";
    ASSERT_EQ(::unlink(path.c_str()), 0);
    EXPECT_NE(journal::machine_secret_in(inside), secret) << "another one is made";
    ASSERT_EQ(::truncate(path.c_str(), 10), 0);
    EXPECT_THROW(static_cast<void>(journal::machine_secret_in(inside)), std::runtime_error) << "cut";
    ASSERT_EQ(::chmod(inside.c_str(), 0755), 0);
    EXPECT_THROW(static_cast<void>(journal::machine_secret_in(inside)), std::runtime_error) << "others may list it";
    std::filesystem::remove_all(folder);
    EXPECT_FALSE(journal::is_same_secret("", ""));
    EXPECT_FALSE(journal::is_same_secret("ab", "abab"));
    EXPECT_TRUE(journal::is_same_secret("ab", "ab"));
}

}  // namespace
}  // namespace tutti::server
