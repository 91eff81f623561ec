// Bounds of memory and time, tested as decisions: these tests do not wait. Catches buffers that grow with data already
// sent, clients that evade a limit by sending, and calls that are interrupted more and more.

#include <gtest/gtest.h>

#include "observe/histogram.hpp"
#include "server/calls/executors.hpp"
#include "server/metrics/counters.hpp"
#include "server/net/client_timeouts.hpp"
#include "server/protocol/multi.hpp"
#include "server/protocol/reply_cache.hpp"

namespace tutti::server {
namespace {

using namespace std::chrono_literals;

const instant start = instant{} + 1h;

/// A stream without a client at the other end.
class quiet_stream final : public stream {
public:
    explicit quiet_stream(bool established) : stream{handle{}}, established_{established} {}
    [[nodiscard]] bool is_established() const noexcept override { return established_; }

private:
    bool established_;
};

std::unique_ptr<connection> arrived_at_start(bool trusted, bool established = true) {
    static byte_budget plenty{1'000'000'000};
    auto made = std::make_unique<connection>(std::make_unique<quiet_stream>(established), start, plenty);
    made->who.is_trusted = trusted;
    return made;
}

// Catches a group of calls that is less urgent, or due later, than one of its calls alone. Catches an unbounded queue.
TEST(multi, has_the_highest_priority_of_its_calls) {
    const procedure_entry which{
        .number = 0, .definition = {.name = "p", .options = {}, .min_arguments = 0, .max_arguments = 9, .body = {}}};
    const std::string_view word = "a word";
    const auto queued = [&](multi& in, int priority, instant due) {
        invocation what{.entry = &which, .how = {}, .due = due};
        what.how.priority = priority;
        in.add({.entry = &which, .priority = {}, .deadline = {}, .id = {}, .arguments = {&word, 1}}, what);
    };
    multi several{10'000};
    queued(several, 7, start + 9s);
    queued(several, 9, start + 5s);
    queued(several, 2, no_deadline);
    const invocation whole = several.as_one_call(which, protocol::resp2);
    EXPECT_EQ(whole.how.priority, 9);
    EXPECT_EQ(whole.due, start + 5s);
    EXPECT_EQ(whole.queued_calls.size(), 3U);
    multi small{several.bytes()};
    for (int i = 0; i < 3; ++i) queued(small, 0, no_deadline);
    EXPECT_THROW(queued(small, 0, no_deadline), bad_argument);
    EXPECT_EQ(small.bytes(), several.bytes());
}

TEST(reply_cache_test, drops_the_oldest_answers) {
    using state = reply_cache::state;
    reply_cache answers{{.answers = 10, .bytes = 100, .time = 1min}};
    std::string unused;
    const auto keep = [&](const std::string& key, std::size_t bytes, instant when) {
        EXPECT_EQ(answers.begin(key, 1, unused, when), state::fresh);
        answers.store(key, std::string(bytes, 'x'), when);
    };
    const auto knows = [&](const char* key, instant when) {
        const state is = answers.begin(key, 1, unused, when);
        if (is == state::fresh) answers.remove(key);
        return is == state::answered;
    };
    keep("a", 40, start);
    keep("b", 40, start + 1s);
    EXPECT_TRUE(knows("a", start + 1s));
    keep("c", 40, start + 2s);
    EXPECT_FALSE(knows("a", start + 2s)) << "there are too many bytes";
    EXPECT_TRUE(knows("b", start + 61s));
    EXPECT_FALSE(knows("b", start + 62s)) << "that was too long ago";
    EXPECT_TRUE(knows("c", start + 62s));
}

// A client reads, but never everything, so the queue is never empty.
TEST(byte_queue, frees_the_memory_of_sent_bytes) {
    byte_queue unread;
    const std::string answer(1000, 'x');
    for (int i = 0; i < 10; ++i) unread.append(answer);
    for (int i = 0; i < 2000; ++i) {
        unread.append(answer);
        unread.consume(answer.size());
    }
    EXPECT_EQ(unread.size(), 10'000U);
    EXPECT_LT(unread.footprint(), 100'000U);
}

TEST(byte_queue, keeps_the_order_and_frees_large_buffers) {
    byte_queue q;
    std::string expected;
    for (int i = 0; i < 500; ++i) {
        const std::string word = std::to_string(i);
        q.append(word);
        expected += word;
        if (i % 3 != 2) continue;
        q.consume(2);
        expected.erase(0, 2);
        ASSERT_EQ(q.pending(), expected);
    }
    q.append(std::string(1'000'000, 'x'));
    q.consume(q.size());
    EXPECT_TRUE(q.empty());
    EXPECT_LT(q.footprint(), 100'000U);
}

struct null_owner final : request_owner {
    void complete_request(request&) noexcept override {}
    byte_budget& budget() noexcept override { return plenty; }

private:
    byte_budget plenty{1'000'000'000};
};

// Answers that wait for a long-running call count as held.
TEST(connection, counts_answers_behind_an_unfinished_one) {
    null_owner home;
    request first{home}, second{home};
    const auto c = arrived_at_start(true);
    c->append(first);
    c->append(second);
    second.answer.assign(1000, 'x');
    c->mark_answered(second);
    EXPECT_EQ(c->unsent_bytes(), 0U);
    EXPECT_EQ(c->held(), 1000U);
    EXPECT_EQ(c->first_answered(), nullptr);
    c->mark_answered(first);
    EXPECT_EQ(c->first_answered(), &first);
    EXPECT_EQ(c->pop_first(), &first);
    EXPECT_EQ(c->pop_first(), &second);
    EXPECT_EQ(c->held(), 0U);
}

TEST(request, frees_large_answers_on_reset) {
    null_owner home;
    request r{home};
    r.answer.assign(1'000'000, 'x');
    r.reset();
    EXPECT_LT(r.answer.capacity(), 100'000U);
}

TEST(client_timeouts_test, clients_without_login_cannot_extend_their_time) {
    const settings how{.login_timeout = 1s};
    const auto stranger = arrived_at_start(false);
    stranger->last_request = stranger->last_progress = start + 900ms;
    EXPECT_FALSE(is_timed_out(*stranger, how, false, start + 1000ms));
    EXPECT_TRUE(is_timed_out(*stranger, how, false, start + 1001ms));
    stranger->out.append("-NOAUTH");
    EXPECT_TRUE(is_timed_out(*stranger, how, false, start + 1001ms)) << "what it does not read neither";
    stranger->who.is_trusted = true;
    EXPECT_FALSE(is_timed_out(*stranger, how, false, start + 1001ms));
}

TEST(client_timeouts_test, a_handshake_counts_as_login_time) {
    const settings how{.login_timeout = 1s};
    EXPECT_TRUE(is_timed_out(*arrived_at_start(true, false), how, false, start + 1001ms));
    EXPECT_FALSE(is_timed_out(*arrived_at_start(true), how, false, start + 1h));
}

TEST(client_timeouts_test, a_client_that_awaits_an_answer_is_not_idle) {
    const settings how{.idle_timeout = 1s};
    null_owner home;
    request r{home};
    const auto waiting = arrived_at_start(true);
    waiting->last_request = start;
    waiting->append(r);
    EXPECT_FALSE(is_timed_out(*waiting, how, false, start + 1h));
    waiting->mark_answered(r);
    EXPECT_EQ(waiting->pop_first(), &r);
    EXPECT_FALSE(is_timed_out(*waiting, how, false, start + 1000ms));
    EXPECT_TRUE(is_timed_out(*waiting, how, false, start + 1001ms));
}

TEST(client_timeouts_test, shutdown_is_bounded_for_every_client) {
    const settings how{.write_timeout = 0ms};
    const auto leaving = arrived_at_start(true), reading_nothing = arrived_at_start(true);
    leaving->lingering = true;
    reading_nothing->out.append("OK");
    for (const connection* const c : {leaving.get(), reading_nothing.get()}) {
        EXPECT_FALSE(is_timed_out(*c, how, false, start + 24h));
        EXPECT_FALSE(is_timed_out(*c, how, true, start + 10s));
        EXPECT_TRUE(is_timed_out(*c, how, true, start + 11s));
    }
}

// The client reads a little now and then.
TEST(client_timeouts_test, shutdown_is_bounded_for_slow_readers) {
    const auto slow = arrived_at_start(true);
    slow->out.append("OK");
    slow->all_answered = start;
    slow->last_progress = start + 60s;
    EXPECT_FALSE(is_timed_out(*slow, {}, true, start + 60s));
    EXPECT_TRUE(is_timed_out(*slow, {}, true, start + 61s));
    EXPECT_TRUE(is_timed_out(*slow, {.write_timeout = 0ms}, true, start + 61s));
    slow->all_answered.reset();
    EXPECT_FALSE(is_timed_out(*slow, {}, true, start + 61s)) << "a call of it still runs";
}

// Catches an end of the server that closes a connection whose call is on its way. Its client could not know that the
// call had no effect.
TEST(client_timeouts_test, recent_clients_may_have_a_request_in_flight) {
    const auto fresh = arrived_at_start(true);
    EXPECT_TRUE(may_have_request_in_flight(*fresh, start + 10ms, start + 99ms));
    EXPECT_FALSE(may_have_request_in_flight(*fresh, start + 10ms, start + 100ms)) << "it has been silent";
    fresh->last_request = start + 60ms;
    EXPECT_TRUE(may_have_request_in_flight(*fresh, start + 10ms, start + 109ms));
    EXPECT_FALSE(may_have_request_in_flight(*fresh, start + 10ms, start + 110ms)) << "it could go on forever";
    fresh->got_shutdown_error = true;
    EXPECT_FALSE(may_have_request_in_flight(*fresh, start + 10ms, start + 61ms));
}

TEST(run_clock, interrupts_at_growing_intervals) {
    run_clock clock;
    EXPECT_FALSE(clock.is_interrupt_due(50ms, start + 1h)) << "it has not begun";
    clock.begin(start);
    EXPECT_FALSE(clock.is_interrupt_due(50ms, start + 49ms));
    EXPECT_TRUE(clock.is_interrupt_due(50ms, start + 50ms));
    EXPECT_FALSE(clock.is_interrupt_due(50ms, start + 50ms));
    EXPECT_TRUE(clock.is_interrupt_due(50ms, start + 60ms));
    EXPECT_EQ(clock.interrupts(), 2U);
    for (instant now = start; now < start + 10s; now += 10ms) static_cast<void>(clock.is_interrupt_due(50ms, now));
    EXPECT_GE(clock.interrupts(), 10U) << "it goes on";
    EXPECT_LE(clock.interrupts(), 20U);
    clock.reset();
    EXPECT_FALSE(clock.is_interrupt_due(50ms, start + 1h));
}

TEST(counters, refused_calls_have_no_turnaround_time) {
    counters counted{1};
    counted.count_call(0, 3, call_outcome::busy, 1us);
    counted.count_call(0, 3, call_outcome::shutdown, 1us);
    counted.count_call(0, 3, call_outcome::ok, 5ms);
    turnaround_sum sum;
    counted.add_to(sum, 0, 3);
    EXPECT_EQ(observe::count_of(sum.buckets), 1U);
    EXPECT_EQ(sum.microseconds, 5000U);
    EXPECT_EQ(counted.outcomes(0, call_outcome::busy), 1U);
}

TEST(workers, are_limited_by_the_executor) {
    EXPECT_EQ(workers_for({}, execution::threads, 128), 127U);
    EXPECT_EQ(workers_for({.io_threads = 4}, execution::threads, 2), 1U);
    EXPECT_EQ(workers_for({.workers = 100}, execution::threads, 2), 100U);
    if (executor_of({}) != execution::preemptive) GTEST_SKIP() << "not in this build";
    EXPECT_EQ(workers_for({}, execution::preemptive, 128), 64U);
}

}  // namespace
}  // namespace tutti::server
