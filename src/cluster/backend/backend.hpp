// The interface of an engine that holds a cluster's objects. An engine offers consistent reads, and a commit that
// compares and writes at one instant. Everything else is built on these two operations.
//
// Contract
//   ENG1  A record has a version, which differs from every version that it ever had; 0 is "never written". An erased
//         record keeps its version, and is marked as not existing. So "absent" is never the same state twice. An engine
//         that drops erased records (`capabilities::drops_erased`) gives all keys without a record one version. This
//         version is at least that of every dropped record, and may grow without a write to the key.
//   ENG2  get: at one instant between call and return, all of `held` had the named versions, and `wanted` had the
//         returned records. An engine that keeps old versions may use the instant of an earlier get with the same
//         snapshot, unless the caller asks for `now`.
//   ENG3  commit: at one instant between call and return, all of `checks` had those versions, and the writes took
//         effect together. Otherwise nothing is ever written (conflict).
//   ENG4  A commit with the result `unknown` may still take effect as in ENG3, also after the return, but at most once.
//         No other result is uncertain: `unreachable` means that nothing was written, and nothing will be.
//   ENG5  A feed reports every write to the keys of its engine that takes effect after the feed was opened.
//   ENG6  An engine that can be followed numbers its commits by versions that ascend in the order of the commits. get
//         accepts any earlier version as a snapshot. `open_record_feed` reports the writes of commits in that order,
//         and all writes of one commit together.
//   ENG7  If a cache was asked for (caching_engine.hpp), ENG2 is weaker: a get whose snapshot is empty may return an
//         earlier state. A get with freshness `now`, and commit, are as above.
//   ENG8  An engine of several groups (`capabilities::groups`) has each record in one group, and each group has its own
//         versions. So the writes of one commit have several versions, and `request::at` is that of the last write. A
//         caller that names a version has received that version before the call.
//   ENG9  An engine that shows its commits to a commit observer has no gaps in its versions. The writes of one request
//         have the version that follows the version of the last write by any program. The observer sees what its
//         program's requests wrote, each request as a whole. A request reaches the observer before the watermark shows
//         the request, and before the request's callers return.
//
// get, commit, open_key_feed and open_record_feed return within the engine's request timeout, or not much later.
//
// Thread safety: every member may be called from any thread, but a read_snapshot belongs to one caller.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/backend/runtime_env.hpp"

namespace tutti::cluster::backend {

using version = std::uint64_t;

/// A key consists of a letter and hexadecimal digits, so that the engine's own tools can show it.
using key = std::string;

struct record {
    bool exists = false;
    version at = 0;
    std::string bytes;
};

/// The version in a check that succeeds only if the key has no record, not even an erased one. Only engines that drop
/// erased records accept this version. REQUIRES: no program erases the key's records.
inline constexpr version unwritten = ~version{0};

struct check {
    key of;
    version at = 0;
    friend bool operator==(const check&, const check&) = default;
};

struct write {
    key of;
    bool exists = true;
    std::string bytes;
};

/// A transaction of several groups that one of these groups has prepared. Until the decision, the transaction's writes
/// are invisible in that group, and other transactions cannot overwrite records that this transaction has read in the
/// group (sharded_engine.hpp).
struct blocking_transaction {
    std::string id;                    ///< empty: there is no such transaction
    std::uint64_t deciding_group = 0;  ///< the number of the group that holds the decision
    [[nodiscard]] explicit operator bool() const noexcept { return !id.empty(); }
};

/// The state of the engine that the reads of one attempt belong to. The snapshot is empty at first, and the engine
/// fills it in.
struct read_snapshot {
    version at = 0;
    std::size_t group = 0;  ///< for an engine of several groups: the snapshot's only group, counted from 1, or 0
    blocking_transaction blocked_by{};  ///< for a group's conflict: the transaction in the way, if waiting for it helps
    [[nodiscard]] bool is_same_state_as(const read_snapshot& other) const noexcept {
        return at == other.at && group == other.group;
    }
};

enum class freshness : std::uint8_t {
    same,  ///< at an instant at which the earlier reads are current, too
    now,   ///< at an instant after the call
};

enum class engine_status : std::uint8_t {
    good,
    conflict,     ///< another transaction was first, and nothing is written
    unreachable,  ///< the engine does not answer; nothing is written
    unknown,      ///< the engine was asked to commit, but its answer was lost
    refused,      ///< the engine will never accept this commit, and nothing is written; `reason` says what to do
};

/// The abilities and limits of an engine. The engine rejects a request beyond a limit, with a message that names the
/// limit.
struct capabilities {
    std::string name;                     ///< the engine's name in messages: "etcd at 127.0.0.1:2379"
    bool keeps_old_versions = false;      ///< ENG2: get may use an earlier instant
    bool batches = false;                 ///< commit_all puts several commits into one request
    bool has_record_feed = false;         ///< the engine can be followed (ENG6)
    bool durable = false;                 ///< acknowledged commits survive kill -9 of the engine's processes
    std::size_t max_operations = 100000;  ///< limit of the checks, and of the writes, of one commit
    std::size_t max_bytes = 64u << 20;    ///< limit of the keys and values of one commit together
    std::size_t groups = 1;               ///< number of groups (ENG8)
    bool drops_erased = false;            ///< the engine drops erased records after a while (ENG1)
};

/// The exception for an address, engine or commit that is rejected. The message says what to do.
class engine_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A stream of written keys. One thread reads it.
class key_feed {
public:
    virtual ~key_feed() = default;
    /// Waits for written keys, and appends them. Returns from time to time even if no key was written. Returns false if
    /// the feed has broken. In this case it may have missed writes.
    [[nodiscard]] virtual bool next(std::vector<key>& written) = 0;
    /// Makes `next` return soon. From then on, `next` returns false. Any thread may call this function.
    virtual void close() noexcept = 0;
};

/// A record as a commit has written it.
struct change {
    key of;
    record value;
};

/// A stream of the writes of commits. One thread reads it.
class record_feed {
public:
    virtual ~record_feed() = default;
    /// Waits for writes, and appends them. Returns false if the stream has broken. In this case it may have missed
    /// writes.
    [[nodiscard]] virtual bool next(std::vector<change>& written) = 0;
    /// Makes `next` return soon. From then on, `next` returns false. Any thread may call this function.
    virtual void close() noexcept = 0;
};

/// The newest version of an engine that a get or a commit of this process has returned. Code that chooses a state to
/// read must not choose a state before the watermark. So the process never sees its engine move backwards, even if the
/// process caches records.
class version_watermark {
public:
    [[nodiscard]] version current() const noexcept { return current_.load(std::memory_order_seq_cst); }
    void raise(version to) noexcept {
        version now = current();
        while (now < to && !current_.compare_exchange_weak(now, to, std::memory_order_seq_cst)) {}
    }

private:
    std::atomic<version> current_{0};
};

/// One commit of a batch, and its result.
struct request {
    std::span<const check> checks;
    std::span<const write> writes;
    engine_status status = engine_status::unreachable;
    version at = 0;                     ///< the version of the commit's writes (ENG8)
    std::string reason;                 ///< why the engine rejected the commit
    blocking_transaction blocked_by{};  ///< for a group's conflict: the transaction in the way, if waiting for it helps
};

/// A cache that receives its own program's commits as soon as the engine has accepted them.
class commit_observer {
public:
    virtual ~commit_observer() = default;
    /// Receives the commits of one request (ENG9). All successful commits of the request that write something have the
    /// same version. Any thread may call this function.
    virtual void on_commits(std::span<request* const> all) noexcept = 0;
};

class engine {
public:
    virtual ~engine() = default;
    [[nodiscard]] virtual const capabilities& abilities() const noexcept = 0;
    /// Returns the group of a record, counted from 0 (ENG8). Commits that touch only one group are cheapest.
    [[nodiscard]] virtual std::size_t group_of(std::string_view) const noexcept { return 0; }
    /// Returns the clock by which callers measure their waits for this engine.
    [[nodiscard]] virtual const runtime_env& env() const noexcept { return runtime_env::real(); }

    /// Reads as in ENG2. `found` receives one record for each key of `wanted`, in the order of `wanted`. Returns good,
    /// conflict or unreachable.
    [[nodiscard]] virtual engine_status get(read_snapshot& snapshot, freshness how, std::span<const check> held,
                                            std::span<const key> wanted, std::vector<record>& found) = 0;
    /// Commits as in ENG3.
    /// REQUIRES: the request is within the limits of `abilities`, and no key is twice in its checks or twice in its
    /// writes.
    virtual void commit(request& r) = 0;
    /// Commits several requests, in one request to the engine if it can. REQUIRES: no request checks or writes a key
    /// that another of these requests writes.
    virtual void commit_all(std::span<request*> all) {
        for (request* r : all) commit(*r);
    }
    /// Tries to remove all traces of the records. If this fails, records stay. REQUIRES: no later commit checks or
    /// writes these keys, and no pending commit does (ENG4).
    virtual void forget(std::span<const key> all) noexcept = 0;
    /// Opens a feed (ENG5). The feed is open when this function returns. Returns null if no feed can be opened now.
    [[nodiscard]] virtual std::unique_ptr<key_feed> open_key_feed() = 0;

    // The following members are for engines with capabilities::has_record_feed (ENG6).

    /// Opens a stream of the writes after the given version. The stream is open when this function returns. Returns
    /// null if no stream can be opened now.
    [[nodiscard]] virtual std::unique_ptr<record_feed> open_record_feed(version) { return nullptr; }
    /// Returns the watermark, which all engines of the process for the same address share. A commit, and a get that
    /// returns records, raise the watermark before they return.
    [[nodiscard]] virtual backend::version_watermark* watermark() noexcept { return nullptr; }
    /// From now on, shows all commits to a commit observer (ENG9). Returns false if the engine cannot do this.
    /// REQUIRES: no commit is pending, neither now nor when the observer ends.
    virtual bool set_commit_observer(commit_observer*) noexcept { return false; }
};

/// Returns the size of everything that a commit sends. An engine uses this size to reject a commit beyond its limit
/// before sending it.
[[nodiscard]] std::size_t bytes_of(const request& r) noexcept;
/// Throws engine_error if the engine cannot accept the request.
void require_fits(const capabilities& e, const request& r);

}  // namespace tutti::cluster::backend
