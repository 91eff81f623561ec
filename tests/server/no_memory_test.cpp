// Memory that is refused at the worst moment. Catches a pool that waits for threads that never end, and a list entry of
// an object that is gone. Catches a client that ends the whole server, and a client that gets no answer.

#include <gtest/gtest.h>

#include <optional>

#include "server/calls/invocation.hpp"
#include "server/calls/thread_pool.hpp"
#include "server/client.hpp"
#include "server/idle_executor.hpp"
#include "server/io_thread_parts.hpp"
#include "server/program_calls.hpp"
#include "support/heap.hpp"

namespace tutti::server {
namespace {

/// Refuses jobs until `takes` is set. Can then refuse memory, once, on the calling thread.
class full_executor final : public idle_executor {
public:
    std::atomic<bool> takes{false}, spoils_memory{false}, had_memory{false};
    // Refuses once, after this number of allocations of the next call.
    std::atomic<std::uint64_t> spoils_memory_later{0};
    job* taken = nullptr;

    std::span<job*> submit(std::span<job*> jobs, unsigned) noexcept override {
        if (std::exchange(support::refuse_after, 0) != 0) had_memory = true;
        if (spoils_memory) support::refuse_after = 1;
        if (spoils_memory_later != 0) support::refuse_after = spoils_memory_later.exchange(0);
        if (!takes) return jobs;
        taken = jobs.front();
        return {};
    }
};

TEST(no_memory, a_pool_without_all_threads_ends_the_others) {
    timeline shown{4};
    for (std::uint64_t n = 1;; ++n) {
        support::refuse_after = n;
        bool made = false;
        try {
            const thread_pool pool{4, 10, shown};
            made = true;
        } catch (const std::bad_alloc&) {}
        const bool refused = std::exchange(support::refuse_after, 0) == 0;
        ASSERT_NE(made, refused) << "allocation " << n;
        if (made) break;
    }
}

TEST(no_memory, a_refused_program_call_leaks_nothing) {
    const settings how;
    catalog known;
    known.add("noop", {}, [] {});
    full_executor full;
    slow_log slow{how.slow_log_slower_than, how.slow_log_max_len};
    program_calls calls{how, full, known.all(), slow};
    const invocation what{.entry = known.find("noop"), .how = {}, .spoken = protocol::resp3};
    int told = 0;
    const auto tell = [&](std::string_view, call_outcome) { ++told; };
    full.spoils_memory = true;
    EXPECT_THROW(calls.call(what, {}, tell), std::bad_alloc);
    EXPECT_EQ(told, 0);
    full.spoils_memory = false;
    full.takes = true;
    calls.call(what, {}, tell);
    full.taken->run();
    EXPECT_EQ(told, 1);
    EXPECT_EQ(calls.counts().outcomes(0, call_outcome::busy), 1U);
    EXPECT_EQ(calls.counts().outcomes(0, call_outcome::ok), 1U);
}

/// An I/O thread for an executor that takes nothing.
struct full_server {
    full_server() {
        parts.procedures.add("noop", {}, [] {});
        parts.shared.listening_sockets.push_back(
            {listener, [](handle s) { return std::make_unique<stream>(std::move(s)); }});
        serving.emplace(parts.shared, 1);
        serving->start();
    }
    void end() {
        serving->begin_drain();
        serving->join();
    }
    [[nodiscard]] std::uint16_t port() const { return port_of(listener); }

    full_executor full;
    io_thread_parts parts{full};
    const handle listener = listen_tcp("127.0.0.1", 0);
    std::optional<io_thread> serving;
};

TEST(no_memory, a_refused_call_is_answered) {
    full_server s;
    s.full.spoils_memory = true;
    EXPECT_EQ(client{s.port()}({"CALL", "noop"}), "-BUSY .");
    s.full.spoils_memory = false;
    EXPECT_EQ(client{s.port()}({"CALL", "noop"}).substr(0, 5), "-BUSY");
    s.end();
    EXPECT_EQ(s.serving->counts().outcomes(0, call_outcome::busy), 2U);
}

// Catches an ID that stays in progress forever because its accepted call could not be queued for lack of memory.
TEST(no_memory, the_id_of_an_unstarted_call_is_released) {
    for (std::uint64_t n = 1;; ++n) {
        full_server s;
        {
            bare_socket first{s.port()};
            s.full.spoils_memory_later = n;
            first.send("CALL noop\r\n");
            static_cast<void>(first.receive_lines(1));
            first.send("CALL noop\r\nCALL ID k noop\r\n");
            static_cast<void>(first.receive_lines(2));
        }
        const std::string again = client{s.port()}({"CALL", "ID", "k", "noop"});
        EXPECT_EQ(again.find("-BUSY too many calls"), 0U) << again << ", allocation " << n;
        s.end();
        if (s.full.had_memory) break;
    }
}

// Catches a place of max_clients that stays taken by a client that was refused for lack of memory.
TEST(no_memory, a_rejected_client_does_not_count) {
    for (std::uint64_t n = 1;; ++n) {
        full_server s;
        {
            bare_socket first{s.port()};
            s.full.spoils_memory_later = n;
            first.send("CALL noop\r\n");
            static_cast<void>(first.receive_lines(1));
            bare_socket second{s.port()};
            second.send("CALL noop\r\n");
            static_cast<void>(second.receive_lines(1));
        }
        while (s.parts.shared.clients != 0) std::this_thread::yield();
        s.end();
        if (s.full.had_memory) break;
    }
}

TEST(no_memory, a_failure_without_a_description_is_answered) {
    catalog known;
    known.add("fail", {}, [] {
        support::refuse_after = 1;
        throw 42;
    });
    const settings how;
    full_executor full;
    slow_log slow{how.slow_log_slower_than, how.slow_log_max_len};
    program_calls calls{how, full, known.all(), slow};
    full.takes = true;
    std::string answer;
    calls.call({.entry = known.find("fail"), .how = {}}, {},
               [&](std::string_view text, call_outcome) { answer = text; });
    full.taken->run();
    EXPECT_EQ(answer, "-EXCEPTION .\r\n");
}

TEST(no_memory, an_unstarted_call_is_answered) {
    const invocation what{};
    for (const call_outcome why : {call_outcome::busy, call_outcome::shutdown}) {
        std::string answer;
        support::refuse_after = 1;
        EXPECT_EQ(answer_refused(what, why, answer), why);
        EXPECT_EQ(std::exchange(support::refuse_after, 0), 0U);
        EXPECT_EQ(answer, "-" + std::string{code_of(why)} + " .\r\n");
    }
}

// Catches an answer that needs memory although none is left. The functions that write an answer are noexcept, so a
// failed allocation would end the server.
TEST(no_memory, a_call_that_has_run_is_answered) {
    catalog known;
    known.add("dive", {}, [] {});
    const invocation what{.entry = known.find("dive"), .how = {}};
    const auto expect = [](auto&& write, call_outcome outcome, const std::string& without_memory) {
        const std::string full = "-" + std::string{code_of(outcome)} + " ";
        for (std::uint64_t n = 1;; ++n) {
            std::string answer;
            support::refuse_after = n;
            EXPECT_EQ(write(answer), outcome);
            const bool refused = std::exchange(support::refuse_after, 0) == 0;
            if (refused) EXPECT_EQ(answer, without_memory);
            else EXPECT_EQ(answer.substr(0, full.size()), full);
            if (!refused) break;
        }
    };
    const std::string why = "full";
    expect([&](std::string& to) { return answer_stack_overflow(what, to); }, call_outcome::stack_overflow,
           "-EXCEPTION .\r\n");
    expect([&](std::string& to) { return answer_terminated(what, to); }, call_outcome::timeout, "-TIMEOUT .\r\n");
    expect([&](std::string& to) { return answer_unsaved(what, why, to); }, call_outcome::unsaved, "-UNSAVED .\r\n");
    expect([&](std::string& to) { return answer_unreplicated(what, to); }, call_outcome::unreplicated,
           "-UNSAVED .\r\n");
}

}  // namespace
}  // namespace tutti::server
