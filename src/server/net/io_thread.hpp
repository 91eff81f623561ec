// A thread that owns sockets. It accepts clients, reads, cuts requests, submits them, and writes answers in the order
// of their requests. A client cannot make the thread wait, whatever the client does or fails to do. However, the thread
// computes the answers of commands itself, and the answer of TIMELINE STOP takes time (docs/server.md).
//
// An allocation failure while serving a client disconnects that client.
//
// A round: wait in epoll; read clients that have sent, the more urgent first, until that is enough for a round
// (reading_order.hpp). Then submit all requests at once, and collect the requests that workers gave back. Then look
// after the connections that were touched: write, and decide which events to watch. From time to time, check time
// limits and idle clients.
//
// While all calls in progress are expected to be brief, an idle worker takes the thread's place (helm.hpp). The worker
// reads, leaves the helm to run the calls, comes back and answers. When a call takes long, the thread takes over again.
//
// Thread safety: any thread may call `give_back`, `wake`, `begin_drain`, `look_for_killed`, `counted`, `kept` and the
// functions that ask for a sign. Workers may call `stand_in`. Only the holder of the helm calls the rest.
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
#include "server/calls/kept_calls.hpp"
#include "server/calls/unfinished.hpp"
#include "server/metrics/counters.hpp"
#include "server/net/connection.hpp"
#include "server/net/eviction_log.hpp"
#include "server/net/helm.hpp"
#include "server/net/pace.hpp"
#include "server/net/sockets.hpp"
#include "server/net/web_alarm.hpp"
#include "server/protocol/call_budget.hpp"
#include "server/protocol/commands.hpp"
#include "server/protocol/doorkeeper.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

/// A socket to accept clients from, and the function that makes their streams.
struct entrance {
    const handle& listener;
    std::function<std::unique_ptr<stream>(handle)> greet;
    std::size_t reserved = 0;                  ///< number of clients beyond max_clients that may come through it
    bool is_reachable_from_elsewhere = false;  ///< clients on other machines can reach it
};

/// The state that all I/O threads share.
struct common {
    const settings& how;
    const commands& known;
    executor& runs;
    unsigned workers;  ///< number of workers of `runs`
    std::vector<entrance> entrances;
    client_directory& directory;
    remembered& answers;
    doorkeeper& door;
    slow_log& slow;
    journal::journal* log = nullptr;  ///< null: calls are not logged
    forwarding* elsewhere = nullptr;  ///< null: all calls run here
    byte_budget bytes{how.max_held};
    call_budget calls{how.max_held_clients.value_or(0) == 0 ? call_budget::unlimited
                                                            : how.max_held - *how.max_held_clients};
    std::atomic<std::size_t> clients{0};
    principals known_principals{};
    eviction_log evictions{};
    std::atomic<std::size_t> following{0};      ///< number of clients that are following servers
    std::atomic<bool> awaits_followers{false};  ///< following servers may continue to ask although the server ends
    web_alarm web{};
};

class io_thread final : public giver, public client_directory::home {
public:
    /// @throws std::system_error
    io_thread(common& shared, std::size_t procedures);
    /// REQUIRES: none of its requests is with the executor, or on its way back.
    ~io_thread();

    void start();
    /// Allows idle workers to take the thread's place. REQUIRES: the workers end before this thread does.
    void allow_deputies() noexcept { has_deputies_.store(true, std::memory_order_relaxed); }
    /// Makes an idle worker do the thread's part until the worker is wanted, or calls take long. Returns false if
    /// another thread already does.
    [[nodiscard]] bool stand_in(const attention& worker) noexcept;
    /// Ends the wait for clients, for the thread or for a worker at the helm.
    void wake() noexcept;
    void give_back(request& done) noexcept override;
    [[nodiscard]] byte_budget& budget() noexcept override { return shared_.bytes; }
    [[nodiscard]] journal::journal* log() noexcept override { return shared_.log; }
    [[nodiscard]] const std::atomic<bool>* sleeps() const noexcept override { return &asleep_; }
    void begin_drain() noexcept;
    void look_for_killed() noexcept override;
    /// Makes the thread start a round. Returns the number to pass to `has_gone_round`.
    [[nodiscard]] std::uint64_t ask_for_sign() noexcept;
    /// Returns true if the thread has started a round since that number was returned, or has ended.
    [[nodiscard]] bool has_gone_round(std::uint64_t since) const noexcept;
    /// Returns true if the thread has started a round since the previous call, or has ended. REQUIRES: one thread calls
    /// this.
    [[nodiscard]] bool responds() noexcept;
    /// Returns the calls of its clients that occupy their worker.
    [[nodiscard]] const kept_calls& kept() const noexcept { return kept_; }
    /// Returns the calls that the thread waits for after it was told to end.
    [[nodiscard]] const unfinished& awaited() const noexcept { return awaited_; }
    /// Returns true if the thread was told to end, all requests that it submitted are back, and it submits no more.
    [[nodiscard]] bool calls_are_over() const noexcept { return calls_are_over_.load(std::memory_order_acquire); }
    /// Waits for the thread to end. Does nothing if the thread was not started.
    void join() {
        if (thread_.joinable()) thread_.join();
    }
    [[nodiscard]] const counters& counted() const noexcept { return counters_; }

private:
    void work();
    [[nodiscard]] bool finished() const noexcept;
    void wait(const attention* worker = nullptr);
    void choose_events(int had) noexcept;
    [[nodiscard]] int sleep(std::span<epoll_event> into, const attention* worker) noexcept;
    [[nodiscard]] bool is_told(const attention* worker) const noexcept;
    [[nodiscard]] bool is_called_within(std::chrono::nanoseconds time, const attention& worker) noexcept;
    void end_round();
    [[nodiscard]] bool may_offer() const noexcept;
    void offer() noexcept;
    [[nodiscard]] unsigned workers_worth_calling() const noexcept;
    void note_pace(const request& r) noexcept;

    void accept(const entrance& from);
    bool turn_away(const entrance& from) noexcept;
    /// Returns false if memory is exhausted, or epoll cannot add the socket.
    [[nodiscard]] bool let_in(const entrance& from, handle socket, bool is_provisional) noexcept;
    /// Starts or stops watching the listeners. Returns false, with errno set, if that fails.
    bool watch_entrances(bool on) noexcept;
    [[nodiscard]] bool handle_event(connection& c, std::uint32_t events);
    void read_in_order(std::span<connection*> readable);
    void read(connection& c) noexcept;
    void read_from(connection& c);
    void end_with(connection& c, std::string_view code, const std::string& why);
    std::size_t take_requests(connection& c, std::string_view input);
    void count_command(connection& c) noexcept;
    void submit();
    void collect();
    void end_login(request& r) noexcept;
    void ask_journal(connection& c) noexcept;
    void end_question(request& r) noexcept;
    void remember(const request& r) noexcept;
    void note_if_slow(const request& r) noexcept;

    [[nodiscard]] bool has_reserved_place(const entrance& from, const handle& socket, std::size_t beyond) noexcept;
    void settle_place(connection& c, request& r);
    [[nodiscard]] bool must_wait(connection& c) noexcept;
    void charge_for(connection& c, instant began) noexcept;
    void resume_paused() noexcept;
    void note_unfinished(connection& c) noexcept;
    [[nodiscard]] bool ends_unfinished(connection& c) noexcept;
    void keep_memory_bound() noexcept;
    void count_accepted(const connection& c, request& r) noexcept;
    void end_accepted(request& r) noexcept;
    void refuse_beyond_share(request& r) noexcept;
    void note_evicted(const connection& c) noexcept;

    void touch(connection& c);
    void look_after(connection& c);
    void exchange(connection& c);
    [[nodiscard]] bool takes_more(const connection& c) const noexcept;
    [[nodiscard]] bool is_read(const connection& c) const noexcept;
    void write(connection& c);
    void watch(connection& c);
    void close(connection& c);

    [[nodiscard]] bool goes_on(connection& c) const noexcept;
    void keep_order();
    void publish_awaited();
    void answer_overdue(request& r);
    void stop_for_drain();
    void close_killed();

    request& take_request();
    void put_away(request& r) noexcept;

    static constexpr std::size_t spare_requests = 4096;

    common& shared_;
    request_limits limits_;
    counters counters_;
    kept_calls kept_;
    handle epoll_;
    handle bell_;         // rung by a thread that gives back while the I/O thread sleeps
    handle last_resort_;  // a descriptor to turn clients away with when the process has used up all others
    std::unordered_map<connection*, std::unique_ptr<connection>> connections_;
    std::vector<connection*> touched_;
    std::vector<connection*> paused_;  // connections whose next request is delayed
    instant next_resume_;              // earliest end of these delays
    std::vector<job*> to_submit_;
    int events_of_worker_ = 64;      // events per round while a worker is at the helm
    std::size_t taken_ = 0;          // requests in this round; in the latest one until this round has begun to read
    std::uint64_t latest_read_ = 0;  // number of the latest read of any connection
    std::vector<std::unique_ptr<request>> spare_;
    request* under_way_ = nullptr;  // list of requests that are not answered yet (R2)
    std::size_t under_way_count_ = 0;
    std::size_t at_door_ = 0;  // requests that the doorkeeper or the journal has
    std::unique_ptr<char[]> scratch_;
    instant now_;
    instant next_look_;
    instant next_look_for_kept_;
    instant next_late_;  // next check of brief calls that others wait for
    instant drain_began_;
    instant next_publication_;  // while the thread ends
    unfinished awaited_;
    helm helm_;
    pace pace_;
    bool stands_in_ = false;   // a worker has the helm, or had it last
    std::size_t lasting_ = 0;  // requests in progress that are not expected to be brief
    instant next_offer_;
    std::chrono::milliseconds offer_pause_{0};  // time without offers after a worker deserted
    double nanoseconds_per_tick_;
    std::atomic<bool> has_deputies_{false};
    bool time_limits_ = false;
    bool draining_ = false;
    bool accepting_ = false;
    std::uint64_t seen_rounds_ = ~std::uint64_t{0};  // rounds that the latest call of responds() saw

    alignas(64) std::atomic<request*> given_back_{nullptr};  // a stack
    std::atomic<bool> asleep_{false};
    std::atomic<bool> drain_asked_{false};
    std::atomic<bool> kill_asked_{false};
    std::atomic<std::uint64_t> rounds_{0};
    std::atomic<bool> gone_{false};
    std::atomic<bool> calls_are_over_{false};
    std::thread thread_;
};

}  // namespace tutti::server
