// A log that several servers have: one leads and writes it, the others follow. What a leader knows of its followers,
// and what any server knows of its own part.
//
// A follower asks for what comes after its own log (`pull`), again and again, and is answered when there is more, or
// after a while. By what it asks for it says what it has on its disk. So a leader keeps nothing for a follower but a
// few numbers, whatever that is doing: one that is slow asks seldom, and what it asks for is read from the file.
//
// T1  Each branch of the log has one writer (store.hpp). A server takes calls that write only while it leads, which it
//     does from a start without a leader to follow, or from a promotion, on a branch of its own.
// T2  A promotion begins a later term than any that this server has heard of. A server that hears of a later term than
//     its own stops to lead, for good: its log says so after a start, too.
// T3  A follower appends only what follows its own log: the leader compares branches before it answers. Nobody's log is
//     ever shortened or overwritten by that; where two have diverged, the operator is told.
// T4  A log lists a branch only if it lacks nothing before the first call of that. Otherwise it would vouch for one
//     that it left before: a log that has calls of it would pass for one that has not diverged.
//
// T5  A leader that hands its part over draws no position any more, notes in its log that the next term is another
//     server's, and answers the chosen follower's next question by an order to lead (`order`). It leads again only in a
//     later term still, after that follower has promised not to follow the order, or an operator has decided so.
//
// T6  A follower that is refused shows all of its branches. If they go on from those that this server had before its
//     start, in the same term, then this server has lost calls: within a term one server writes. The same holds for any
//     calls where this server has none. So this server takes no calls that write until an operator has decided which
//     log is right: by the promotion of the other server, or of this one, which then leads in a later term. With
//     `await_followers` a start waits for such a proof.
//
// T7  A server that follows another refuses its own followers by ELSEWHERE and the address of its leader, so that they
//     ask there. A redirection only says whom to ask: by T3 a follower appends nothing that does not follow its own
//     log, also after a wrong redirection.
//
// A call may wait until followers have it (`holds`), and so may a client (an inquiry for WAIT): both on the thread that
// answers followers, which touches no socket and runs no procedure, but waits for the file, and so for the disk.
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

/// What a follower says with each question.
struct pull {
    std::uint64_t follower = 0;     ///< the number of its log (store.hpp)
    std::string address{};          ///< for people
    branch own{};                   ///< that its log ends in
    std::uint64_t end = 1;          ///< after the last call that it has on its disk
    std::uint64_t upto = 1;         ///< nothing before it is missing there ...
    std::uint64_t upto_branch = 0;  ///< ... as the leader has said, while it wrote this branch
    std::size_t most = 0;           ///< bytes that it wants
};

/// What a client asks for that is not answered at once. Its owner's until it is handed in, and from `answered` on.
class inquiry {
public:
    /// `repeat`: as `wait`, for an answer that was given before.
    enum class kind : std::uint8_t { none, pull, wait, repeat, task, event };
    using clock = std::chrono::steady_clock;

    kind what = kind::none;
    pull from{};
    std::uint64_t position = 0;  ///< of `wait` and `repeat`: followers have to have what is before it
    std::uint64_t wanted = 0;    ///< so many of them
    clock::time_point until = clock::time_point::max();
    std::function<bool()> has_come{};                 ///< of `event`: it is looked for every 100 ms; must not throw
    std::function<void(std::string& answer)> task{};  ///< also of `event`; must not throw

    /// In RESP. @throws nothing
    virtual void answered(std::string answer) noexcept = 0;
    [[nodiscard]] virtual bool is_left() const noexcept = 0;

protected:
    inquiry() = default;
    ~inquiry() = default;

private:
    friend class replication;
    inquiry* next_ = nullptr;
};

/// That a follower is to lead from now on: the answer to its next question, once it has all before `position`.
struct lead_order {
    std::uint64_t number = 0;  ///< by chance; 0: there is none
    std::uint64_t follower = 0;
    std::uint64_t position = 1;
};

/// How a server that hands its part over has fared, or that it has not come to an end.
struct handover_outcome {
    std::atomic<bool> is_over{false};
    std::string why_not{};  ///< once it is over; empty: the other server leads, and this one follows it
};

/// Of a follower's own connection to its leader.
struct link_figures {
    std::string leader{};
    bool up = false;
    std::string trouble{};  ///< empty: none
    std::uint64_t term = 0, position = 1;
    /// Bytes of records that this server has not run yet. Nothing while the leader does not answer: it may have gone
    /// on.
    std::optional<std::uint64_t> behind_bytes{};
    std::chrono::milliseconds silent{0};  ///< since the leader answered
};

/// As INFO shows it.
struct replication_figures {
    struct follower {
        std::uint64_t id = 0;
        std::string address{};
        bool connected = false;
        std::uint64_t position = 0, behind = 0, behind_bytes = 0;
        std::chrono::milliseconds silent{0};
    };
    bool leads = true;
    std::string leader{};   ///< that it follows
    std::string refuses{};  ///< why it takes no calls that write; empty: it does
    branch now{};
    std::uint64_t position = 1;
    std::string handover{};  ///< what a leader that hands its part over is doing; empty: it does not
    std::vector<follower> followers{};
    std::optional<link_figures> link{};  ///< of one that follows
    std::uint64_t unreplicated = 0;      ///< calls that waited for followers in vain
};

class replication {
public:
    replication(journal& of, const log_settings& how) : of_{of}, how_{how} {}
    ~replication() { end(); }
    replication(const replication&) = delete;
    replication& operator=(const replication&) = delete;

    /// From here on it answers. @throws std::system_error
    void start();
    /// All that is asked from here on is answered at once.
    void begin_drain() noexcept;
    /// What still waits is passed on as not replicated. Idempotent.
    void end() noexcept;

    /// From here on this server leads, unless it has heard of a later term. `all`: the branches of the log, in which
    /// the last one is there already.
    /// `compared_with`: so many followers have to show what they have before it takes calls that write.
    void lead(std::vector<branch> all, std::size_t compared_with = 0);
    /// It leads, and takes no calls that write until an operator has decided, or followers have come (T6).
    [[nodiscard]] bool is_undecided() const;
    /// From here on it follows the server at this address.
    void follow(std::string leader);
    [[nodiscard]] bool takes_writes() const noexcept { return writes_.load(std::memory_order_acquire); }
    /// Why it does not.
    [[nodiscard]] std::string why_no_writes() const;
    /// Another server has said that it leads, or follows, in this term. If that is a later one, this server notes it,
    /// and stops to lead (T2). Waits for the disk. @throws store_error
    void hear(std::uint64_t term, const std::string& from);

    // ---- a leader that hands its part over, by one thread (replication/handover.hpp)
    /// While this is set, requests of clients that would write are left unread.
    void hold_calls(bool on) noexcept { holds_calls_.store(on, std::memory_order_relaxed); }
    [[nodiscard]] bool holds_calls() const noexcept { return holds_calls_.load(std::memory_order_relaxed); }
    /// Says what is being done, and why calls that write are refused meanwhile. Empty: nothing is.
    void show_handover(std::string doing, std::string refusal);
    /// From here on one follower is answered by that. Number 0: nobody is.
    void order(const lead_order& o);
    /// Waits until a later term is heard of, but not for longer than that. Returns whether one was.
    [[nodiscard]] bool await_later_term(std::chrono::milliseconds longest);
    /// Ends such a wait.
    void end_wait() noexcept;

    /// A follower that was refused has these branches, and calls before `end` (T6). Returns what it is told; empty:
    /// what it was refused by stands.
    [[nodiscard]] std::string compare(const std::string& address, const std::vector<branch>& all, std::uint64_t end);

    void ask(inquiry& i) noexcept;
    /// Whether the answer of a call waits for followers; then `w` is passed on later.
    [[nodiscard]] bool holds(waiter& w, std::uint64_t awaits) noexcept;
    /// Whether fewer followers have what is before `position` than the answer of a call needs.
    [[nodiscard]] bool lacks(std::uint64_t position) const noexcept {
        return how_.replicas != 0 && replicated_.load(std::memory_order_acquire) < position;
    }
    /// More is durable. By the journal, which has said so (durable).
    void note_durable() noexcept {
        if (awaits_more_.load()) ring();  // partner: work
    }

    /// Asks for the figures of the connection to the leader; empty: there is none. Before it is looked at by others.
    void show_link(std::function<link_figures()> look);
    [[nodiscard]] replication_figures look() const;

private:
    using clock = std::chrono::steady_clock;
    struct follower {
        std::uint64_t id = 0;
        std::string address{};
        std::uint64_t upto = 1;
        std::uint64_t behind_bytes = 0, behind_at = 0;  ///< bytes that it lacked when the journal had written so many
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
    /// Notes what it has. @throws refusal
    void admit(const pull& from);
    void note(const pull& from) noexcept;
    void count_compared();
    /// All before this position is on the disk of the follower that asks. REQUIRES: mutex_, admit().
    [[nodiscard]] std::uint64_t has_upto(const pull& from) const noexcept;
    /// The number of the order by which the follower that asks is to lead; 0: there is none.
    [[nodiscard]] std::uint64_t order_for(const pull& from) const noexcept;
    void count_replicas() noexcept;
    [[nodiscard]] std::uint64_t having(std::uint64_t position) const noexcept;

    journal& of_;
    const log_settings& how_;
    std::atomic<bool> writes_{false};
    std::atomic<bool> holds_calls_{false};
    std::atomic<std::uint64_t> replicated_{1};  // as many followers as calls wait for have all before it
    std::atomic<waiter*> held_{nullptr};
    std::atomic<inquiry*> asked_{nullptr};
    std::atomic<bool> rung_{false};
    std::atomic<bool> awaits_more_{false};  // somebody asks who may be answered when more is durable
    std::atomic<std::uint64_t> unreplicated_{0};

    // Of its thread.
    inquiry* asking_ = nullptr;
    waiter* waiting_ = nullptr;

    mutable std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    bool draining_ = false, ending_ = false;
    bool leads_ = false;
    std::string leader_;  // that it follows
    std::function<link_figures()> look_at_link_;
    std::string fenced_;          // who has a later term
    bool fence_is_kept_ = false;  // in the file
    std::string lost_;            // what a follower has and this server has not
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
