// The log of what has been committed: each call that wrote something gets a position in the order in which the
// transactions serialize, and a thread of the journal's own writes them in that order, many at once.
//
// The life of a position:
//
//   drawn (draw) -> handed over, with its record (hand_over) or as a hole (leave_hole) -> collected -> written
//   -> durable
//
// J1  Positions are consecutive. Each that is drawn is handed over, once, soon: nothing that waits is between the two.
// J2  What is written ends at a position before which nothing is missing: the file never has a call without those that
//     it may depend on.
// J3  The order of conflicting calls is that in which they serialize. A call draws when its transaction holds every
//     lock that it will hold, and after that validates all its reads; it hands over before it releases a lock
//     (calls/logged.hpp). Let A serialize before B.
//       a. B reads or overwrites what A wrote: B could only after A's release, so after A's draw; B's draw is later.
//       b. A read what B overwrites. Suppose B's draw came first. Both draw under one lock (drawing_), so B's lock of
//          the variable, taken before its draw, happens before A's draw, and before A's validation, which would have
//          found it.
//     So running them again in the order of their positions, one after the other, gives what they gave.
// J4  Under `always` no answer goes out before everything that it may have seen is durable: what a call has read was
//     drawn before the call ended. Under `everysec` no answer goes out while something that was answered more than a
//     second ago is not durable. So at most what was answered within one second is lost.
//
// The waiting is not done by workers or I/O threads: a call that has to wait is left with the journal (holds), whose
// thread passes it on.
//
// When a group begins, under `always`: what a client's call waits for, those of others may share, so its I/O thread, or
// the worker in its place, is its host, and says when it has read, run and answered all that there was. Not while a
// group is written: the clients of that one ask again as soon as they are answered. So an fsync is for all that came
// during the one before, and nobody is interrupted for a group while answers go out. A call without a host, or whose
// host sleeps, begins a group itself, which waits a little for others (gathering.hpp). No call waits for others for
// longer than gathering::longest, but for the end of the group before.
//
// Full disk: the group stays in memory and is tried again, and what has committed waits for that; meanwhile `trouble`
// refuses calls before they run, and what has only read is told that it may have seen what will be lost. A failed fsync
// is final: nothing is written any more, and what waits is told that nobody knows.
//
// A follower's journal draws nothing: it appends what its leader has written, until it is promoted (replication.hpp).
// A leader that hands its part over goes the other way (close, then yield_to or lead_again). `closed_` is looked at and
// changed under drawing_, so no position is drawn after close() has returned the next one.
//
// Thread safety: any thread but where something else is said.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/lock.hpp"
#include "server/journal/answer_clock.hpp"
#include "server/journal/fair_mutex.hpp"
#include "server/journal/gathering.hpp"
#include "server/journal/replication.hpp"
#include "server/journal/snapshot_progress.hpp"
#include "server/journal/store.hpp"
#include "server/journal/tail.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server::journal {

/// A call that has ended and whose answer waits for the disk, or for followers.
class waiter {
public:
    enum class outcome : std::uint8_t {
        kept,         ///< all that it may have seen is on disk; or as many followers as it takes have it
        unknown,      ///< nobody knows whether it is on disk
        unreplicated  ///< too few followers have it, and its time is over
    };
    /// On a thread of the journal's; may destroy the waiter.
    virtual void pass_on(outcome how) noexcept = 0;

protected:
    waiter() = default;
    ~waiter() = default;

private:
    friend class journal;
    friend class replication;
    waiter* next_ = nullptr;
    std::uint64_t awaits_ = 0;
    bool wrote_ = false;
    std::chrono::steady_clock::time_point until_{};  // for followers
};

/// No position can be drawn, because the server does not lead, or is about to hand its part over.
class draws_no_more : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override { return "this server draws no positions now"; }
};

/// As INFO shows it.
struct figures {
    std::uint64_t calls = 0, bytes = 0, groups = 0;  ///< written since the start
    std::uint64_t drawn = 0, durable = 0;            ///< positions: the next one, and the first that is not on disk
    std::uint64_t pending_bytes = 0;
    snapshot_figures snapshots{};
    std::uint64_t bytes_to_replay = 0;
    std::string trouble{};  ///< empty: none
};

struct piece;

class journal {
public:
    /// `tell` is called on the journal's thread when the disk fails, and when it works again. @throws store_error
    journal(const log_settings& how, std::function<void(bool failed, const std::string&)> tell);
    ~journal();
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;

    /// For recovery, by one thread, before follow() or begin().
    [[nodiscard]] store& file() noexcept { return store_; }
    [[nodiscard]] const log_settings& settings() const noexcept { return how_; }
    /// For recovery. The clock of answers goes on from the latest.
    void read_answers(const std::function<void(const kept_answer&)>& take);
    /// From here on it takes calls, on a branch of its own; after follow() of a later term than any that it has heard
    /// of. @throws std::system_error, store_error
    void begin();
    /// The same for a follower that is promoted: `latest` is what the log is to say of the latest hand-over.
    void begin(const std::optional<handed_over>& latest);
    /// From here on it takes what another has written, by one thread, until begin(). @throws std::system_error
    void follow(const std::string& leader);

    // ---- a leader that hands its part over (replication/handover.hpp), by one thread
    /// From here on draw() throws. Returns the next position: the log ends before it.
    [[nodiscard]] std::uint64_t close() noexcept;
    /// Undoes close().
    void reopen() noexcept;
    /// Has what was drawn written soon, also if no answer waits for it.
    void write_soon() noexcept { ask(); }
    /// Leads on after close(), in a later term than any that the log knows of; then draws again.
    /// @throws store_error, std::bad_alloc  nothing has changed
    void lead_again();
    /// Ends this server's lead: from here on it takes what `leader` has written, as after follow().
    /// REQUIRES: close(), and all that was drawn is durable.
    void yield_to(const std::string& leader);

    /// What the leader has written; then nothing before `upto` is missing. False: none of it is there, because the disk
    /// fails, which is told; it may be tried again unless the journal is broken. REQUIRES: follow().
    [[nodiscard]] bool append(const piece& from) noexcept;
    [[nodiscard]] bool broken() const noexcept { return broken_; }
    /// Keeps the snapshot that was begun, which holds all calls before `position`. REQUIRES: as append; all of them are
    /// durable. Returns why it cannot be; empty: it is on disk.
    [[nodiscard]] std::string keep_at_end(std::uint64_t position);

    /// By which answers are remembered.
    [[nodiscard]] const answer_clock& times() const noexcept { return times_; }
    /// Other servers that have this log.
    [[nodiscard]] replication& others() noexcept { return others_; }
    /// Runs `what` on the file, as one thread at a time does.
    template <class F>
    void with_file(const F& what) {
        const std::scoped_lock lock{file_mutex_};
        what(store_);
    }
    /// All positions before it are on disk.
    [[nodiscard]] std::uint64_t durable() const noexcept { return durable_.load(); }
    /// The next one.
    [[nodiscard]] std::uint64_t drawn() const noexcept { return next_.load(); }
    [[nodiscard]] std::uint64_t written_bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
    void tell(bool failed, const std::string& line) const { tell_(failed, line); }
    /// The server is ending: answers no longer wait for a disk that cannot be written.
    void hurry() noexcept { hurried_.store(true); }
    /// Writes and syncs what is left. What cannot be written any more is passed on as not known. Afterwards by no other
    /// thread. Idempotent.
    void end() noexcept;

    /// A position, and room for a record of so many bytes; `answer` is what is to be kept with it, or null.
    /// REQUIRES: J3, takes(). @throws std::bad_alloc, draws_no_more  nothing is drawn
    [[nodiscard]] place draw(std::size_t bytes, const kept_answer* answer = nullptr);
    /// Its record has been filled in.
    void hand_over(const place& at, std::unique_ptr<kept_answer> answer = {}) noexcept;
    /// There is none, because its transaction was rolled back after all. `answer`: that it was drawn for; it is
    /// forgotten.
    void leave_hole(const place& at, std::unique_ptr<kept_answer> answer = {}) noexcept;
    /// There is none, because it is a snapshot's: no group lies on both sides of it.
    void cut(const place& at) noexcept;
    /// Whether the file has room for a record so long, with that answer, if it is not null. Another may not be drawn
    /// for.
    [[nodiscard]] bool takes(std::size_t bytes, const kept_answer* answer) const noexcept;

    /// Whether the answer of a call that has ended has to wait; then `w` is passed on later. `awaits`: the position
    /// after its own if it has one, or 0. `host_sleeps`: of a thread that calls no_more_come before it sleeps, and is
    /// about to as soon as the flag is set; until then the call is no reason to begin a group. Null: there is none.
    [[nodiscard]] bool holds(waiter& w, std::uint64_t awaits, const std::atomic<bool>* host_sleeps = nullptr) noexcept;

    // ---- by a host; under `always`
    /// Whether calls wait for a group to begin, and none is written just now: when that is over, its clients ask again.
    [[nodiscard]] bool gathers() const noexcept {
        return how_.sync == log_sync::always && held_.load() != nullptr && !writing_.load();
    }
    /// Whether as many as are expected are there: then it need not look for more.
    [[nodiscard]] bool all_there() const noexcept { return next_.load() >= enough_.load(); }
    /// How long it looks for more once it has nothing left to do; zero: as long as there are some.
    [[nodiscard]] std::chrono::nanoseconds patience() const noexcept;
    /// It has nothing left to do, and its flag says that it sleeps: what gathers is a group.
    void no_more_come() noexcept;
    /// It has more to do, after which others may wait: so is this once it has waited for long, or there is plenty.
    void more_come() noexcept;
    /// So long nobody misses it, unless it is called, as it mostly is: a group is written, and no answer goes out.
    [[nodiscard]] std::chrono::nanoseconds quiet_for() const noexcept;

    /// Why no call may begin that could write something; empty: it may.
    [[nodiscard]] std::string trouble() const;
    [[nodiscard]] bool in_trouble() const noexcept { return in_trouble_.load(std::memory_order_relaxed); }
    /// More waits to be written than may.
    [[nodiscard]] bool full() const noexcept { return pending() > how_.max_pending; }

    // ---- snapshots, of which one at a time is under way (incoming_snapshot.hpp)
    /// Begins one, and drops what an earlier one has left. @throws store_error
    void begin_snapshot();
    /// Runs `what` on the file, between two groups. @throws what that throws
    void change_snapshot(const std::function<void(store&)>& what);
    /// Keeps the snapshot that was begun, which holds all calls before `position`, once all of them are written.
    /// Returns when it is on disk, or why it cannot be.
    [[nodiscard]] std::string keep(std::uint64_t position);
    /// The same for a whole one.
    [[nodiscard]] std::string keep(const snapshot& s);
    [[nodiscard]] snapshot_progress& progress() noexcept { return progress_; }
    /// Bytes of records that a start would go through.
    [[nodiscard]] std::uint64_t bytes_to_replay() const noexcept {
        return bytes_to_replay_.load(std::memory_order_relaxed);
    }

    /// A follower has asked for a part of the snapshot, and asks for the next one soon.
    void note_copying() noexcept {
        copied_until_.store((clock::now() + followers_patience).time_since_epoch().count(), std::memory_order_relaxed);
    }
    /// Whether one has, and may: it would have to begin again with another snapshot.
    [[nodiscard]] bool is_copied() const noexcept {
        return clock::now().time_since_epoch().count() < copied_until_.load(std::memory_order_relaxed);
    }

    /// Whether calls were logged that no snapshot holds.
    [[nodiscard]] bool has_news() const noexcept { return next_.load() > not_in_snapshot_.load(); }

    [[nodiscard]] figures look() const;

private:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds followers_patience{5};  // as long as one waits for a part
    [[nodiscard]] std::size_t pending() const noexcept;
    void wake_if_idle() noexcept;
    void pass_on_late() noexcept;
    /// A branch of a later term than the log knows of, or of the same one; returns all branches.
    std::vector<branch> begin_branch(bool later_term, const std::optional<handed_over>* latest = nullptr);
    void begin(std::vector<branch> all);
    /// After a lead began: notes a later term that was heard of before.
    void heed_heard_term(std::uint64_t own);
    void work();
    void rest();
    void begin_cycle() noexcept;
    void ask() noexcept;
    void gather(std::unique_lock<std::mutex>& lock);
    /// What the journal's thread waits for.
    enum class sleep : std::uint8_t {
        none,
        for_anything,
        for_a_waiter,
        for_a_group  ///< one call waits; until enough_ do, or its patience ends
    };
    /// What had been drawn before it collected, and was not collected.
    enum class left_over : std::uint8_t {
        nothing,
        missing,  ///< one has not been handed over, and nobody rings for it
        more      ///< a group has ended before it
    };
    void ring() noexcept;
    [[nodiscard]] bool has_work() const noexcept;
    /// False: trouble.
    bool collect() noexcept;
    void collect(const stretch& some);  // throws std::bad_alloc, and then nothing has changed
    /// False: trouble.
    bool write(bool sync) noexcept;
    void write_snapshot() noexcept;
    [[nodiscard]] std::string finish_snapshot(std::uint64_t position) noexcept;
    [[nodiscard]] std::string drop_what_was_replaced() noexcept;
    void note_written(const group& g, std::size_t calls) noexcept;
    /// Now and then, for whoever writes to the file. @throws store_error  what has been written is not concerned
    void tidy_file();
    void pass_on() noexcept;
    void enter_trouble(const store_error& why) noexcept;
    void leave_trouble() noexcept;

    const log_settings how_;
    const std::uint64_t at_risk_;       // by the base clock: what is that old might be lost (J4)
    const std::uint64_t longest_wait_;  // by the same: of calls, until a group begins
    const std::function<void(bool, const std::string&)> tell_;
    fair_mutex file_mutex_;
    store store_;
    answer_clock times_;
    replication others_{*this, how_};
    snapshot_progress progress_;

    bool followed_ = false;               // before it led
    alignas(64) base::lock drawing_;      // of those who draw
    std::atomic<std::uint64_t> next_{1};  // changed under it, and so is the next one
    std::atomic<std::uint64_t> drawn_bytes_{0};
    tail tail_;
    bool closed_ = false;                                // changed under drawing_, too
    std::atomic<bool> yielded_{false};                   // no thread of the journal's passes on any more
    std::atomic<waiter*> held_{nullptr};                 // a stack
    alignas(64) std::atomic<std::uint64_t> durable_{1};  // all positions before it are
    std::atomic<std::uint64_t> written_bytes_{0};        // of drawn_bytes_, those that do not wait to be written
    std::atomic<std::uint64_t> oldest_{0};               // by the base clock; what was answered before it is durable
    std::atomic<bool> in_trouble_{false};
    std::atomic<std::uint64_t> not_in_snapshot_{1};  // the first position that a call has drawn or will draw
    std::atomic<bool> hurried_{false};
    std::atomic<sleep> asleep_{sleep::none};
    std::atomic<std::uint64_t> enough_{0};  // who waits for this position ends a sleep for a group
    // Under `always`.
    std::atomic<bool> asked_{false};           // for a group, since the latest one began
    std::atomic<bool> all_there_{false};       // by a host, which knows of no more
    std::atomic<bool> writing_{false};         // a group
    std::atomic<std::int64_t> usually_{0};     // nanoseconds that the latest group took
    std::atomic<std::uint64_t> latest_at_{0};  // by the base clock: what waits then is a group
    std::atomic<std::uint64_t> calls_{0}, bytes_{0}, groups_{0}, bytes_to_replay_{0};
    std::atomic<clock::rep> copied_until_{0};

    // Of the journal's thread.
    group ready_;  // what is collected and is to be written
    std::size_t ready_calls_ = 0, ready_bytes_ = 0;
    bool ready_ends_ = false;  // at a cut: what comes goes into another group
    left_over left_ = left_over::nothing;
    gathering groups_to_come_;
    waiter* waiting_ = nullptr;
    std::uint64_t collected_at_ = 0;  // by the base clock
    std::int64_t answers_forgotten_at_ = 0;
    std::atomic<bool> broken_{false};

    mutable std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    bool rung_ = false;
    bool ending_ = false;
    std::string why_;
    std::optional<std::uint64_t> to_keep_;  // the position of a snapshot
    std::optional<std::string> kept_;       // how it went
    std::thread thread_;
};

}  // namespace tutti::server::journal
