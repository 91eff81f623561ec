// The file of the log: a database of SQLite in WAL mode. A group of records is one row and one transaction of the
// database, so it is there as a whole or not at all, and so is a snapshot together with the end of what it replaces.
//
// Why SQLite: one file, checksums on every page of its own log, an end that was torn is found and left out, and every
// error of write and fsync comes back as a code after which the database is as before. Why not RocksDB or LMDB:
// docs/server-operation.md has the figures.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

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
    std::int64_t at = 0;  ///< microseconds since 1970
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

class store {
public:
    /// Opens the file, makes it if it is not there, and locks it for this process.
    /// @throws store_error  also when it is somebody else's, or of another version
    explicit store(const std::string& file);
    ~store();
    store(const store&) = delete;
    store& operator=(const store&) = delete;

    /// So many bytes may a part of a snapshot have, the records of a group, an answer with its key.
    [[nodiscard]] std::size_t longest() const noexcept { return longest_; }

    /// What was found when it was opened, for people: one line each.
    [[nodiscard]] const std::vector<std::string>& findings() const noexcept { return findings_; }

    /// Adds a group; with `sync` it is on disk when this returns, and so is all that was added before.
    /// @throws store_error  nothing of it was added
    void add(const group& g, bool sync);
    /// Replaces the snapshot and drops the groups that are older than it, on disk when this returns.
    /// @throws store_error  nothing has changed
    void replace_snapshot(const snapshot& s);
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
    /// Bytes of records that replay would go through.
    [[nodiscard]] std::uint64_t bytes();

private:
    class statement;
    void run(const char* sql);
    void change(const std::function<void()>& what);
    std::uint64_t number(const char* sql);
    [[noreturn]] void fail(const std::string& doing);
    [[noreturn]] void fail(const std::string& doing, int code, const std::string& why);
    void look_at_tail();

    const std::string file_;
    sqlite3* db_ = nullptr;
    std::size_t longest_ = 0;
    std::vector<std::string> findings_;
    std::uint64_t frames_of_log_ = 0;  // of SQLite, as they were found
    int pages_of_log_ = 0;             // now
    bool synchronous_ = false;
    sqlite3_stmt *begin_ = nullptr, *commit_ = nullptr, *add_ = nullptr, *keep_ = nullptr;
};

}  // namespace tutti::server::journal
