// Users: logins, permitted calls, priorities and rates. Catches a connection that gets permissions before its password
// is checked, a login that outlives its client, and limits that one form of a call avoids.

#include <crypt.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "bank.hpp"
#include "server/protocol/accounts.hpp"
#include "server/protocol/password_verifier.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;

/// Returns the password's hash by the cheapest method that counts as safe.
std::string hashed(const char* password) {
    crypt_data memory{};
    return ::crypt_rn(password, "$y$j75$saltsalt", &memory, sizeof memory);
}

settings with_users() {
    settings how;
    how.users = {
        {.name = "clerk",
         .password = hashed("secret"),
         .allowed_procedures = {"bal*", "count", "how"},
         .max_priority = 3},
        {.name = "default", .password = hashed("open"), .allowed_procedures = {}},
        {.name = "chief", .password = hashed("more"), .is_admin = true},
    };
    return how;
}

TEST(access, invalid_users_are_refused) {
    const auto made = [](const std::vector<user>& all) { const accounts unused{all}; };
    const std::string good = hashed("x");
    EXPECT_NO_THROW(made({{.name = "a", .password = good}}));
    EXPECT_THROW(made({{.name = "a b", .password = good}}), std::invalid_argument);
    EXPECT_THROW(made({{.name = "", .password = good}}), std::invalid_argument);
    EXPECT_THROW(made({{.name = "a", .password = "in the clear"}}), std::invalid_argument);
    EXPECT_THROW(made({{.name = "a", .password = ""}}), std::invalid_argument);
    EXPECT_THROW(made({{.name = "a", .password = "$1$salt$abcdefghijklmnopqrstuv"}}), std::invalid_argument);
    EXPECT_THROW(made({{.name = "a", .password = good, .max_priority = 32}}), std::invalid_argument);
    EXPECT_THROW(made({{.name = "a", .password = good}, {.name = "a", .password = good}}), std::invalid_argument);
    settings both = with_users();
    both.password = "too";
    EXPECT_THROW(service{both}, std::invalid_argument);
}

TEST(access, a_rate_applies_to_every_second) {
    account a{user{.name = "a", .rate = 4}};
    const instant start = instant{} + 1h;
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(a.try_admit(start));
    EXPECT_FALSE(a.try_admit(start));
    EXPECT_FALSE(a.try_admit(start + 249ms));
    EXPECT_TRUE(a.try_admit(start + 250ms));
    EXPECT_FALSE(a.try_admit(start + 250ms));
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(a.try_admit(start + 10s)) << "silence saves up one second's worth";
    EXPECT_FALSE(a.try_admit(start + 10s));
}

TEST(access, clients_need_the_password) {
    bank_server bank{with_users()};
    client c{bank.port()};
    EXPECT_EQ(c({"CALL", "balance", "1"}), "-NOAUTH Authentication required.") << "Redis's words";
    EXPECT_EQ(c({"ACL", "WHOAMI"}).substr(0, 7), "-NOAUTH");
    EXPECT_EQ(c({"AUTH", "clerk", "wrong"}), "-WRONGPASS invalid username-password pair or user is disabled.");
    EXPECT_EQ(c({"AUTH", "nobody", "more"}).substr(0, 10), "-WRONGPASS") << "what it was compared with";
    EXPECT_EQ(c({"AUTH", "secret"}).substr(0, 10), "-WRONGPASS") << "this is the user default";
    EXPECT_EQ(c({"AUTH", "clerk", std::string{"secret\0", 7}}).substr(0, 10), "-WRONGPASS");
    EXPECT_EQ(c({"HELLO", "2", "AUTH", "clerk", "open"}).substr(0, 10), "-WRONGPASS");
    EXPECT_EQ(c({"CALL", "balance", "1"}).substr(0, 7), "-NOAUTH");
    EXPECT_EQ(c({"AUTH", "clerk", "secret"}), "OK");
    EXPECT_EQ(c({"ACL", "WHOAMI"}), "clerk");
    EXPECT_EQ(c({"CALL", "balance", "1"}), "1000");
    EXPECT_EQ(c({"AUTH", "chief", "wrong"}).substr(0, 10), "-WRONGPASS");
    EXPECT_EQ(c({"ACL", "WHOAMI"}), "clerk") << "a login that failed leaves it who it was";
    EXPECT_EQ(number_of(c({"INFO"}), "logins_failed"), 6U);
    EXPECT_EQ(c({"AUTH", "open"}), "OK");
    EXPECT_EQ(c({"ACL", "WHOAMI"}), "default");
    EXPECT_EQ(c({"HELLO", "2", "AUTH", "chief", "more", "AUTH", "clerk", "wrong"}).front(), '(');
    EXPECT_EQ(c({"ACL", "WHOAMI"}), "chief");
    EXPECT_EQ(c({"ACL", "LIST"}).substr(0, 4), "-ERR");
}

// In a pipeline, the requests after a login wait for the login. The server answers all requests in their order.
TEST(access, a_pipeline_waits_for_its_login) {
    bank_server bank{with_users()};
    bare_socket c{bank.port()};
    ASSERT_TRUE(c.send(wire({"CALL", "balance", "1"}) + wire({"AUTH", "clerk", "wrong"}) +
                       wire({"CALL", "balance", "1"}) + wire({"AUTH", "clerk", "secret"}) +
                       wire({"CALL", "balance", "1"}) + wire({"ACL", "WHOAMI"}) + wire({"QUIT"})));
    const std::string all = c.receive_all();
    EXPECT_EQ(all.substr(0, 7), "-NOAUTH");
    EXPECT_NE(all.find("-WRONGPASS"), std::string::npos);
    EXPECT_TRUE(all.ends_with("\r\n+OK\r\n:1000\r\n$5\r\nclerk\r\n+OK\r\n")) << all;
}

/// Records the requests that it gets back, in place of an I/O thread.
class completion_recorder final : public request_owner {
public:
    void complete_request(request& done) noexcept override {
        const std::lock_guard hold{guard_};
        states_.push_back(done.login.state);
        came_.notify_all();
    }
    byte_budget& budget() noexcept override { return budget_; }
    std::vector<login_claim::login_result> after(std::size_t count) {
        std::unique_lock hold{guard_};
        came_.wait(hold, [&] { return states_.size() >= count; });
        return states_;
    }

private:
    byte_budget budget_{std::size_t{1} << 20};
    std::mutex guard_;
    std::condition_variable came_;
    std::vector<login_claim::login_result> states_;
};

TEST(access, excess_logins_are_refused_and_abandoned_ones_skipped) {
    using verdict = login_claim::login_result;
    accounts users{with_users().users};
    completion_recorder given;
    std::deque<request> all;
    password_verifier door{users};
    constexpr std::size_t crowd = 1000;
    for (std::size_t i = 0; i < crowd; ++i) {
        request& r = all.emplace_back(given);
        r.login.who = users.find("clerk");
        r.login.password = "secret";
        r.is_client_gone = i != 0;
        door.submit(r);
    }
    door.start();
    const std::vector<verdict> said = given.after(crowd);
    EXPECT_EQ(std::ranges::count(said, verdict::correct), 1);
    EXPECT_EQ(std::ranges::count(said, verdict::unchecked), 255);
    EXPECT_EQ(std::ranges::count(said, verdict::busy), 744);
}

// Catches a server whose end waits for the pending password checks.
TEST(access, logins_are_refused_at_shutdown) {
    accounts users{with_users().users};
    completion_recorder given;
    request r{given};
    password_verifier door{users};
    r.login.who = users.find("clerk");
    r.login.password = "secret";
    door.submit(r);
    door.begin_drain();
    door.start();
    EXPECT_EQ(given.after(1), std::vector{login_claim::login_result::unchecked});
}

TEST(access, abandoned_logins_do_not_succeed) {
    bank_server bank{with_users()};
    for (int i = 0; i < 20; ++i) {
        bare_socket c{bank.port()};
        ASSERT_TRUE(c.send(wire({"AUTH", "clerk", "secret"})));
        if (i % 2 == 0) c.reset();
        else c.half_close();
    }
    client after{bank.port()};
    EXPECT_EQ(after({"AUTH", "clerk", "secret"}), "OK");
    bank->drain();
}

TEST(access, users_call_only_allowed_procedures) {
    bank_server bank{with_users()};
    client c{bank.port()};
    ASSERT_EQ(c({"AUTH", "clerk", "secret"}), "OK");
    EXPECT_EQ(c({"CALL", "transfer", "1", "2", "3"}).substr(0, 7), "-NOPERM");
    EXPECT_EQ(c({"CALL", "PRIORITY", "0", "--", "transfer", "1", "2", "3"}).substr(0, 7), "-NOPERM");
    ASSERT_EQ(c({"MULTI"}), "OK");
    EXPECT_EQ(c({"CALL", "balance", "1"}), "QUEUED");
    EXPECT_EQ(c({"CALL", "transfer", "1", "2", "3"}).substr(0, 7), "-NOPERM");
    EXPECT_EQ(c({"EXEC"}).substr(0, 10), "-EXECABORT");
    EXPECT_EQ(c({"CALL", "balance", "1"}), "1000");
    for (const std::vector<std::string>& other :
         std::vector<std::vector<std::string>>{{"CLIENT", "LIST"},
                                               {"client", "kill", "id", "1"},
                                               {"TIMELINE", "START"},
                                               {"SLOWLOG", "GET"},
                                               {"FOLLOW", "TERM", "2", "7", "me"},
                                               {"REPLICAOF", "NO", "ONE"},
                                               {"slaveof", "no", "one"}})
        EXPECT_EQ(c(other).substr(0, 36), "-NOPERM this user has no permissions") << other[0];
    EXPECT_EQ(c({"CLIENT", "ID"}).find('-'), std::string::npos);
    ASSERT_EQ(c({"AUTH", "chief", "more"}), "OK");
    EXPECT_EQ(c({"CALL", "transfer", "1", "2", "3"}), "OK");
    EXPECT_NE(c({"CLIENT", "LIST"}).find("id="), std::string::npos);
    ASSERT_EQ(c({"AUTH", "default", "open"}), "OK");
    EXPECT_EQ(c({"CALL", "balance", "1"}).substr(0, 7), "-NOPERM") << "no patterns, no calls";
}

TEST(access, priorities_are_limited_by_user) {
    bank_server bank{with_users()};
    client c{bank.port()};
    ASSERT_EQ(c({"AUTH", "clerk", "secret"}), "OK");
    EXPECT_EQ(c({"CALL", "PRIORITY", "4", "how"}).substr(0, 9), "-ARGUMENT");
    EXPECT_EQ(c({"CALL", "PRIORITY", "3", "how"}).substr(0, 2), "(3");
    EXPECT_EQ(c({"CALL", "how", "PRIORITY", "4"}).substr(0, 9), "-ARGUMENT");
    // The procedure's own priority is 4.
    EXPECT_EQ(c({"CALL", "balance", "1"}), "1000");
    EXPECT_NE(bank->info().find("turnaround_balance_3:"), std::string::npos) << bank->info();
}

TEST(access, calls_beyond_the_rate_are_refused_on_all_connections) {
    settings how = with_users();
    how.users[0].rate = 1;
    how.users[0].allowed_procedures = {"*"};
    bank_server bank{how};
    client one{bank.port()}, two{bank.port()};
    ASSERT_EQ(one({"AUTH", "clerk", "secret"}), "OK");
    ASSERT_EQ(two({"AUTH", "clerk", "secret"}), "OK");
    // Repeats until two calls arrive within one second. Every call that is not refused runs.
    int run = 0, refused = 0;
    while (refused == 0) {
        for (client* const c : {&one, &two}) {
            const std::string answer = (*c)({"CALL", "count"});
            if (answer.starts_with("-RATELIMIT")) ++refused;
            else ++run;
        }
    }
    client chief{bank.port()};
    ASSERT_EQ(chief({"AUTH", "chief", "more"}), "OK");
    EXPECT_EQ(chief({"CALL", "count"}), std::to_string(run + 1));
}

}  // namespace
}  // namespace tutti::server
