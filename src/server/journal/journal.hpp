// The log of committed calls. Each call that wrote something gets a position, in the order in which the transactions
// serialize. A thread of the journal writes the calls in that order, many at once.
//
// The life of a position:
//
//   reserved (reserve_record) -> complete, with its record (submit_record) or as a hole (skip_record) -> collected
//   -> written -> durable
//
// JRN1  Positions are consecutive. Each reserved position is completed exactly once, and soon, because the call does
//       not wait in between.
// JRN2  The written part of the log ends at a position before which no call is missing. So if the file contains a call,
//       it also contains all calls that this call may depend on.
// JRN3  The order of conflicting calls is the order in which they serialize. A call reserves its position when its
//       transaction holds every lock that it will hold, and validates all its reads afterwards. The call submits its
//       record before the transaction releases a lock (calls/log_participant.hpp). Let A serialize before B.
//         a. B reads or overwrites a value that A wrote. B can do so only after A's release, so after A's reservation.
//            So B's reservation is later.
//         b. A read a value that B overwrites. Suppose that B reserves first. Both reserve under one lock (reserving_).
//            So B's lock of the variable, acquired before B's reservation, happens before A's reservation, and so
//            before A's validation. A's validation would then have found B's lock.
//       Therefore running the calls again one after the other, in the order of their positions, produces the same
//       results.
// JRN4  Under `always`, an answer goes out only after everything that the call may have seen is durable. Every call
//       whose changes this call has read reserved its position before this call ended. Under `everysec`, no answer goes
//       out while a call that was answered more than a second ago is not durable. So a crash loses at most the calls
//       answered within one second.
//
// Workers and I/O threads do not wait for the disk. The journal holds a call that has to wait (hold_until_durable), and
// the journal's thread finishes the wait.
//
// When a group begins, under `always`: the calls of several clients should share an fsync. So a client's call has a
// host: the owner of the client's I/O, which is an I/O thread or a worker (net/io_ownership.hpp). The host reports to
// the journal when it has read, run and answered everything that had arrived. No group begins while another group is
// being written, because the clients of that group send new calls as soon as they get their answers. So one fsync
// covers all calls that arrived during the previous one, and a group does not interrupt the threads that send answers.
// A call without a host, or whose host sleeps, starts a group itself. That group waits briefly for other calls
// (group_commit_delay.hpp). A call waits for other calls for at most group_commit_delay::max_delay, after the end of
// the previous group.
//
// If the disk is full, the group stays in memory, and the journal tries to write the group again. Committed calls wait
// until the group is written. Meanwhile calls that would write are refused before they run (`error`). A call that only
// read gets the answer that it may have seen data that will be lost. A failed fsync is final: the journal writes no
// more, and each waiting call gets the answer that its outcome is unknown.
//
// A follower's journal reserves no positions. It appends what its leader has written, until the follower is promoted
// (replication.hpp). A leader that hands over leadership calls close, and then yield_lead_to. To lead on instead, the
// leader calls reopen or resume_leading. Threads check and change `closed_` under reserving_, so no call reserves a
// position after close() has returned the next one.
//
// Thread safety: any thread, unless a comment says otherwise.
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

#include "base/lock.hpp"
#include "server/journal/fair_mutex.hpp"
#include "server/journal/group_commit.hpp"
#include "server/journal/log_buffer.hpp"
#include "server/journal/log_store.hpp"
#include "server/journal/replication.hpp"
#include "server/journal/reply_clock.hpp"
#include "server/journal/snapshot_progress.hpp"
#include "server/journal/write_failure.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server::journal {

/// A call that has ended and whose answer waits for the disk, or for followers.
class durability_waiter {
public:
    enum class durability_result : std::uint8_t {
        /// everything that the call may have seen is on the disk, or enough followers have stored it
        durable,
        unknown,      ///< it is unknown whether everything is on the disk
        unreplicated  ///< too few followers have the call at the timeout
    };
    /// Ends the wait of the call with its outcome. Runs on a thread of the journal. May destroy the waiter.
    virtual void finish_wait(durability_result how) noexcept = 0;

protected:
    durability_waiter() = default;
    ~durability_waiter() = default;

private:
    friend class journal;
    friend class replication;
    durability_waiter* next_ = nullptr;
    std::uint64_t awaits_ = 0;
    bool wrote_ = false;
    std::chrono::steady_clock::time_point until_{};  // timeout for followers
};

/// Thrown by reserve_record() if the server does not lead, or is about to hand over leadership.
class log_closed_error : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override { return "this server reserves no positions now"; }
};

/// The figures of the journal that INFO shows.
struct journal_statistics {
    std::uint64_t calls = 0, bytes = 0, groups = 0;  ///< written since the start
    std::uint64_t next_position = 0,
                  durable_position = 0;  ///< positions: the next one, and the first that is not on the disk
    std::uint64_t pending_bytes = 0;
    snapshot_statistics snapshots{};
    std::uint64_t bytes_to_replay = 0;
    std::string error{};  ///< empty: no error
};

struct log_chunk;

class journal {
public:
    /// The thread that finds that the disk fails, or that it works again, calls `log`. @throws log_store_error
    journal(const log_settings& how, std::function<void(bool failed, const std::string&)> log);
    ~journal();
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;

    /// Returns the file, for recovery. REQUIRES: only one thread uses the journal, and neither follow() nor begin() was
    /// called.
    [[nodiscard]] log_store& file() noexcept { return store_; }
    [[nodiscard]] const log_settings& settings() const noexcept { return how_; }
    /// Reads the answers for recovery. The reply_clock continues from the time of the latest answer.
    void read_answers(const std::function<void(const stored_reply&)>& take);
    /// Starts to accept calls, on a new leader epoch. After follow(), the leader epoch has a later term than any that
    /// the server has heard of. @throws std::system_error, log_store_error
    void begin();
    /// Does the same for a promoted follower, and records `latest` in the log as the latest handover.
    void begin(const std::optional<handed_over>& latest);
    /// Starts to append what another server has written. Until begin(), one thread appends. @throws std::system_error
    void follow(const std::string& leader);

    // ---- a leader that hands over leadership (replication/handover.hpp), by one thread
    /// Makes reserve_record() throw from now on. Returns the next position, before which the log ends.
    [[nodiscard]] std::uint64_t close() noexcept;
    /// Undoes close().
    void reopen() noexcept;
    /// Makes the journal write the reserved positions soon, even if no answer waits for them.
    void request_write() noexcept { request_group(); }
    /// Leads on in a later term than any in the log, and allows reserve_record() again.
    /// @throws log_store_error, std::bad_alloc  nothing has changed
    void resume_leading();
    /// Ends this server's lead. From now on the journal appends what `leader` has written, as after follow(). REQUIRES:
    /// close(), and all reserved positions are durable.
    void yield_lead_to(const std::string& leader);

    /// Appends a chunk of the leader's log. Afterwards nothing before `upto` is missing. Returns false if the disk
    /// fails and nothing of the chunk was appended. The failure has been logged. The caller may try again unless the
    /// journal is broken. REQUIRES: follow().
    [[nodiscard]] bool append(const log_chunk& from) noexcept;
    [[nodiscard]] bool is_broken() const noexcept { return failure_.is_final(); }
    /// Stores the snapshot that was begun. The snapshot contains all calls before `position`. Returns an error if the
    /// snapshot cannot be stored; empty: the snapshot is on the disk. REQUIRES: follow(), and all calls before
    /// `position` are durable.
    [[nodiscard]] std::string store_snapshot_at_end(std::uint64_t position);

    /// Returns the clock that decides how long replies are stored.
    [[nodiscard]] const reply_clock& reply_times() const noexcept { return reply_times_; }
    /// Returns the state of the other servers that have this log.
    [[nodiscard]] replication& followers() noexcept { return followers_; }
    /// Runs `what` on the file. One thread at a time uses the file.
    template <class F>
    void with_file(const F& what) {
        const std::scoped_lock lock{file_mutex_};
        what(store_);
    }
    /// Returns the first position that may not be on the disk.
    [[nodiscard]] std::uint64_t durable() const noexcept { return durable_.load(); }
    /// Returns the next position.
    [[nodiscard]] std::uint64_t next_position() const noexcept { return next_.load(); }
    [[nodiscard]] std::uint64_t written_bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
    void log(bool failed, const std::string& line) const { log_(failed, line); }
    /// Makes answers no longer wait for a disk that cannot be written, because the server is ending.
    void stop_waiting_for_disk() noexcept { waits_for_disk_no_more_.store(true); }
    /// Writes and syncs the remaining records. Calls that can no longer be written end with an unknown outcome.
    /// Afterwards no other thread may use the journal. Idempotent.
    void end() noexcept;

    /// Reserves a position, and room for a record of `bytes` bytes. `answer` is the answer to store with the record, or
    /// null. REQUIRES: JRN3, has_room_for(). @throws std::bad_alloc, log_closed_error  no position was reserved
    [[nodiscard]] reserved_record reserve_record(std::size_t bytes, const stored_reply* answer = nullptr);
    /// Reports that the record at this position has been filled in.
    void submit_record(const reserved_record& at, std::unique_ptr<stored_reply> answer = {}) noexcept;
    /// Reports that this position has no record, because its transaction was rolled back after the reservation.
    /// Discards `answer`, the answer that would have been stored with the record.
    void skip_record(const reserved_record& at, std::unique_ptr<stored_reply> answer = {}) noexcept;
    /// Reports that this position has no record, because a snapshot reserved it. No group will have positions on both
    /// sides of this position.
    void separate_groups(const reserved_record& at) noexcept;
    /// Returns true if the file has room for a record of this length, and for `answer` unless it is null. If this
    /// returns false, the caller must not reserve a record.
    [[nodiscard]] bool has_room_for(std::size_t bytes, const stored_reply* answer) const noexcept;

    /// Returns true if the answer of an ended call has to wait. Then the journal calls `w.finish_wait` later. `awaits`:
    /// the position after the call's own, or 0 if the call has no position. `owner_sleep_flag`: the flag of a host, or
    /// null for a call without a host. While the flag is unset, the call does not request a group. The host sets the
    /// flag, and then calls expect_no_more_calls before it sleeps.
    [[nodiscard]] bool hold_until_durable(durability_waiter& w, std::uint64_t awaits,
                                          const std::atomic<bool>* owner_sleep_flag = nullptr) noexcept;

    // ---- called by a host; under `always`
    /// Returns true if calls wait for a group to begin, and no group is being written. While a group is being written,
    /// the host need not act, because the clients of that group send new calls at its end.
    [[nodiscard]] bool is_gathering() const noexcept {
        return how_.sync == log_sync::always && held_.load() != nullptr && !groups_.is_writing();
    }
    /// Returns true if all expected calls have arrived. Then the host need not check for more calls.
    [[nodiscard]] bool has_all_expected_calls() const noexcept { return next_.load() >= groups_.awaited_position(); }
    /// Returns how long an idle host checks for more calls. Zero: as long as more calls arrive.
    [[nodiscard]] std::chrono::nanoseconds idle_poll_time() const noexcept;
    /// Reports that the host is idle and has set its flag, which says that it sleeps. The waiting calls then form a
    /// group.
    void expect_no_more_calls() noexcept;
    /// Reports that the host has received more requests while ended calls wait for a group. The calls then continue to
    /// wait, unless they have waited for long or are numerous enough. In these two cases they form a group at once.
    void expect_more_calls() noexcept;
    /// Returns how long the host may block while a group is requested or is being written, because no answer can be
    /// sent before the end of that group. Usually a wake-up ends the block earlier.
    [[nodiscard]] std::chrono::nanoseconds max_block_time() const noexcept;

    /// Returns the reason why no call that may write can begin now, or an empty string if such a call can begin.
    [[nodiscard]] std::string error() const { return failure_.text(); }
    [[nodiscard]] bool has_error() const noexcept { return failure_.exists_relaxed(); }
    /// Returns true if more bytes wait to be written than the limit allows.
    [[nodiscard]] bool is_full() const noexcept { return pending() > how_.max_pending; }

    // ---- snapshots, of which one at a time is in progress (incoming_snapshot.hpp)
    /// Begins a snapshot, and drops the remains of an earlier one. @throws log_store_error
    void begin_snapshot();
    /// Runs `what` on the file, between two groups. @throws what `what` throws
    void change_snapshot(const std::function<void(log_store&)>& what);
    /// Stores the snapshot that was begun, once all calls before `position` are written. The snapshot contains these
    /// calls. Returns when the snapshot is on the disk, or with an error if it cannot be stored.
    [[nodiscard]] std::string store_snapshot(std::uint64_t position);
    /// Stores a complete snapshot in the same way.
    [[nodiscard]] std::string store_snapshot(const snapshot& s);
    [[nodiscard]] snapshot_progress& progress() noexcept { return progress_; }
    /// Returns the number of bytes of the records that a start would replay.
    [[nodiscard]] std::uint64_t bytes_to_replay() const noexcept {
        return bytes_to_replay_.load(std::memory_order_relaxed);
    }

    /// Records that a follower has fetched a part of the snapshot, and so will soon fetch the next part.
    void record_copying() noexcept {
        copied_until_.store((clock::now() + follower_copy_timeout).time_since_epoch().count(),
                            std::memory_order_relaxed);
    }
    /// Returns true if a follower is copying the snapshot. If a new snapshot replaced this one, the follower would have
    /// to start over.
    [[nodiscard]] bool is_being_copied() const noexcept {
        return clock::now().time_since_epoch().count() < copied_until_.load(std::memory_order_relaxed);
    }

    /// Returns true if calls were logged that no snapshot contains.
    [[nodiscard]] bool has_calls_since_snapshot() const noexcept { return next_.load() > not_in_snapshot_.load(); }

    [[nodiscard]] journal_statistics statistics() const;

private:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds follower_copy_timeout{5};  // a follower waits as long for a part
    [[nodiscard]] std::size_t pending() const noexcept;
    void wake_if_idle() noexcept;
    void finish_late_waits() noexcept;
    /// Begins a leader epoch. If `later_term`, the epoch has a later term than any in the log; otherwise, the term of
    /// the latest epoch. Returns all leader epochs.
    std::vector<leader_epoch> begin_leader_epoch(bool later_term, const std::optional<handed_over>* latest = nullptr);
    void begin(std::vector<leader_epoch> all);
    /// Records a later term than `own` that this server heard of before it began to lead.
    void record_announced_term(std::uint64_t own);
    void work();
    void wait_for_work();
    void request_group() noexcept;
    void gather(std::unique_lock<std::mutex>& lock);
    /// The event that the journal's thread waits for.
    enum class sleep_state : std::uint8_t {
        none,
        for_anything,
        for_a_waiter,
        /// at least one call waits; the sleep ends when the awaited position is reserved, or when the delay is over
        for_a_group
    };
    /// The positions that had been reserved when the thread collected records, but were not collected.
    enum class uncollected : std::uint8_t {
        nothing,
        missing,  ///< a record is not complete yet, and submitting it does not wake the thread
        more      ///< a group ended before these positions
    };
    void wake_thread() noexcept;
    [[nodiscard]] bool has_work() const noexcept;
    /// Returns false on an error.
    bool collect() noexcept;
    void collect(const complete_range& some);  // throws std::bad_alloc; then nothing has changed
    /// Returns false on an error.
    bool write(bool sync) noexcept;
    void write_snapshot() noexcept;
    [[nodiscard]] std::string finish_snapshot(std::uint64_t position) noexcept;
    [[nodiscard]] std::string drop_replaced() noexcept;
    void record_written(const group& g, std::size_t calls) noexcept;
    /// Checkpoints the file if necessary. Each thread that writes to the file calls this function afterwards. @throws
    /// log_store_error  the written groups stay valid
    void checkpoint_file();
    void finish_waits() noexcept;

    const log_settings how_;
    const std::uint64_t at_risk_;  // in ticks of the base clock: an answer of this age might be lost (JRN4)
    const std::function<void(bool, const std::string&)> log_;
    write_failure failure_{log_};
    fair_mutex file_mutex_;
    log_store store_;
    reply_clock reply_times_;
    replication followers_{*this, how_};
    snapshot_progress progress_;

    bool has_followed_ = false;           // this server followed another one before it led
    alignas(64) base::lock reserving_;    // serializes reserve_record()
    std::atomic<std::uint64_t> next_{1};  // next position; like reserved_bytes_, changed under reserving_
    std::atomic<std::uint64_t> reserved_bytes_{0};
    log_buffer buffer_;
    bool closed_ = false;                                // changed under reserving_, too
    std::atomic<bool> yielded_{false};                   // the journal has no thread that finishes waits
    std::atomic<durability_waiter*> held_{nullptr};      // waiting calls that the thread has not collected; a stack
    alignas(64) std::atomic<std::uint64_t> durable_{1};  // all positions before this one are durable
    std::atomic<std::uint64_t> written_bytes_{0};        // the part of reserved_bytes_ that no longer waits
    std::atomic<std::uint64_t> oldest_{0};  // in ticks of the base clock; all calls answered before it are durable
    // the first position that the snapshot does not contain, whether it has been reserved or not
    std::atomic<std::uint64_t> not_in_snapshot_{1};
    std::atomic<bool> waits_for_disk_no_more_{false};
    std::atomic<sleep_state> sleep_state_{sleep_state::none};
    group_commit groups_;
    std::atomic<std::uint64_t> calls_{0}, bytes_{0}, written_groups_{0}, bytes_to_replay_{0};
    std::atomic<clock::rep> copied_until_{0};

    // Only the journal's thread uses these members.
    group ready_;  // the collected positions that are to be written
    std::size_t ready_calls_ = 0, ready_bytes_ = 0;
    bool ready_ends_ = false;  // true at a cut: later positions go into another group
    uncollected uncollected_ = uncollected::nothing;
    durability_waiter* waiting_ = nullptr;
    std::uint64_t collected_at_ = 0;  // in ticks of the base clock
    std::int64_t answers_forgotten_at_ = 0;

    std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    bool is_woken_ = false;
    bool ending_ = false;
    std::optional<std::uint64_t> snapshot_to_store_;  // the position of a snapshot
    std::optional<std::string> store_result_;         // result of storing it
    std::thread thread_;
};

}  // namespace tutti::server::journal
