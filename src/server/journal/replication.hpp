// A log that several servers have: one server leads and writes it, the others follow. This file manages a leader's
// knowledge of its followers, and each server's knowledge of its own role.
//
// A follower repeatedly sends a `fetch_request` for the entries after the end of its own log. The leader answers as
// soon as it has something new, or when the request's time is over. Each request states the position after the last
// call on the follower's disk. So the leader stores only a few numbers for each follower. A slow follower does not need
// more memory on the leader, because the leader reads the requested groups from the file.
// REP1  Each leader epoch of the log has one writer (log_store.hpp). A server accepts calls that write only while it
//       leads. It leads after a start without a leader to follow, or after a promotion, on a new leader epoch of its
//       own.
// REP2  A promotion begins a later term than any that this server has heard of. A server that hears of a later term
//       than its own stops leading for good. The server's log records the later term, so the server does not lead after
//       a restart either.
// REP3  A follower appends only groups that continue its own log: the leader compares leader epochs before it answers.
//       Appending never shortens or overwrites a log. If two logs have diverged, the server reports this to the
//       operator.
// REP4  A log lists a leader epoch only if the log lacks nothing before the first call of that epoch. Otherwise a log
//       that diverged before that epoch could list the epoch. A leader with such a log would then accept a follower
//       with calls of that epoch, although the two logs have diverged.
//
// REP5  A leader that hands over leadership stops reserving positions. It records in its log that the next term belongs
//       to another server. Then it answers the next fetch of the chosen follower with an order to lead (`set_order`).
//       The leader leads again only after that follower has promised not to follow the order, or after an operator has
//       decided so. It then leads in a still later term.
//
// REP6  A refused follower shows all of its leader epochs. Suppose that these epochs continue, in the same term, the
//       leader epochs that this server had before its start. Then this server has lost calls, because only one server
//       writes within a term. This server has also lost calls if the follower has calls and this server had none before
//       its start. From then on this server accepts no calls that write until an operator has decided which log is
//       right. The operator promotes either the other server or this one, which then leads in a later term. With
//       `await_followers`, a start waits for followers to show their leader epochs.
//
// REP7  A server that follows another one refuses its own followers with ELSEWHERE and the address of its leader, so
//       that they fetch there. A redirection only names another server: by REP3 a follower appends only groups that
//       continue its own log, even after a wrong redirection.
//
// The answer of a call may wait until followers have the call (`hold_until_replicated`). A client may wait for the same
// by a deferred request for WAIT. The thread that answers followers handles both waits. That thread touches no socket
// and runs no procedure, but may wait for the file, and so for the disk.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/journal/log_store.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server::journal {

class journal;
class durability_waiter;

/// A follower's request for entries of the log.
struct fetch_request {
    std::uint64_t follower = 0;    ///< the number of the follower's log (log_store.hpp)
    std::string address{};         ///< shown to users
    leader_epoch own_epoch{};      ///< the last leader epoch in its log
    std::uint64_t end = 1;         ///< position after the last call on its disk
    std::uint64_t upto = 1;        ///< the position before which the follower lacks nothing
    std::uint64_t upto_epoch = 0;  ///< ID of the leader's epoch when the leader stated `upto`
    std::size_t max_bytes = 0;     ///< maximum number of bytes in the answer
};

/// A client's request that is not answered at once. The request's owner must not use it between `submit` and
/// `complete`.
class deferred_request {
public:
    /// `repeat` is like `wait`, for the repetition of an answer that was already given before.
    enum class kind : std::uint8_t { none, fetch, wait, repeat, task, event };
    using clock = std::chrono::steady_clock;

    kind what = kind::none;
    fetch_request fetched{};
    std::uint64_t position = 0;       ///< for `wait` and `repeat`: followers must have everything before this position
    std::uint64_t min_followers = 0;  ///< number of followers that must have everything before `position`
    clock::time_point until = clock::time_point::max();
    std::function<bool()> has_happened{};             ///< for `event`: polled every 100 ms; must not throw
    std::function<void(std::string& answer)> task{};  ///< writes the answer, also for `event`; must not throw

    /// Receives the answer in RESP. @throws nothing
    virtual void complete(std::string answer) noexcept = 0;
    [[nodiscard]] virtual bool is_client_gone() const noexcept = 0;

protected:
    deferred_request() = default;
    ~deferred_request() = default;

private:
    friend class replication;
    deferred_request* next_ = nullptr;
};

/// An order to a follower to lead from now on. The order is the answer to that follower's next fetch, once the follower
/// has everything before `position`.
struct takeover_order {
    std::uint64_t number = 0;  ///< random; 0: no order
    std::uint64_t follower = 0;
    std::uint64_t position = 1;
};

/// The outcome of handing over leadership, or that the handover is still in progress.
struct handover_result {
    std::atomic<bool> is_over{false};
    /// set before is_over; empty: the other server leads, and this server follows it
    std::string error{};
};

/// The figures of a follower's own connection to its leader.
struct leader_connection_status {
    std::string leader{};
    bool is_connected = false;
    std::string error{};  ///< empty: no error
    std::uint64_t term = 0, position = 1;
    /// Bytes of records that this server has not run yet. Unset while the leader does not answer, because the leader's
    /// log may have grown.
    std::optional<std::uint64_t> behind_bytes{};
    std::chrono::milliseconds silent{0};  ///< time since the leader's last answer
};

/// The figures of replication that INFO shows.
struct replication_statistics {
    struct follower {
        std::uint64_t id = 0;
        std::string address{};
        bool connected = false;
        std::uint64_t position = 0, behind = 0, behind_bytes = 0;
        std::chrono::milliseconds silent{0};
    };
    bool leads = true;
    std::string leader{};   ///< the server that this server follows
    std::string refuses{};  ///< why this server refuses calls that write; empty: it accepts them
    leader_epoch epoch{};
    std::uint64_t position = 1;
    std::string handover{};  ///< step of the handover in progress; empty: none
    std::vector<follower> followers{};
    std::optional<leader_connection_status> link{};  ///< only on a server that follows
    std::uint64_t replication_timeouts = 0;          ///< calls that waited for followers until their timeout
};

class replication {
public:
    replication(journal& of, const log_settings& how) : of_{of}, how_{how} {}
    ~replication() { end(); }
    replication(const replication&) = delete;
    replication& operator=(const replication&) = delete;

    /// Starts to answer requests. @throws std::system_error
    void start();
    /// Answers all later requests at once.
    void begin_drain() noexcept;
    /// Ends the waits of all calls as not replicated. Idempotent.
    void end() noexcept;

    /// Makes this server lead, unless it has heard of a later term. `all`: the leader epochs of the log, including the
    /// new last one. `compared_with`: the number of followers that must show their leader epochs before this server
    /// accepts calls that write.
    void lead(std::vector<leader_epoch> all, std::size_t compared_with = 0);
    /// Returns true if the server leads but accepts no calls that write until an operator has decided, or until enough
    /// followers have shown their leader epochs (REP6).
    [[nodiscard]] bool is_undecided() const;
    /// Makes this server follow the server at this address.
    void follow(std::string leader);
    [[nodiscard]] bool accepts_writes() const noexcept { return writes_.load(std::memory_order_acquire); }
    /// Returns why this server does not accept calls that write.
    [[nodiscard]] std::string write_refusal_reason() const;
    /// Handles another server's statement that it leads, or follows, in this term. If the term is later than this
    /// server's own, this server records the term in its log and stops leading (REP2). Waits for the disk. @throws
    /// log_store_error
    void handle_announced_term(std::uint64_t term, const std::string& from);

    // ---- a leader that hands over leadership, by one thread (replication/handover.hpp)
    /// While `on` is set, the server does not read clients' requests that would write.
    void hold_calls(bool on) noexcept { holds_calls_.store(on, std::memory_order_relaxed); }
    [[nodiscard]] bool holds_calls() const noexcept { return holds_calls_.load(std::memory_order_relaxed); }
    /// Sets the step shown to users, and the reason why calls that write are refused meanwhile. Empty: no handover is
    /// in progress.
    void set_handover_status(std::string doing, std::string refusal);
    /// Answers the chosen follower's next fetch with this order. Number 0: withdraws the order.
    void set_order(const takeover_order& o);
    /// Waits until the server hears of a later term, but at most for `time_limit`. Returns true if the server has heard
    /// of a later term, or if end_wait() was called.
    [[nodiscard]] bool await_later_term(std::chrono::milliseconds time_limit);
    /// Makes await_later_term() return.
    void end_wait() noexcept;

    /// Compares the leader epochs of a refused follower with those of this server (REP6). `end`: the position after the
    /// last call of the follower. Returns the answer to the follower, or an empty string if the refusal is the answer.
    [[nodiscard]] std::string compare(const std::string& address, const std::vector<leader_epoch>& all,
                                      std::uint64_t end);

    void submit(deferred_request& i) noexcept;
    /// Returns true if the answer of a call has to wait for followers. Then the replication thread calls
    /// `w.finish_wait` later.
    [[nodiscard]] bool hold_until_replicated(durability_waiter& w, std::uint64_t awaits) noexcept;
    /// Returns true if fewer followers have everything before `position` than the answer of a call needs.
    [[nodiscard]] bool lacks_followers_for(std::uint64_t position) const noexcept {
        return how_.wait_followers != 0 && replicated_.load(std::memory_order_acquire) < position;
    }
    /// Reports that more positions are durable. The journal calls this after it has stored durable_.
    void on_durable() noexcept {
        if (awaits_durability_.load()) wake_thread();  // pairs with the store in work
    }

    /// Sets the function that returns the figures of the connection to the leader; empty: no connection. statistics()
    /// calls the function, and only while this server follows.
    void set_link_status_source(std::function<leader_connection_status()> status_source);
    [[nodiscard]] replication_statistics statistics() const;

private:
    using clock = std::chrono::steady_clock;
    struct follower {
        std::uint64_t id = 0;
        std::string address{};
        std::uint64_t upto = 1;
        /// the bytes that the follower lacked at its latest fetch, and the bytes that the journal had written until
        /// then
        std::uint64_t behind_bytes = 0, behind_at = 0;
        clock::time_point seen{};
    };

    void wake_thread() noexcept;
    void work();
    [[nodiscard]] clock::time_point next_check() const noexcept;
    void check_requests(clock::time_point now, bool ending) noexcept;
    [[nodiscard]] bool is_due(deferred_request& i, clock::time_point now, bool ending) noexcept;
    [[nodiscard]] std::string answer(const deferred_request& i) noexcept;
    [[nodiscard]] leader_epoch current_epoch() const;
    [[nodiscard]] std::string chunk_for(const fetch_request& from);
    /// Checks that this server may answer the follower. @throws follower_rejected
    void admit(const fetch_request& from);
    void record(const fetch_request& from) noexcept;
    void count_compared();
    /// Returns the position before which everything is on the disk of the fetching follower. REQUIRES: mutex_ is
    /// locked, and admit() has accepted the follower.
    [[nodiscard]] std::uint64_t replicated_end_of(const fetch_request& from) const noexcept;
    /// Returns the number of the order that makes the fetching follower lead; 0: there is no such order.
    [[nodiscard]] std::uint64_t order_for(const fetch_request& from) const noexcept;
    void count_replicas() noexcept;
    [[nodiscard]] std::uint64_t count_followers_with(std::uint64_t position) const noexcept;

    journal& of_;
    const log_settings& how_;
    std::atomic<bool> writes_{false};
    std::atomic<bool> holds_calls_{false};
    // at least how_.wait_followers followers have everything before this position
    std::atomic<std::uint64_t> replicated_{1};
    std::atomic<durability_waiter*> held_{nullptr};
    std::atomic<deferred_request*> submitted_{nullptr};
    std::atomic<bool> is_woken_{false};
    std::atomic<bool> awaits_durability_{false};  // a request waits for more positions to be durable
    std::atomic<std::uint64_t> replication_timeouts_{0};

    // Only the thread that answers followers uses these members.
    deferred_request* requests_ = nullptr;
    durability_waiter* waiting_ = nullptr;

    mutable std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    bool draining_ = false, ending_ = false;
    bool leads_ = false;
    std::string leader_;  // address of the server that this server follows
    std::function<leader_connection_status()> link_status_;
    std::string later_leader_;       // names the server that has a later term
    bool is_fence_durable_ = false;  // true once the later term is in the file
    std::string lost_calls_;         // describes the calls that a follower has and this server lacks
    std::size_t compared_with_ = 0;
    std::string handover_, handover_refusal_;
    takeover_order order_;
    std::condition_variable handover_changed_;
    bool wait_is_over_ = false;
    std::vector<leader_epoch> epochs_;
    std::vector<follower> followers_;
    std::thread thread_;
};

}  // namespace tutti::server::journal
