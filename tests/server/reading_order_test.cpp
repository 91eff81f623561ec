// The order in which an I/O thread reads its clients. Catches clients that are read in the order of their sending,
// rounds without an end, and clients that are skipped forever.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <optional>
#include <semaphore>
#include <thread>

#include "server/client.hpp"
#include "server/idle_executor.hpp"
#include "server/io_thread_parts.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;

instant at(std::chrono::milliseconds when) { return instant{} + 1h + when; }

TEST(reading_turn, orders_by_priority_then_by_last_read) {
    const auto first = [](const reading_turn& a, const reading_turn& b, bool in_turn = false) {
        EXPECT_FALSE(b.is_before(a, in_turn));
        return a.is_before(b, in_turn);
    };
    reading_turn urgent, other, fresh, idle;
    urgent.record_call(5);
    urgent.record_read(8);
    other.record_call(4);
    other.record_read(7);
    idle.record_command();
    EXPECT_TRUE(first(urgent, other));
    EXPECT_TRUE(first(other, urgent, true));
    EXPECT_TRUE(first(fresh, urgent)) << "the new client may be an admin";
    EXPECT_TRUE(first(other, idle)) << "commands are no more urgent than a call without a priority";
    other.record_call(5);
    EXPECT_TRUE(first(other, urgent));
    other.record_command();
    other.record_read(9);
    EXPECT_TRUE(first(urgent, other)) << "its calls are as urgent as before";
}

TEST(reading_turn, is_overdue_after_being_skipped_for_long) {
    reading_turn t;
    const auto late = at(reading_turn::max_wait);
    EXPECT_FALSE(t.is_overdue(late));
    t.mark_skipped(at(0ms));
    t.mark_skipped(at(50ms));
    EXPECT_FALSE(t.is_overdue(late - 1ms));
    EXPECT_TRUE(t.is_overdue(late));
    t.record_read(1);
    EXPECT_FALSE(t.is_overdue(late));
}

/// Records the priorities of jobs that are submitted together, and takes none of them. On request, holds the submitting
/// thread.
class recording_executor final : public idle_executor {
public:
    std::span<job*> submit(std::span<job*> jobs, unsigned) noexcept override {
        {
            const std::scoped_lock lock{mutex_};
            auto& batch = noted_.emplace_back();
            for (const job* const j : jobs) batch.push_back(j->priority);
        }
        if (holds_.load()) {
            inside_.release();
            leave_.acquire();
        }
        return jobs;
    }
    /// Holds the next submitting thread. `before` sends the calls that this thread submits.
    template <class F>
    void hold(F&& before) {
        holds_ = true;
        before();
        inside_.acquire();
        const std::scoped_lock lock{mutex_};
        noted_.clear();
    }
    /// Releases the held thread, and holds the next one.
    void step() {
        leave_.release();
        inside_.acquire();
    }
    void release() {
        holds_ = false;
        leave_.release();
    }
    [[nodiscard]] std::vector<std::vector<int>> recorded() {
        const std::scoped_lock lock{mutex_};
        return noted_;
    }

private:
    std::atomic<bool> holds_{false};
    std::binary_semaphore inside_{0}, leave_{0};
    std::mutex mutex_;
    std::vector<std::vector<int>> noted_;
};

/// An I/O thread whose clients have called at priorities 1, 1, 2 and 5 before.
class reading_order : public ::testing::Test {
protected:
    explicit reading_order(settings how = {}) : parts_{executor_, std::move(how)} {
        parts_.procedures.add("noop", {}, [] {});
        parts_.shared.listening_sockets.push_back(
            {listener_.socket, [](handle s) { return std::make_unique<stream>(std::move(s)); }});
        serving_.emplace(parts_.shared, 1);
        serving_->start();
        for (std::size_t i = 0; i < priorities.size(); ++i) {
            clients_.push_back(std::make_unique<client>(path_));
            call(i);
            receive(i, 1);
        }
    }
    ~reading_order() override {
        clients_.clear();
        serving_->begin_drain();
        serving_->join();
        listener_.stop();
    }

    void call(std::size_t which) {
        clients_[which]->send({"CALL", "PRIORITY", std::to_string(priorities[which]), "noop"});
    }
    void receive(std::size_t which, std::size_t answers) {
        for (std::size_t i = 0; i < answers; ++i) EXPECT_EQ(clients_[which]->receive().substr(0, 5), "-BUSY");
    }
    /// Lets all clients send `calls` calls while nothing is read.
    void send_unread(std::size_t calls) {
        executor_.hold([&] { clients_.back()->send({"CALL", "PRIORITY", "5", "noop"}); });
        for (std::size_t i = 0; i < calls; ++i) {
            for (std::size_t c = 0; c < priorities.size(); ++c) call(c);
        }
    }
    /// Lets all clients send `calls` calls. Returns the priorities of the submitted calls, round by round.
    std::vector<std::vector<int>> rounds_of(std::size_t calls) {
        send_unread(calls);
        executor_.release();
        receive(3, 1);
        for (std::size_t c = 0; c < priorities.size(); ++c) receive(c, calls);
        return executor_.recorded();
    }

    static constexpr std::array<int, 4> priorities{1, 1, 2, 5};
    recording_executor executor_;

private:
    io_thread_parts parts_;
    const std::string path_ = ::testing::TempDir() + "tutti-reading-order-" + std::to_string(::getpid());
    local_listener listener_ = listen_unix(path_);
    std::optional<io_thread> serving_;
    std::vector<std::unique_ptr<client>> clients_;
};

TEST_F(reading_order, follows_priorities) {
    const auto rounds = rounds_of(2);
    ASSERT_EQ(rounds.size(), 1U);
    EXPECT_EQ(rounds[0], (std::vector<int>{5, 5, 2, 2, 1, 1, 1, 1}));
}

// One round ends after 256 requests, but reads all requests of the client that it reads at this point.
TEST_F(reading_order, skips_the_least_urgent_client_for_a_round) {
    const auto rounds = rounds_of(100);
    ASSERT_EQ(rounds.size(), 2U);
    EXPECT_EQ(rounds[0].size(), 300U);
    EXPECT_EQ(rounds[0].front(), 5);
    EXPECT_EQ(rounds[1], std::vector<int>(100, 1));
}

// A client that was skipped for long is read next, and alone, however much the more urgent clients send.
TEST_F(reading_order, skips_no_client_for_long) {
    send_unread(100);
    executor_.step();
    std::this_thread::sleep_for(reading_turn::max_wait);
    for (int i = 0; i < 150; ++i) {
        call(2);
        call(3);
    }
    call(0);
    executor_.release();
    receive(3, 251);
    receive(2, 250);
    receive(1, 100);
    receive(0, 101);
    const auto rounds = executor_.recorded();
    ASSERT_EQ(rounds.size(), 3U);
    std::vector<int> second(150, 5);
    second.insert(second.end(), 150, 2);
    second.insert(second.end(), 100, 1);
    EXPECT_EQ(rounds[1], second);
    EXPECT_EQ(rounds[2], std::vector<int>{1});
}

class round_robin_reads_test : public reading_order {
protected:
    round_robin_reads_test() : reading_order{{.round_robin_reads = true}} {}
};

TEST_F(round_robin_reads_test, read_the_longest_unread_client_first) {
    const auto rounds = rounds_of(1);
    ASSERT_EQ(rounds.size(), 1U);
    EXPECT_EQ(rounds[0], (std::vector<int>{1, 1, 2, 5}));
}

}  // namespace
}  // namespace tutti::server
