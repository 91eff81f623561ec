// The HTTP view of a server with a log. Catches a port that opens only after the log has been read, and figures of
// objects that do not exist yet. Catches a server that reports ready while its log cannot be written.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "server/client.hpp"
#include "server/durability/faulty_disk.hpp"
#include "server/durability/log_folder.hpp"
#include "tutti/server/service.hpp"
#include "tutti/tutti.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;

class log_health : public log_folder {
protected:
    [[nodiscard]] settings with_log() {
        settings how = logging_to("log", log_sync::every_second);
        how.metrics_port = 0;
        how.workers = 1;
        if (std::getenv("TUTTI_TEST_THREADS") != nullptr) how.executor = execution::threads;
        return how;
    }

    /// Adds a procedure whose calls, when the log is replayed, last until the test lets them end.
    void add_slow(service& to) {
        to.procedures().add("slow", {}, [this](const call& how) {
            atomically([this](tx& t) { calls_.set(t, calls_.get(t) + 1); });
            if (!how.replayed) return;
            read_again_ = true;
            read_again_.notify_all();
            may_end_.wait(false);
        });
    }

    var<long> calls_{0};
    std::atomic<bool> read_again_{false}, may_end_{false};
};

std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
bool has_status(const std::string& answer, int status) {
    return answer.starts_with("HTTP/1.1 " + std::to_string(status) + " ");
}

TEST_F(log_health, alive_but_not_ready_during_recovery) {
    {
        service first{with_log()};
        add_slow(first);
        first.start();
        first.call<void>("slow", {}).get();
    }
    service again{with_log()};
    add_slow(again);
    std::thread starts{[&] { again.start(); }};
    read_again_.wait(false);
    const std::uint16_t port = again.metrics_port();
    const std::string readiness = http_get(port, "/readyz");
    EXPECT_TRUE(has_status(readiness, 503)) << readiness;
    EXPECT_EQ(body_of(readiness), "loading: the server reads its log\n");
    const std::string liveness = http_get(port, "/healthz");
    EXPECT_TRUE(has_status(liveness, 200)) << liveness;
    EXPECT_EQ(body_of(liveness), "alive, loading\n");
    EXPECT_TRUE(has_status(http_get(port, "/metrics"), 503)) << "there are no figures yet";
    may_end_ = true;
    may_end_.notify_all();
    starts.join();
    EXPECT_TRUE(has_status(http_get(port, "/readyz"), 200));
    EXPECT_TRUE(has_status(http_get(port, "/metrics"), 200));
    EXPECT_EQ(calls_.load(), 2);
}

TEST_F(log_health, not_ready_while_the_log_cannot_be_written) {
    may_end_ = true;
    service full{with_log()};
    add_slow(full);
    full.start();
    EXPECT_TRUE(has_status(http_get(full.metrics_port(), "/readyz"), 200));
    faulty_disk::is_full = true;
    std::future<void> answered = full.call<void>("slow", {});
    std::string readiness;
    while (!has_status(readiness = http_get(full.metrics_port(), "/readyz"), 503)) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(body_of(readiness).find("log: calls that may write are refused: "), 0U) << readiness;
    EXPECT_NE(readiness.find("full"), std::string::npos) << readiness;
    EXPECT_FALSE(has_status(http_get(full.metrics_port(), "/healthz"), 503)) << "a new start would not help";
    faulty_disk::repair();
    while (!has_status(http_get(full.metrics_port(), "/readyz"), 200)) std::this_thread::sleep_for(1ms);
    answered.get();
}

}  // namespace
}  // namespace tutti::server
