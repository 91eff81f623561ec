// The file of the log: a database of SQLite in WAL mode. A group of records is one row and one transaction of the
// database, so it is there as a whole or not at all, and so is a snapshot together with the end of what it replaces.
//
// A crash of the process or the machine may leave a torn end: a part of a group whose calls were not answered as
// durable. The store cuts it off and reports it. Everything else that is not whole is damage: a page of the file
// (checked_pages.hpp), a frame of SQLite's own log with later groups behind it (write_ahead_log.hpp), or a log that
// ends before the end that was on the disk (durable_end.hpp). Damage ends the start, and the store changes no file.
//
// Each transaction that a caller may rely on is noted in -end after its fsync: groups (add, append), snapshots
// (finish_snapshot, replace_by), and what has no calls (change_durably: branches, terms, former leaders, hand-overs,
// redirections, the follower's number). Without that note, damage of the last such transaction would look like a torn
// end. These may be lost by a crash and are not noted: parts of a snapshot that was not finished, and the removal of
// what was replaced or of old answers.
//
// Why SQLite: one file, and every error of write and fsync comes back as a code after which the database is as before.
// Why not RocksDB or LMDB: docs/server-operation.md has the figures.
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
#include "server/journal/milestones.hpp"
#include "server/journal/write_ahead_log.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace tutti::server::journal {

class store_error : public std::runtime_error {
public:
    store_error(const std::string& what, bool again) : std::runtime_error{what}, again_{again} {}
    /// Whether what is on disk is known, so that others can be written, and it later, as where the disk is full.
    /// Otherwise only a new start reads what is there, as after a failed fsync: the system may have dropped its pages.
    [[nodiscard]] bool may_try_again() const noexcept { return again_; }

private:
    bool again_;
};

/// The answer of a call with an ID: kept with the call itself, so that a client may ask again after a restart.
struct kept_answer {
    std::string key;
    std::uint64_t call = 0;  ///< what the key stands for
    std::string answer;
    std::int64_t at = 0;  ///< by the answer_clock
};

/// What is written at once: all of it or nothing.
struct group {
    std::uint64_t first = 0, last = 0;  ///< positions
    std::string records{};
    std::vector<kept_answer> answers{};
};

struct snapshot {
    std::uint64_t position = 0;  ///< of the first call that is not in it
    std::vector<std::string> parts{};
};

/// Terms count promotions. One far beyond what these can come to would leave no later one to lead with.
inline constexpr std::uint64_t latest_possible_term = std::uint64_t{1} << 40;

/// A stretch of the log that one leader has written without a break: each start of one begins a new branch, and so does
/// a promotion, which also begins a new term. Two logs that have the same branch have the same calls up to where it
/// ends in either.
struct branch {
    std::uint64_t term = 0;
    std::uint64_t id = 0;     ///< by chance
    std::uint64_t first = 1;  ///< position

    [[nodiscard]] bool is(const branch& other) const noexcept { return term == other.term && id == other.id; }
};

/// Whom this server has taken the place of, and who has not heard of it yet: where it is, and who this server is there.
struct former_leader {
    std::string host{};
    std::uint16_t port = 0;
    std::string user{}, tls_authority{};
};

/// What became of this server when a lead was handed over, which its options do not say.
struct handed_over {
    bool leads = false;  ///< it took the lead of that server; otherwise it gave its own to that server
    std::string host{};
    std::uint16_t port = 0;
};

/// Where a follower has found its leader that its options do not name: the server at `from`, which they name, follows
/// the one at `to`, directly or not.
struct redirection {
    struct address {
        std::string host{};
        std::uint16_t port = 0;
        friend bool operator==(const address&, const address&) = default;
    };
    address from{}, to{};
};

/// What a follower without a log, or too far behind, begins with.
struct copied {
    std::uint64_t position = 1;  ///< of the first call that is not in it
    std::vector<branch> branches{};
    std::vector<kept_answer> answers{};
    std::uint64_t parts = 0;
};

/// What a store does with a log that is damaged.
enum class on_damage : std::uint8_t {
    refuse,  ///< throws
    report   ///< goes on, as far as it can be read, and changes nothing; for those that say or save what is there
};

class store {
public:
    /// Opens the file, makes it if it is not there, and locks it for this process.
    /// @throws store_error  also when it is somebody else's, of another version, or damaged
    explicit store(const std::string& file, on_damage how = on_damage::refuse);
    ~store();
    store(const store&) = delete;
    store& operator=(const store&) = delete;

    /// So many bytes may a part of a snapshot have, the records of a group, an answer with its key.
    [[nodiscard]] std::size_t longest() const noexcept { return longest_; }

    /// What was found when it was opened, for people: one line each.
    [[nodiscard]] const std::vector<std::string>& findings() const noexcept { return findings_; }
    /// Under on_damage::report: what is damaged, one line each.
    [[nodiscard]] const std::vector<std::string>& damage() const noexcept { return damage_; }
    /// Under on_damage::report: the files do not belong together, so that what can be read may be of several logs.
    [[nodiscard]] bool is_mixed() const noexcept { return is_mixed_; }
    /// The last call that is known to have been in the log; 0: none.
    [[nodiscard]] std::uint64_t known_upto();

    /// Looks whether what is written still has its names, since else no start would find it.
    /// @throws store_error  if a file was removed, renamed or replaced; it may be put back
    void need_names();
    /// Adds groups; with `sync` they are on disk when this returns, and so is all that was added before.
    /// @throws store_error  nothing of them was added
    void add(std::span<const group> groups, bool sync);
    /// Replaces the snapshot, where calls came that the old one does not hold, and drops the groups that are older than
    /// it, but for the newest of them, up to so many bytes of records; on disk when this returns.
    /// @throws store_error  the snapshot and the groups are as before
    void replace_snapshot(const snapshot& s, std::uint64_t kept_bytes);

    // ---- the same in steps, each of which is short: groups may be added between them
    /// Begins a snapshot beside the one that is there. REQUIRES: drop_some() has returned false since the latest one
    /// was begun.
    void begin_snapshot() noexcept { new_parts_ = 0; }
    /// Adds parts to the snapshot that was begun. Not on disk until that is finished.
    void add_parts(std::span<const std::string> parts);
    /// Takes back all parts of the snapshot that was begun but the first `count`.
    void take_back_parts(std::uint64_t count);
    /// Puts the snapshot that was begun in the place of the one that is there, as replace_snapshot does, and leaves
    /// what it replaces to drop_some. O(groups).
    void finish_snapshot(std::uint64_t position, std::uint64_t kept_bytes);
    /// Drops some MiB of what a snapshot has replaced, and of one that was begun and not finished. Returns false when
    /// nothing of that is left.
    [[nodiscard]] bool drop_some();
    /// Moves SQLite's own log into the file where it has grown long. @throws store_error
    void tidy();
    /// Forgets kept answers that are older than `before`, and all but the newest `most`.
    void forget_answers(std::int64_t before, std::size_t most);

    /// Of the first call that a snapshot does not hold, or 1.
    [[nodiscard]] std::uint64_t snapshot_position();
    /// After the last one that is logged.
    [[nodiscard]] std::uint64_t end();
    void read_snapshot(const std::function<void(std::string_view part)>& take);
    /// In the order of their positions. @throws store_error  if one is damaged
    void read_groups(const std::function<void(std::string_view records)>& take);
    void read_answers(const std::function<void(const kept_answer&)>& take);
    /// The time of the latest one.
    [[nodiscard]] std::optional<std::int64_t> latest_answer();
    /// Bytes of records that replay would go through.
    [[nodiscard]] std::uint64_t bytes();

    // ---- leaders and followers
    /// The oldest first.
    [[nodiscard]] std::vector<branch> branches();
    /// That the last call is of; its ID is 0 where there is no call.
    [[nodiscard]] branch last_branch();
    /// On disk when this returns, as what is next.
    void add_branch(const branch& b);
    /// The same, with what a promotion makes of the latest hand-over; nothing: an operator has promoted this server.
    void add_branch(const branch& b, const std::optional<handed_over>& latest);
    /// Adds what a leader of `term` has sent. `later`: its branches behind last_branch(); this log has those of them
    /// that begin at `upto` or earlier, since nothing before `upto` is missing then. They take the place of what it had
    /// behind last_branch(), which holds no call. @throws store_error  nothing has changed
    void append(std::span<const group> groups, const std::vector<branch>& later, std::uint64_t upto, std::uint64_t term,
                bool sync);
    /// The latest term that was heard of from others.
    [[nodiscard]] std::uint64_t heard_term();
    void hear_term(std::uint64_t term);
    /// That, or the latest of the branches.
    [[nodiscard]] std::uint64_t latest_term();
    [[nodiscard]] std::vector<former_leader> former_leaders();
    void add_former_leader(const former_leader& l);
    void forget_former_leader(const std::string& host, std::uint16_t port);
    /// The latest one, unless an operator has promoted this server since.
    [[nodiscard]] std::optional<handed_over> latest_handover();
    void note_handover(const handed_over& h);
    void forget_handover();
    /// The latest one, unless it was forgotten since.
    [[nodiscard]] std::optional<redirection> latest_redirection();
    void note_redirection(const redirection& r);
    void forget_redirection();
    /// By which leaders know the server that follows with this log: by chance, the same after a start. Not 0.
    [[nodiscard]] std::uint64_t follower_id();
    /// All groups from this position on are in the file.
    [[nodiscard]] std::uint64_t kept_from();
    /// Groups that begin at `from` or later, in their order, until they have `most` bytes or more; with their answers.
    /// The last group ends at `from` or later, so a caller that asks for the next groups in turn reaches the end.
    /// @throws store_error  if one is damaged
    [[nodiscard]] std::vector<group> read_from(std::uint64_t from, std::size_t most);
    /// Bytes of records of those groups. O(a piece), but for the first time, which walks through the log.
    [[nodiscard]] std::uint64_t bytes_from(std::uint64_t from);
    /// All that a copy has but for its parts.
    [[nodiscard]] copied describe_copy();
    /// From 1 on. @throws store_error  if it is damaged or not there
    [[nodiscard]] std::string part(std::uint64_t number);
    /// Puts a copy in the place of all that is here, on disk when this returns. `part` fetches one.
    /// @throws store_error, what `part` throws  nothing has changed
    void replace_by(const copied& c, const std::function<std::string(std::uint64_t number)>& part);

private:
    class statement;
    void run(const char* sql);
    void change(const std::function<void()>& what);
    std::uint64_t number(const char* sql);
    [[noreturn]] void fail(const std::string& doing);
    [[noreturn]] void fail(const std::string& doing, int code, const std::string& why);
    [[noreturn]] void tell_damage(const std::string& what, std::optional<std::uint64_t> first_lost);
    [[noreturn]] void tell_damaged_group(std::uint64_t position);
    [[noreturn]] void tell_damaged_page();
    void need_order(std::uint64_t next, std::uint64_t first, std::uint64_t last);
    [[nodiscard]] std::optional<std::uint64_t> readable_end() noexcept;
    void look_for_database(std::uint64_t frames_of_own_log);
    void open();
    void close() noexcept;
    void create();
    void add_what_formats_lack(std::uint64_t written_in);
    void set_format(std::uint64_t number);
    void bring_up_to_date(std::uint64_t written_in);
    void write_anew();
    void find_damage(const write_ahead_log& own_log, std::optional<std::uint64_t> end);
    void find_lost_frames(const write_ahead_log& own_log);
    void find_mixture(const write_ahead_log& own_log);
    void find_damaged_page();
    void note_end(std::uint64_t end) noexcept;
    void note_all() noexcept;
    [[nodiscard]] bool move_own_log() noexcept;
    void note_damage(const std::string& what);
    void finish_own_log(const write_ahead_log& own_log);
    void write_through();
    void change_durably(const std::function<void()>& what);
    struct identity {
        std::uint64_t device = 0, number = 0;
        friend bool operator==(const identity&, const identity&) = default;
    };
    static std::optional<identity> identity_of(const std::string& file) noexcept;
    void add_answers(const std::vector<kept_answer>& answers, std::uint64_t group);
    std::uint64_t end_before(std::uint64_t position);
    std::uint64_t last_to_drop(std::uint64_t position, std::uint64_t kept_bytes);
    void add_part(const char* table, std::uint64_t number, std::string_view part);
    [[nodiscard]] bool drop_some_parts();
    [[nodiscard]] bool drop_some_groups();
    void write_branch(const branch& b);
    void write_handover(const std::optional<handed_over>& h);
    void forget_old_branches();
    void note_term(std::uint64_t term);
    void add_groups(std::span<const group> groups);
    void count(std::span<const group> groups) noexcept;
    void synchronize(bool sync);

    const std::string file_;
    sqlite3* db_ = nullptr;
    std::size_t longest_ = 0;
    const on_damage on_damage_;
    std::vector<std::string> findings_, damage_;
    durable_end durable_end_;
    known_log known_{};                   // by what was found beside the log
    bool is_mixed_ = false;               // its files do not belong together
    int pages_of_log_ = 0;                // of SQLite, now
    std::optional<identity> main_, own_;  // of the file, and of SQLite's own log once it has been seen
    bool synchronous_ = false;
    std::uint64_t new_parts_ = 0;      // of the snapshot that was begun
    std::optional<milestones> bytes_;  // once a follower has asked
    sqlite3_stmt *begin_ = nullptr, *commit_ = nullptr, *add_ = nullptr, *keep_ = nullptr;
};

}  // namespace tutti::server::journal
