// The file of the log: an SQLite database in WAL mode. A group of records is one row and one transaction of the
// database, so a crash keeps the whole group or nothing. A snapshot and the end of the range that it replaces are also
// written in one transaction.
//
// A crash of the process or the machine may leave a torn end: a part of a group whose calls were not answered as
// durable. The store cuts off the torn end and reports it. Any other corruption is damage: a damaged page of the file
// (checked_pages.hpp), or a damaged frame of SQLite's WAL before later groups (write_ahead_log.hpp). A log that
// ends before the end that was on the disk (durable_end.hpp) is damaged, too. On damage, the start fails, and the store
// changes no file.
//
// After the fsync of a transaction that a caller may rely on, the store records the transaction in -end. These are
// groups (add, append), snapshots (finish_snapshot, replace_by), and transactions without calls (change_durably: leader
// epochs, terms, former leaders, handovers, redirections, the follower's number). Without that record, damage of the
// last such transaction would look like a torn end. A transaction is not recorded if a crash may lose it: if it adds
// parts to an unfinished snapshot, or removes replaced groups, replaced parts or old answers.
//
// SQLite is used because it has one file, and because it reports every error of write and fsync as a code, after which
// the database is unchanged. For figures of RocksDB and LMDB, see docs/server-operation.md.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "server/journal/durable_end.hpp"
#include "server/journal/position_index.hpp"
#include "server/journal/write_ahead_log.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace tutti::server::journal {

class log_store_error : public std::runtime_error {
public:
    log_store_error(const std::string& what, bool retryable) : std::runtime_error{what}, is_retryable_{retryable} {}
    /// Returns true if the state on the disk is known, for example after the disk was full. Then the caller can write
    /// other data now, and this data later. Returns false if only a restart can read the state, for example after a
    /// failed fsync, because the system may have dropped the pages.
    [[nodiscard]] bool is_retryable() const noexcept { return is_retryable_; }

private:
    bool is_retryable_;
};

/// The answer of a call with an ID. The log stores the answer with the call, so that a client can safely repeat the
/// call after a restart.
struct stored_reply {
    std::string key;
    std::uint64_t call = 0;  ///< identifies the call that the key belongs to
    std::string answer;
    std::int64_t at = 0;  ///< time by the reply_clock
};

/// A unit of writing: the file contains all of it or nothing.
struct group {
    std::uint64_t first = 0, last = 0;  ///< positions
    std::string records{};
    std::vector<stored_reply> answers{};
};

struct snapshot {
    std::uint64_t position = 0;  ///< position of the first call that the snapshot does not contain
    std::vector<std::string> parts{};
};

/// The largest valid term. Terms count promotions. A term near the maximum of the type would leave no later term to
/// lead with.
inline constexpr std::uint64_t latest_possible_term = std::uint64_t{1} << 40;

/// A range of the log that one leader has written without a break. Each start of a leader begins a new leader epoch,
/// and so does a promotion, which also begins a new term. Two logs with the same leader epoch have the same calls up to
/// the point where the leader epoch ends in either of them.
struct leader_epoch {
    std::uint64_t term = 0;
    std::uint64_t id = 0;     ///< random
    std::uint64_t first = 1;  ///< position

    [[nodiscard]] bool is(const leader_epoch& other) const noexcept { return term == other.term && id == other.id; }
};

/// A former leader that this server has replaced, and that has not heard of this yet: its address, and this server's
/// credentials on that server.
struct former_leader {
    std::string host{};
    std::uint16_t port = 0;
    std::string user{}, tls_authority{};
};

/// The role that a handover gave this server. The server's options do not contain this role.
struct handed_over {
    /// true: this server took over from the server at `host`; false: this server handed over to that server
    bool leads = false;
    std::string host{};
    std::uint16_t port = 0;
};

/// A leader that a follower has found by a redirection. The follower's options name the server at `from`. That server
/// follows the one at `to`, directly or through others.
struct redirection {
    struct address {
        std::string host{};
        std::uint16_t port = 0;
        friend bool operator==(const address&, const address&) = default;
    };
    address from{}, to{};
};

/// The state with which a follower begins if it has no log, or if its log is too old.
struct initial_copy {
    std::uint64_t position = 1;  ///< position of the first call that the snapshot does not contain
    std::vector<leader_epoch> epochs{};
    std::vector<stored_reply> answers{};
    std::uint64_t parts = 0;
};

/// How a store reacts to a damaged log.
enum class damage_policy : std::uint8_t {
    refuse,  ///< throws
    /// opens the log as far as it can be read, and changes nothing; for programs that report or save the log's contents
    report
};

class log_store {
public:
    /// Opens the file, creates it if it does not exist, and locks it for this process. @throws log_store_error  also if
    /// another process has locked the file, or if the file is damaged or from a newer version
    explicit log_store(const std::string& file, damage_policy how = damage_policy::refuse);
    ~log_store();
    log_store(const log_store&) = delete;
    log_store& operator=(const log_store&) = delete;

    /// Returns the maximum size in bytes of a snapshot's part, of the records of a group, and of an answer with its
    /// key.
    [[nodiscard]] std::size_t max_piece_bytes() const noexcept { return max_piece_bytes_; }

    /// Returns what users should know about the opening of the file, one line for each finding.
    [[nodiscard]] const std::vector<std::string>& findings() const noexcept { return findings_; }
    /// Returns the damage found under damage_policy::report, one line each.
    [[nodiscard]] const std::vector<std::string>& damage() const noexcept { return damage_; }
    /// Returns true if the files do not belong together, under damage_policy::report. Then the readable data may come
    /// from several logs.
    [[nodiscard]] bool is_mixed() const noexcept { return is_mixed_; }
    /// Returns the position of the last call that is known to have been in the log; 0: no call is known.
    [[nodiscard]] std::uint64_t last_known_call();

    /// Checks that the files still have their names, because otherwise the next start could not find them. @throws
    /// log_store_error if a file was removed, renamed or replaced; the operator may undo this
    void check_names();
    /// Adds groups. With `sync`, these groups and all earlier ones are on the disk on return. @throws log_store_error
    /// no group was added
    void add(std::span<const group> groups, bool sync);
    /// Replaces the snapshot if there are calls that the old snapshot does not contain. Drops the groups that are older
    /// than the new snapshot, but retains the newest of them, up to `retained_bytes` bytes of records. The change is on
    /// the disk on return. @throws log_store_error  the snapshot and the groups are unchanged
    void replace_snapshot(const snapshot& s, std::uint64_t retained_bytes);

    // ---- the same in short steps, between which groups may be added
    /// Begins a snapshot beside the current one. REQUIRES: drop_replaced() has returned false since the latest snapshot
    /// was begun.
    void begin_snapshot() noexcept { new_parts_ = 0; }
    /// Adds parts to the snapshot that was begun. The parts are on the disk once the snapshot is finished.
    void add_parts(std::span<const std::string> parts);
    /// Removes all parts of the snapshot that was begun, except for the first `count`.
    void truncate_parts(std::uint64_t count);
    /// Replaces the current snapshot by the one that was begun, as replace_snapshot does. Leaves the replaced data to
    /// drop_replaced. O(groups).
    void finish_snapshot(std::uint64_t position, std::uint64_t retained_bytes);
    /// Drops some MiB of the data that a snapshot has replaced, and of an unfinished snapshot. Returns false when all
    /// of that data is removed.
    [[nodiscard]] bool drop_replaced();
    /// Checkpoints SQLite's WAL if it has grown long. @throws log_store_error
    void checkpoint_if_long();
    /// Removes stored replies that are older than `before`, and all except for the newest `max_answers`.
    void forget_answers(std::int64_t before, std::size_t max_answers);

    /// Returns the position of the first call that the snapshot does not contain; 1 if there is no snapshot.
    [[nodiscard]] std::uint64_t snapshot_position();
    /// Returns the position after the last logged call.
    [[nodiscard]] std::uint64_t end();
    void read_snapshot(const std::function<void(std::string_view part)>& take);
    /// Reads the groups in the order of their positions. @throws log_store_error  if a group is damaged
    void read_groups(const std::function<void(std::string_view records)>& take);
    void read_answers(const std::function<void(const stored_reply&)>& take);
    /// Returns the time of the latest stored reply.
    [[nodiscard]] std::optional<std::int64_t> latest_reply_time();
    /// Returns the number of bytes of the records that a replay would read.
    [[nodiscard]] std::uint64_t bytes();

    // ---- leaders and followers
    /// Returns the leader epochs, oldest first.
    [[nodiscard]] std::vector<leader_epoch> leader_epochs();
    /// Returns the leader epoch of the last call. Its ID is 0 if the log has no call.
    [[nodiscard]] leader_epoch last_leader_epoch();
    /// Adds a leader epoch. Changes by this function, and by the functions down to forget_redirection(), are on the
    /// disk when the function returns. Only append() without `sync` may return earlier.
    void add_leader_epoch(const leader_epoch& b);
    /// Does the same, and records the latest handover. If `latest` is unset, an operator has promoted this server.
    void add_leader_epoch(const leader_epoch& b, const std::optional<handed_over>& latest);
    /// Appends groups that a leader of `term` has sent. `later`: the leader's leader epochs after last_leader_epoch().
    /// Of `later`, the log takes the epochs that begin at `upto` or earlier, because nothing before `upto` is missing.
    /// These epochs replace the log's own leader epochs after last_leader_epoch(), which contain no call. @throws
    /// log_store_error nothing has changed
    void append(std::span<const group> groups, const std::vector<leader_epoch>& later, std::uint64_t upto,
                std::uint64_t term, bool sync);
    /// Returns the latest term that other servers have announced.
    [[nodiscard]] std::uint64_t announced_term();
    void record_announced_term(std::uint64_t term);
    /// Returns the later of announced_term() and the latest term of the leader epochs.
    [[nodiscard]] std::uint64_t latest_term();
    [[nodiscard]] std::vector<former_leader> former_leaders();
    void add_former_leader(const former_leader& l);
    void forget_former_leader(const std::string& host, std::uint16_t port);
    /// Returns the latest handover, unless an operator has promoted this server afterwards.
    [[nodiscard]] std::optional<handed_over> latest_handover();
    void record_handover(const handed_over& h);
    void forget_handover();
    /// Returns the latest redirection, unless the store was told to forget it.
    [[nodiscard]] std::optional<redirection> latest_redirection();
    void record_redirection(const redirection& r);
    void forget_redirection();
    /// Returns the number by which leaders recognize the follower with this log. The number is random, survives a
    /// restart, and is not 0.
    [[nodiscard]] std::uint64_t follower_id();
    /// Returns the position from which on the file contains all groups.
    [[nodiscard]] std::uint64_t first_stored_position();
    /// Returns groups that begin at `from` or later, in order and with their answers, until their records have
    /// `max_bytes` bytes or more. Skips no group, and returns at least one group if there is one. So a caller that
    /// continues at the position after the last group reaches the end of the log. REQUIRES: `max_bytes` is not 0.
    /// @throws log_store_error  if a group is damaged
    [[nodiscard]] std::vector<group> read_from(std::uint64_t from, std::size_t max_bytes);
    /// Returns the bytes of records of the groups from `from` on. The first call scans the log; each later call takes
    /// the time to read one chunk.
    [[nodiscard]] std::uint64_t bytes_from(std::uint64_t from);
    /// Returns the description of a copy, without its parts.
    [[nodiscard]] initial_copy describe_copy();
    /// Returns a part of the snapshot; numbers begin at 1. @throws log_store_error  if the part is damaged or missing
    [[nodiscard]] std::string part(std::uint64_t number);
    /// Replaces the whole log by a copy, which is on the disk on return. `part` fetches the snapshot's part of that
    /// number.
    /// @throws log_store_error, what `part` throws; then nothing has changed
    void replace_by(const initial_copy& c, const std::function<std::string(std::uint64_t number)>& part);

private:
    class statement;
    void run(const char* sql);
    void change(const std::function<void()>& what);
    std::uint64_t number(const char* sql);
    [[noreturn]] void fail(const std::string& doing);
    [[noreturn]] void fail(const std::string& doing, int code, const std::string& why);
    [[noreturn]] void throw_damage(const std::string& what, std::optional<std::uint64_t> first_lost);
    [[noreturn]] void throw_damaged_group(std::uint64_t position);
    [[noreturn]] void throw_damaged_page();
    void require_order(std::uint64_t next, std::uint64_t first, std::uint64_t last);
    [[nodiscard]] std::optional<std::uint64_t> readable_end() noexcept;
    void check_database_exists(std::uint64_t wal_frames);
    void open();
    void close() noexcept;
    void create();
    void add_missing_tables(std::uint64_t written_in);
    void set_format(std::uint64_t number);
    void upgrade_format(std::uint64_t written_in);
    void rewrite();
    void find_damage(const write_ahead_log& wal, std::optional<std::uint64_t> end);
    void find_lost_frames(const write_ahead_log& wal);
    void find_mixture(const write_ahead_log& wal);
    void find_damaged_page();
    void record_end(std::uint64_t end) noexcept;
    void record_all() noexcept;
    [[nodiscard]] bool checkpoint_wal() noexcept;
    void record_damage(const std::string& what);
    void finish_wal(const write_ahead_log& wal);
    void write_through();
    void change_durably(const std::function<void()>& what);
    struct identity {
        std::uint64_t device = 0, number = 0;
        friend bool operator==(const identity&, const identity&) = default;
    };
    static std::optional<identity> identity_of(const std::string& file) noexcept;
    void add_answers(const std::vector<stored_reply>& answers, std::uint64_t group);
    std::uint64_t end_before(std::uint64_t position);
    std::uint64_t last_to_drop(std::uint64_t position, std::uint64_t retained_bytes);
    void add_part(const char* table, std::uint64_t number, std::string_view part);
    [[nodiscard]] bool drop_replaced_parts();
    [[nodiscard]] bool drop_replaced_groups();
    void write_leader_epoch(const leader_epoch& b);
    void write_handover(const std::optional<handed_over>& h);
    void forget_old_leader_epochs();
    void record_term(std::uint64_t term);
    void add_groups(std::span<const group> groups);
    void count(std::span<const group> groups) noexcept;
    void synchronize(bool sync);

    const std::string file_;
    sqlite3* db_ = nullptr;
    std::size_t max_piece_bytes_ = 0;
    const damage_policy damage_policy_;
    std::vector<std::string> findings_, damage_;
    durable_end durable_end_;
    durable_log_state known_{};               // from the file -end
    bool is_mixed_ = false;                   // the files do not belong together
    int wal_pages_ = 0;                       // current number of pages in SQLite's WAL
    std::optional<identity> database_, wal_;  // of the file, and of SQLite's WAL once it is known
    bool synchronous_ = false;
    std::uint64_t new_parts_ = 0;          // parts of the snapshot that was begun
    std::optional<position_index> bytes_;  // set when a follower has fetched groups
    sqlite3_stmt *begin_ = nullptr, *commit_ = nullptr, *add_group_ = nullptr, *add_reply_ = nullptr;
};

}  // namespace tutti::server::journal
