// A thread that owns sockets. It accepts clients, reads and parses requests, submits calls, and writes the answers in
// the order of the requests. A client cannot make the thread wait, regardless of what the client does. However, the
// thread computes the answers of commands itself, and the answer of TIMELINE STOP takes time (docs/server.md).
//
// An allocation failure while serving a client disconnects that client.
//
// The thread works in rounds of these steps:
//
//   1. Wait in epoll.
//   2. Read the clients that have sent data, more urgent clients first, until the round has enough requests
//      (reading_order.hpp).
//   3. Submit all requests at once, and collect the requests that workers have completed.
//   4. Update the touched connections: write answers, and decide which events to watch.
//   5. If the periodic check is due, check time limits and idle clients.
//
// While all calls in progress are expected to be short, an idle worker may own the thread's I/O (io_ownership.hpp). The
// worker reads requests, releases the I/O ownership to run the calls, acquires the ownership again, and answers the
// clients. When a call takes long, the thread reclaims the ownership.
//
// Thread safety: any thread may call `complete_request`, `wake`, `begin_drain`, `check_killed`, `counts`, `stuck` and
// the functions about rounds. Workers may call `run_on_worker`. Only the owner of the I/O calls the other functions.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "server/calls/forwarding.hpp"
#include "server/calls/idle_work.hpp"
#include "server/calls/stuck_calls.hpp"
#include "server/calls/unfinished_calls.hpp"
#include "server/metrics/counters.hpp"
#include "server/net/connection.hpp"
#include "server/net/eviction_log.hpp"
#include "server/net/http_warning.hpp"
#include "server/net/io_ownership.hpp"
#include "server/net/ownership_offers.hpp"
#include "server/net/request_list.hpp"
#include "server/net/sockets.hpp"
#include "server/protocol/call_budget.hpp"
#include "server/protocol/commands.hpp"
#include "server/protocol/password_verifier.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

/// A socket to accept clients from, and the function that makes their streams.
struct listening_socket {
    const handle& listener;
    std::function<std::unique_ptr<stream>(handle)> make_stream;
    std::size_t reserved = 0;                  ///< number of clients beyond max_clients that it may accept
    bool is_reachable_from_elsewhere = false;  ///< clients on other machines can reach it
};

/// The state that all I/O threads share.
struct io_shared_state {
    const settings& how;
    const commands& known_commands;
    executor& runs;
    unsigned workers;  ///< number of workers of `runs`
    std::vector<listening_socket> listening_sockets;
    client_directory& directory;
    reply_cache& replies;
    password_verifier& passwords;
    slow_log& slow;
    journal::journal* log = nullptr;  ///< null: calls are not logged
    forwarding* forwarder = nullptr;  ///< null: all calls run here
    byte_budget bytes{how.max_buffered_bytes};
    call_budget calls{how.max_buffered_bytes_clients.value_or(0) == 0
                          ? call_budget::unlimited
                          : how.max_buffered_bytes - *how.max_buffered_bytes_clients};
    std::atomic<std::size_t> clients{0};
    principals known_principals{};
    eviction_log evictions{};
    std::atomic<std::size_t> follower_clients{0};      ///< number of clients that are following servers
    std::atomic<bool> serves_followers_at_end{false};  ///< followers may continue to fetch although the server ends
    http_warning http_warnings{};
};

class io_thread final : public request_owner, public client_directory::client_owner {
public:
    /// @throws std::system_error
    io_thread(io_shared_state& shared, std::size_t procedures);
    /// REQUIRES: all requests of the thread are completed, and no thread still calls complete_request().
    ~io_thread();

    void start();
    /// Allows idle workers to own the thread's I/O. REQUIRES: the workers end before this thread ends.
    void allow_worker_io() noexcept { offers_.allow(); }
    /// Acquires the I/O ownership and performs the thread's I/O, until the worker has other work, a long call is in
    /// progress, or the server ends. Returns false if another thread owns the I/O. Only idle workers call this
    /// function.
    [[nodiscard]] bool run_on_worker(const idle_wakeup& worker) noexcept;
    /// Ends the wait for clients, for the thread or for a worker that owns the I/O.
    void wake() noexcept;
    void complete_request(request& done) noexcept override;
    [[nodiscard]] byte_budget& budget() noexcept override { return shared_.bytes; }
    [[nodiscard]] journal::journal* log() noexcept override { return shared_.log; }
    [[nodiscard]] const std::atomic<bool>* sleep_flag() const noexcept override { return &asleep_; }
    void begin_drain() noexcept;
    void check_killed() noexcept override;
    /// Makes the thread start a round. Returns the number to pass to `has_started_round`.
    [[nodiscard]] std::uint64_t request_round() noexcept;
    /// Returns true if the thread has ended, or has started a round since request_round() returned `since`.
    [[nodiscard]] bool has_started_round(std::uint64_t since) const noexcept;
    /// Returns true if the thread has ended, or has started a round since the previous call of this function. REQUIRES:
    /// a single thread calls this function.
    [[nodiscard]] bool responds() noexcept;
    /// Returns the calls of this thread's clients that block their worker.
    [[nodiscard]] const stuck_calls& stuck() const noexcept { return stuck_calls_; }
    /// Returns the calls that the thread waits for after it was told to end.
    [[nodiscard]] const unfinished_calls& unfinished() const noexcept { return unfinished_; }
    /// Returns true if the thread was told to end, all requests that it submitted are completed, and it submits no
    /// more.
    [[nodiscard]] bool has_no_calls() const noexcept { return has_no_calls_.load(std::memory_order_acquire); }
    /// Waits for the thread to end. Does nothing if the thread was not started.
    void join() {
        if (thread_.joinable()) thread_.join();
    }
    [[nodiscard]] const counters& counts() const noexcept { return counters_; }

private:
    void work();
    [[nodiscard]] bool finished() const noexcept;
    void wait(const idle_wakeup* worker = nullptr);
    [[nodiscard]] int sleep(std::span<epoll_event> into, const idle_wakeup* worker) noexcept;
    [[nodiscard]] bool has_message(const idle_wakeup* worker) const noexcept;
    [[nodiscard]] bool is_woken_within(std::chrono::nanoseconds time, const idle_wakeup& worker) noexcept;
    void end_round();
    [[nodiscard]] bool may_offer_ownership() const noexcept;
    void offer_ownership() noexcept;

    void accept(const listening_socket& from);
    bool reject_client(const listening_socket& from) noexcept;
    /// Returns false if memory is exhausted, or epoll cannot add the socket.
    [[nodiscard]] bool add_client(const listening_socket& from, handle socket, bool is_provisional) noexcept;
    /// Starts or stops watching the listeners. Returns false, with errno set, if that fails.
    bool watch_listening_sockets(bool on) noexcept;
    [[nodiscard]] bool handle_event(connection& c, std::uint32_t events);
    void read_in_order(std::span<connection*> readable);
    void read(connection& c) noexcept;
    void read_from(connection& c);
    void end_with_error(connection& c, std::string_view code, const std::string& why);
    std::size_t parse_requests(connection& c, std::string_view input);
    void count_command(connection& c) noexcept;
    void submit();
    void collect();
    void finish_login(request& r) noexcept;
    void submit_replication_command(connection& c) noexcept;
    void finish_replication_command(request& r) noexcept;
    void cache_reply(const request& r) noexcept;
    void log_if_slow(const request& r) noexcept;

    [[nodiscard]] bool may_use_reserved_connection(const listening_socket& from, const handle& socket,
                                                   std::size_t beyond) noexcept;
    void confirm_provisional_client(connection& c, request& r);
    [[nodiscard]] bool must_delay(connection& c) noexcept;
    void charge_for(connection& c, instant began) noexcept;
    void resume_paused() noexcept;
    void record_unfinished_request(connection& c) noexcept;
    [[nodiscard]] bool end_if_request_timed_out(connection& c) noexcept;
    void enforce_memory_limit() noexcept;
    void count_accepted(const connection& c, request& r) noexcept;
    void uncount_accepted(request& r) noexcept;
    void refuse_beyond_share(request& r) noexcept;
    void log_eviction(const connection& c) noexcept;

    void touch(connection& c);
    void update_connection(connection& c);
    void exchange(connection& c);
    [[nodiscard]] bool may_take_request(const connection& c) const noexcept;
    [[nodiscard]] bool should_read(const connection& c) const noexcept;
    void write(connection& c);
    void watch(connection& c);
    void close(connection& c);

    [[nodiscard]] bool may_read_held_request(connection& c) const noexcept;
    void run_periodic_checks();
    void publish_unfinished();
    void answer_overdue(request& r);
    void stop_for_drain();
    void close_killed();

    io_shared_state& shared_;
    request_limits limits_;
    counters counters_;
    stuck_calls stuck_calls_;
    handle epoll_;
    handle wakeup_;       // written by a thread that completes a request while the I/O thread sleeps
    handle last_resort_;  // the spare descriptor for rejecting clients when no other descriptor is left
    std::unordered_map<connection*, std::unique_ptr<connection>> connections_;
    std::vector<connection*> touched_;
    std::vector<connection*> paused_;  // connections whose next request is delayed
    instant next_resume_;              // earliest end of these delays
    std::vector<job*> to_submit_;
    std::size_t requests_of_round_ = 0;  // requests of this round; until sleep() returns: of the previous round
    std::uint64_t latest_read_ = 0;      // number of the latest read of any connection
    request_list requests_{*this};
    std::size_t deferred_count_ = 0;  // requests that the password verifier or the journal has
    std::unique_ptr<char[]> scratch_;
    instant now_;
    instant next_check_;
    instant next_stuck_check_;
    instant next_overdue_check_;  // next check for calls that have waited too long for short calls
    instant drain_began_;
    instant next_publication_;  // while the thread ends
    unfinished_calls unfinished_;
    io_ownership ownership_;
    ownership_offers offers_;
    bool time_limits_ = false;
    bool draining_ = false;
    bool accepting_ = false;
    std::uint64_t seen_rounds_ = ~std::uint64_t{0};  // rounds that the latest call of responds() saw

    alignas(64) std::atomic<request*> completed_{nullptr};  // a stack
    std::atomic<bool> asleep_{false};
    std::atomic<bool> drain_requested_{false};
    std::atomic<bool> kill_requested_{false};
    std::atomic<std::uint64_t> rounds_{0};
    std::atomic<bool> has_ended_{false};
    std::atomic<bool> has_no_calls_{false};
    std::thread thread_;
};

}  // namespace tutti::server
