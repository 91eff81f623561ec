// A log that several servers have: one server leads and writes it, the others follow. This file holds what a leader
// knows of its followers, and what any server knows of its own role.
//
// A follower asks for the entries after its own log (`pull`), again and again. The leader answers when there is more,
// or after a while. Each question states what the follower has on its disk. So the leader keeps only a few numbers for
// each follower, even for a slow one. A slow follower asks rarely, and the leader reads the requested groups from the
// file.
// T1  Each branch of the log has one writer (store.hpp). A server accepts calls that write only while it leads. It
//     leads after a start without a leader to follow, or after a promotion, on a new branch of its own.
// T2  A promotion begins a later term than any that this server has heard of. A server that hears of a later term than
//     its own stops leading for good. Its log records this, so it holds after a restart, too.
// T3  A follower appends only groups that continue its own log: the leader compares branches before it answers. This
//     never shortens or overwrites a log. If two logs have diverged, the server tells the operator.
// T4  A log lists a branch only if the log lacks nothing before the first call of that branch. Otherwise the log would
//     vouch for a branch that it left earlier. A log with calls of that branch would pass for one that has not
//     diverged.
//
// T5  A leader that hands over its lead stops drawing positions. It notes in its log that the next term belongs to
//     another server. Then it answers the next question of the chosen follower with an order to lead (`order`). It
//     leads again only in a still later term. Before, that follower must promise not to follow the order, or an
//     operator must decide so.
//
// T6  A refused follower shows all of its branches. Suppose that they continue, in the same term, the branches that
//     this server had before its start. Then this server has lost calls, because only one server writes within a term.
//     This server has also lost calls if the follower has any calls and this server had none. From then on this server
//     accepts no calls that write until an operator has decided which log is right. The operator promotes either the
//     other server or this one, which then leads in a later term. With `await_followers`, a start waits for followers
//     to show their branches.
//
// T7  A server that follows another one refuses its own followers with ELSEWHERE and the address of its leader, so that
//     they ask there. A redirection only names the server to ask: by T3 a follower appends only groups that continue
//     its own log, even after a wrong redirection.
//
// A call may wait until followers have it (`holds`), and so may a client (an inquiry for WAIT). Both wait on the thread
// that answers followers. That thread touches no socket and runs no procedure, but it waits for the file, and so for
// the disk.
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

#include "server/journal/store.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server::journal {

class journal;
class waiter;

/// The contents of a follower's question.
struct pull {
    std::uint64_t follower = 0;     ///< the number of its log (store.hpp)
    std::string address{};          ///< shown to users
    branch own{};                   ///< the last branch in its log
    std::uint64_t end = 1;          ///< position after the last call on its disk
    std::uint64_t upto = 1;         ///< the follower lacks nothing before this position ...
    std::uint64_t upto_branch = 0;  ///< ... as the leader said when it wrote this branch
    std::size_t most = 0;           ///< maximum number of bytes in the answer
};

/// A client's question that is not answered at once. Its owner may use it until it is handed in, and again from
/// `answered` on.
class inquiry {
public:
    /// `repeat` is like `wait`, for an answer that was given before.
    enum class kind : std::uint8_t { none, pull, wait, repeat, task, event };
    using clock = std::chrono::steady_clock;

    kind what = kind::none;
    pull from{};
    std::uint64_t position = 0;  ///< of `wait` and `repeat`: followers must have everything before this position
    std::uint64_t wanted = 0;    ///< number of followers that must have it
    clock::time_point until = clock::time_point::max();
    std::function<bool()> has_come{};                 ///< of `event`: polled every 100 ms; must not throw
    std::function<void(std::string& answer)> task{};  ///< writes the answer; also of `event`; must not throw

    /// Takes the answer in RESP. @throws nothing
    virtual void answered(std::string answer) noexcept = 0;
    [[nodiscard]] virtual bool is_left() const noexcept = 0;

protected:
    inquiry() = default;
    ~inquiry() = default;

private:
    friend class replication;
    inquiry* next_ = nullptr;
};

/// An order that a follower is to lead from now on. It answers that follower's next question once the follower has
/// everything before `position`.
struct lead_order {
    std::uint64_t number = 0;  ///< random; 0: no order
    std::uint64_t follower = 0;
    std::uint64_t position = 1;
};

/// The outcome of handing over the lead, or that the hand-over is still in progress.
struct handover_outcome {
    std::atomic<bool> is_over{false};
    /// set when it is over; empty: the other server leads, and this one follows it
    std::string why_not{};
};

/// The figures of a follower's own connection to its leader.
struct link_figures {
    std::string leader{};
    bool up = false;
    std::string trouble{};  ///< empty: no trouble
    std::uint64_t term = 0, position = 1;
    /// Bytes of records that this server has not run yet. Unset while the leader does not answer, because the leader's
    /// log may have grown.
    std::optional<std::uint64_t> behind_bytes{};
    std::chrono::milliseconds silent{0};  ///< time since the leader's last answer
};

/// The figures of replication that INFO shows.
struct replication_figures {
    struct follower {
        std::uint64_t id = 0;
        std::string address{};
        bool connected = false;
        std::uint64_t position = 0, behind = 0, behind_bytes = 0;
        std::chrono::milliseconds silent{0};
    };
    bool leads = true;
    std::string leader{};   ///< the server that it follows
    std::string refuses{};  ///< why it refuses calls that write; empty: it accepts them
    branch now{};
    std::uint64_t position = 1;
    std::string handover{};  ///< step of the hand-over in progress; empty: none
    std::vector<follower> followers{};
    std::optional<link_figures> link{};  ///< only on a server that follows
    std::uint64_t unreplicated = 0;      ///< calls that waited for followers until their timeout
};

class replication {
public:
    replication(journal& of, const log_settings& how) : of_{of}, how_{how} {}
    ~replication() { end(); }
    replication(const replication&) = delete;
    replication& operator=(const replication&) = delete;

    /// Starts to answer questions. @throws std::system_error
    void start();
    /// Answers all later questions at once.
    void begin_drain() noexcept;
    /// Passes on all waiting calls as not replicated. Idempotent.
    void end() noexcept;

    /// Makes this server lead, unless it has heard of a later term. `all`: the branches of the log, including the new
    /// last one. `compared_with`: the number of followers that must show their branches before this server accepts
    /// calls that write.
    void lead(std::vector<branch> all, std::size_t compared_with = 0);
    /// Returns true if the server leads but accepts no calls that write until an operator has decided, or followers
    /// have come (T6).
    [[nodiscard]] bool is_undecided() const;
    /// Makes this server follow the server at this address.
    void follow(std::string leader);
    [[nodiscard]] bool takes_writes() const noexcept { return writes_.load(std::memory_order_acquire); }
    /// Returns why this server does not accept calls that write.
    [[nodiscard]] std::string why_no_writes() const;
    /// Handles another server's statement that it leads, or follows, in this term. If the term is a later one, this
    /// server notes it in its log and stops leading (T2). Waits for the disk. @throws store_error
    void hear(std::uint64_t term, const std::string& from);

    // ---- a leader that hands over its lead, by one thread (replication/handover.hpp)
    /// While this is set, the server leaves clients' requests that would write unread.
    void hold_calls(bool on) noexcept { holds_calls_.store(on, std::memory_order_relaxed); }
    [[nodiscard]] bool holds_calls() const noexcept { return holds_calls_.load(std::memory_order_relaxed); }
    /// Sets the step shown to users, and the reason why calls that write are refused meanwhile. Empty: no hand-over is
    /// in progress.
    void show_handover(std::string doing, std::string refusal);
    /// Answers the chosen follower's next question with this order. Number 0: withdraws the order.
    void order(const lead_order& o);
    /// Waits until the server hears of a later term, at most for `longest`. Returns true if it heard of one, or
    /// end_wait() was called.
    [[nodiscard]] bool await_later_term(std::chrono::milliseconds longest);
    /// Ends the wait of await_later_term().
    void end_wait() noexcept;

    /// Compares the branches of a refused follower with those of this server. The follower has calls before `end` (T6).
    /// Returns the answer to the follower; empty: the refusal stands.
    [[nodiscard]] std::string compare(const std::string& address, const std::vector<branch>& all, std::uint64_t end);

    void ask(inquiry& i) noexcept;
    /// Returns true if the answer of a call waits for followers. Then the thread passes `w` on later.
    [[nodiscard]] bool holds(waiter& w, std::uint64_t awaits) noexcept;
    /// Returns true if fewer followers have everything before `position` than the answer of a call needs.
    [[nodiscard]] bool lacks(std::uint64_t position) const noexcept {
        return how_.replicas != 0 && replicated_.load(std::memory_order_acquire) < position;
    }
    /// Reports that more positions are durable. The journal calls this after it has stored durable_.
    void note_durable() noexcept {
        if (awaits_more_.load()) ring();  // pairs with the store in work
    }

    /// Sets the function that returns the figures of the connection to the leader; empty: no connection. REQUIRES:
    /// called before any thread looks.
    void show_link(std::function<link_figures()> look);
    [[nodiscard]] replication_figures look() const;

private:
    using clock = std::chrono::steady_clock;
    struct follower {
        std::uint64_t id = 0;
        std::string address{};
        std::uint64_t upto = 1;
        /// bytes that it lacked, and the bytes that the journal had written at that time
        std::uint64_t behind_bytes = 0, behind_at = 0;
        clock::time_point seen{};
    };

    void ring() noexcept;
    void work();
    [[nodiscard]] clock::time_point next_look() const noexcept;
    void look_after(clock::time_point now, bool ending) noexcept;
    [[nodiscard]] bool is_due(inquiry& i, clock::time_point now, bool ending) noexcept;
    [[nodiscard]] std::string answer(const inquiry& i) noexcept;
    [[nodiscard]] branch now_writing() const;
    [[nodiscard]] std::string piece_for(const pull& from);
    /// Notes what the follower has. @throws refusal
    void admit(const pull& from);
    void note(const pull& from) noexcept;
    void count_compared();
    /// Returns the position before which everything is on the disk of the asking follower. REQUIRES: mutex_, admit().
    [[nodiscard]] std::uint64_t has_upto(const pull& from) const noexcept;
    /// Returns the number of the order that makes the asking follower lead; 0: there is no such order.
    [[nodiscard]] std::uint64_t order_for(const pull& from) const noexcept;
    void count_replicas() noexcept;
    [[nodiscard]] std::uint64_t having(std::uint64_t position) const noexcept;

    journal& of_;
    const log_settings& how_;
    std::atomic<bool> writes_{false};
    std::atomic<bool> holds_calls_{false};
    // as many followers as calls wait for have everything before this position
    std::atomic<std::uint64_t> replicated_{1};
    std::atomic<waiter*> held_{nullptr};
    std::atomic<inquiry*> asked_{nullptr};
    std::atomic<bool> rung_{false};
    std::atomic<bool> awaits_more_{false};  // an inquiry may be answered when more is durable
    std::atomic<std::uint64_t> unreplicated_{0};

    // Used by the thread that answers.
    inquiry* asking_ = nullptr;
    waiter* waiting_ = nullptr;

    mutable std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    bool draining_ = false, ending_ = false;
    bool leads_ = false;
    std::string leader_;  // address of the server that it follows
    std::function<link_figures()> look_at_link_;
    std::string fenced_;          // names the server that has a later term
    bool fence_is_kept_ = false;  // true once it is in the file
    std::string lost_;            // the calls that a follower has and this server lacks
    std::size_t compared_with_ = 0;
    std::string handover_, refuses_meanwhile_;
    lead_order order_;
    std::condition_variable handover_changed_;
    bool wait_is_over_ = false;
    std::vector<branch> branches_;
    std::vector<follower> followers_;
    std::thread thread_;
};

}  // namespace tutti::server::journal
