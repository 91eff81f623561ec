// A program's reactions to the answers and the silence of members. This test plays the members.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "cluster/backend/address.hpp"
#include "cluster/backend/fault_injection.hpp"
#include "cluster/backend/group_protocol.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace std::chrono_literals;
namespace backend = tutti::cluster::backend;
namespace group = backend::group;
using backend::engine_status;
using backend::fault;

/// Accepts every connection and answers each request with the result of `answer`. Closes the connection if that result
/// is empty.
class false_member {
public:
    using answer = std::function<std::string(group::request_kind)>;
    explicit false_member(answer how, std::string welcome = {}) : how_{std::move(how)}, welcome_{std::move(welcome)} {
        listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof a;
        if (::bind(listening_, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0 || ::listen(listening_, 16) != 0 ||
            ::getsockname(listening_, reinterpret_cast<sockaddr*>(&a), &length) != 0)
            throw std::runtime_error{"the member cannot listen"};
        place_ = "127.0.0.1:" + std::to_string(ntohs(a.sin_port));
        thread_ = std::thread{[this] { live(); }};
    }
    ~false_member() {
        over_ = true;
        thread_.join();
        ::close(listening_);
    }
    [[nodiscard]] const std::string& place() const noexcept { return place_; }
    [[nodiscard]] int commits() const noexcept { return commits_.load(); }

private:
    void live() {
        while (!over_) {
            pollfd p{listening_, POLLIN, 0};
            if (::poll(&p, 1, 5) <= 0) continue;
            const int s = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
            if (s < 0) continue;
            serve(s);
            ::close(s);
        }
    }
    bool take(int s, std::string& all, std::size_t bytes) const {
        while (all.size() < bytes) {
            pollfd p{s, POLLIN, 0};
            if (over_) return false;
            if (::poll(&p, 1, 5) <= 0) continue;
            char part[4096];
            const ssize_t n = ::recv(s, part, std::min(sizeof part, bytes - all.size()), 0);
            if (n <= 0) return false;
            all.append(part, static_cast<std::size_t>(n));
        }
        return true;
    }
    static void give(int s, const std::string& bytes) {
        static_cast<void>(::send(s, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    }
    void serve(int s) {
        std::string all;
        if (!take(s, all, group::hello::size)) return;
        group::welcome w;
        w.group = 7;
        std::string hail(4, '\0');
        tutti::wire::writer{hail}(w);
        hail[0] = static_cast<char>(hail.size() - 4);
        give(s, welcome_.empty() ? hail : welcome_);
        while (true) {
            std::string head, body;
            std::uint32_t length = 0;
            if (!take(s, head, 4)) return;
            std::memcpy(&length, head.data(), 4);
            if (!take(s, body, length)) return;
            const auto what = static_cast<group::request_kind>(body[0]);
            if (what == group::request_kind::commit) ++commits_;
            const std::string result = how_(what);
            if (result.empty()) return;
            give(s, result);
        }
    }

    const answer how_;
    const std::string welcome_;
    int listening_ = -1;
    std::string place_;
    std::atomic<bool> over_{false};
    std::atomic<int> commits_{0};
    std::thread thread_;
};

/// Returns the answer to a get with one record. The record says that this group alone has the objects.
std::string got() { return group::frame(group::reply_status::done, group::get_reply{true, 5, {{true, 4, "7"}}}); }

/// Returns the status of a commit.
engine_status commit_to(const std::string& places) {
    const auto e = backend::open_engine("tutti://" + places, {"g", 1500ms});
    const backend::write w{"o1", true, "x"};
    backend::request r;
    r.writes = {&w, 1};
    e->commit(r);
    return r.status;
}

/// Plays two members that close the connection when they get a commit. Returns the number of commits that both members
/// received in total.
int sent_where_answers_are_lost(engine_status& result) {
    const auto hang_up = [](group::request_kind q) { return q == group::request_kind::get ? got() : std::string{}; };
    false_member one{hang_up}, two{hang_up};
    result = commit_to(one.place() + "," + two.place());
    return one.commits() + two.commits();
}

class group_client_test : public ::testing::Test {
protected:
    void TearDown() override { backend::injected_fault = fault::none; }
    tutti::support::watchdog guard_{"group_client", 60s};
};

TEST_F(group_client_test, sends_a_commit_once_despite_a_lost_reply) {
    engine_status result{};
    EXPECT_EQ(sent_where_answers_are_lost(result), 1);
    EXPECT_EQ(result, engine_status::unknown);
    // Checks that this test notices a client that sends the commit twice.
    backend::injected_fault = fault::commit_twice;
    EXPECT_GT(sent_where_answers_are_lost(result), 1);
}

TEST_F(group_client_test, repeats_rejected_requests_at_another_member) {
    // No member leads. The program asks again until its request timeout is over, and nothing is written.
    const std::string nobody = group::frame(group::reply_status::not_leader, group::text_reply{});
    false_member lost{[&](group::request_kind q) { return q == group::request_kind::get ? got() : nobody; }};
    // If the timeout ends between a request and its answer, the outcome is unknown. Chance decides whether this
    // happens, so the test tries several times.
    engine_status result{};
    for (int i = 0; i < 5 && result != engine_status::unreachable; ++i) result = commit_to(lost.place());
    EXPECT_EQ(result, engine_status::unreachable);
    EXPECT_GT(lost.commits(), 3);
    // The answer names the leader.
    group::commit_reply good;
    good.all = {{true, 6}};
    const std::string done = group::frame(group::reply_status::done, good);
    false_member leads{[&](group::request_kind q) { return q == group::request_kind::get ? got() : done; }};
    const std::string there = group::frame(group::reply_status::not_leader, group::text_reply{leads.place()});
    false_member follows{[&](group::request_kind q) { return q == group::request_kind::get ? got() : there; }};
    EXPECT_EQ(commit_to(follows.place()), engine_status::good);
    EXPECT_EQ(follows.commits(), 1);
    EXPECT_EQ(leads.commits(), 1);
}

TEST_F(group_client_test, does_not_take_keep_alives_for_replies) {
    group::commit_reply good;
    good.all = {{true, 6}};
    const std::string done = group::frame(group::reply_status::done, good);
    const std::string alive{"\1\0\0\0\0", 5};
    // A member that waits for its disk sends signs of life.
    false_member slow{[&](group::request_kind q) {
        if (q == group::request_kind::get) return got();
        std::string all;
        return all + alive + alive + done;
    }};
    EXPECT_EQ(commit_to(slow.place()), engine_status::good);
}

TEST_F(group_client_test, closes_connections_after_invalid_bytes) {
    const auto never = [](group::request_kind) { return std::string{}; };
    for (const std::string& welcome : {std::string{"\3\0\0\0abc", 7}, std::string{"\xff\xff\xff\xff", 4}}) {
        false_member strange{never, welcome};
        try {
            static_cast<void>(backend::open_engine("tutti://" + strange.place(), {"g", 300ms}));
            ADD_FAILURE() << "it was taken for a member";
        } catch (const backend::engine_error& r) {
            EXPECT_NE(std::string{r.what()}.find(strange.place()), std::string::npos) << r.what();
        }
    }
    for (const std::string& answer :
         {std::string{"\1\0\0\0\1", 5}, std::string{"\2\0\0\0\x63\0", 6}, std::string{"\xff\xff\xff\xff", 4}}) {
        false_member strange{[&](group::request_kind q) { return q == group::request_kind::get ? got() : answer; }};
        EXPECT_EQ(commit_to(strange.place()), engine_status::unknown);
        EXPECT_EQ(strange.commits(), 1);
    }
}

}  // namespace
