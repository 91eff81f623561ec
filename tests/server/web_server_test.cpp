// HTTP pages that compete for a server's connections. Catches clients that block the pages of other clients: by
// silence, by half a request, by unread answers, or by slow requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <latch>
#include <stdexcept>
#include <string>

#include "exposition/web_request.hpp"
#include "exposition/web_server.hpp"
#include "server/client.hpp"

namespace tutti::exposition {
namespace {

using server::bare_socket;
using server::http_get;
using state = web_request::state;

TEST(web_request, parses_partial_input) {
    const std::string whole = "GET /metrics?all=1 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (std::size_t i = 0; i < whole.size(); ++i)
        EXPECT_EQ(read_request(std::string_view{whole}.substr(0, i)).is, state::incomplete) << i;
    const std::string with_body = whole + "what follows";
    const web_request r = read_request(with_body);
    EXPECT_EQ(r.is, state::complete);
    EXPECT_EQ(r.method, "GET");
    EXPECT_EQ(r.path, "/metrics");
    EXPECT_EQ(read_request("HEAD http://localhost:9/a/b HTTP/1.0\n\n").path, "/a/b");
    EXPECT_EQ(read_request("GET http://localhost HTTP/1.1\r\n\r\n").path, "/");
}

TEST(web_request, reports_malformed_input) {
    for (const std::string first :
         {"", "GET", "GET /", "GET  HTTP/1.1", "GET /a b HTTP/1.1", " / HTTP/1.1", "PRI * HTTP/2.0"})
        EXPECT_EQ(read_request(first + "\r\n\r\n").is, state::malformed) << first;
    EXPECT_EQ(read_request(std::string(max_head_bytes, 'x')).is, state::incomplete);
    EXPECT_EQ(read_request(std::string(max_head_bytes + 1, 'x')).is, state::too_long);
    EXPECT_EQ(read_request("GET / HTTP/1.1\r\nCookie: " + std::string(max_head_bytes, 'x') + "\r\n\r\n").is,
              state::too_long);
}

TEST(web_server, answers_invalid_requests) {
    web_server pages{"127.0.0.1", 0, {{"/bad", []() -> page { throw std::runtime_error{"broken"}; }}}};
    EXPECT_TRUE(http_get(pages.port(), "/bad").starts_with("HTTP/1.1 500 "));
    EXPECT_TRUE(http_get(pages.port(), "/bad", "POST").starts_with("HTTP/1.1 405 "));
    EXPECT_TRUE(http_get(pages.port(), "/none").ends_with("no such page; available are /bad\n"));
    bare_socket long_head{pages.port()};
    static_cast<void>(long_head.send("GET / HTTP/1.1\r\nCookie: " + std::string(100'000, 'x')));
    EXPECT_TRUE(long_head.receive(20).starts_with("HTTP/1.1 431 "));
    EXPECT_THROW((web_server{"127.0.0.1", pages.port(), {}}), std::runtime_error);
}

TEST(web_server, idle_clients_do_not_delay_pages) {
    const std::string large(2'000'000, 'x');
    web_server pages{"127.0.0.1", 0, {{"/small", [] { return page{.text = "here"}; }}, {"/large", [&] {
                                                                                            return page{.text = large};
                                                                                        }}}};
    std::deque<bare_socket> idle;
    for (std::size_t i = 0; i < web_server::max_connections; ++i) {
        idle.emplace_back(pages.port());
        idle.emplace_back(pages.port()).send("GET /small HTT");
        idle.emplace_back(pages.port(), 4096).send("GET /large HTTP/1.1\r\n\r\n");
        EXPECT_TRUE(http_get(pages.port(), "/small").ends_with("here"));
    }
}

TEST(web_server, makes_a_slow_page_once_for_all_clients) {
    std::latch begun{1}, may_end{1};
    std::atomic<int> made{0};
    web_server pages{"127.0.0.1", 0, {{"/fast", [] { return page{.text = "here"}; }}, {"/slow", [&] {
                                                                                           if (made++ == 0)
                                                                                               begun.count_down();
                                                                                           may_end.wait();
                                                                                           return page{.text = "late"};
                                                                                       }}}};
    std::deque<bare_socket> wait;
    const auto ask = [&] { wait.emplace_back(pages.port()).send("GET /slow HTTP/1.1\r\n\r\n"); };
    ask();
    begun.wait();
    for (int i = 0; i < 20; ++i) {
        ask();
        EXPECT_TRUE(http_get(pages.port(), "/fast").ends_with("here"));
    }
    may_end.count_down();
    for (bare_socket& s : wait) EXPECT_TRUE(s.receive_all().ends_with("late"));
    EXPECT_EQ(made, 2);
}

TEST(web_server, ends_during_a_page_with_waiting_clients) {
    std::latch begun{1};
    std::deque<bare_socket> idle;
    {
        web_server pages{"127.0.0.1", 0, {{"/page", [&] {
                                               begun.count_down();
                                               return page{.text = "here"};
                                           }}}};
        idle.emplace_back(pages.port());
        idle.emplace_back(pages.port()).send("GET /page HTTP/1.1\r\n\r\n");
        begun.wait();
    }
    EXPECT_EQ(idle[0].receive_all(), "");
    EXPECT_TRUE(idle[1].receive_all().ends_with("here"));
}

}  // namespace
}  // namespace tutti::exposition
