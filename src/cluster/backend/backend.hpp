// What a cluster asks of an engine that holds its objects: reads that belong together, and a commit that compares and
// writes at one instant. Everything else is built on these two.
//
// Contract
//   B1  A record has a version, which differs from every version that it ever had; 0 is "never written". An erased
//       record keeps its version and says that it does not exist: so "absent" is not the same twice.
//   B2  get: there is one instant between call and return at which all of `held` had the versions that are named, and
//       `wanted` what is returned. Where an engine keeps old versions, and the caller does not ask for `now`, the
//       instant may be that of an earlier get with the same snapshot.
//   B3  commit: there is one instant between call and return at which all of `checks` had those versions, and the
//       writes took effect together; or nothing is written, ever (conflict).
//   B4  unknown: B3 may still come true, also after the return, but at most once. Nothing else is ever unknown:
//       `unreachable` means that nothing was written and nothing will be.
//   B5  A feed tells of every write to the keys of its engine that takes effect after the feed was opened.
//   B6  An engine that can be followed numbers its commits by versions, ascending in their order; get takes any earlier
//       version as a snapshot; and `follow` tells of what commits wrote, in that order, and of one commit at once.
//   B7  Where a cache was asked for (caching.hpp), B2 is less: a get whose snapshot is empty may return an earlier
//       state; get with freshness `now` and commit are as above.
//   B8  An engine in parts (`capabilities::parts`) has each record in one of them, whose versions are its own: so what
//       one commit writes has several, and `request::at` is that of the last write. A caller that names a
//       version has been told of it before the call.
//
//   B9  An engine that shows its commits to a witness leaves no version out: what one request writes has the version
//       after that of the last write, of this program or of another. The witness sees what its program's requests
//       wrote, each request as a whole, before the tide shows it and before the callers of the request return.
//
// get, commit, open_feed and follow return within the engine's patience, or not much later.
//
// Thread safety: every member; a snapshot belongs to one caller.
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

#include "cluster/backend/surroundings.hpp"

namespace tutti::cluster::backend {

using version = std::uint64_t;

/// Readable in the engine's own tools: a letter and hexadecimal digits.
using key = std::string;

struct record {
    bool exists = false;
    version at = 0;
    std::string bytes;
};

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

/// A transaction of several groups that one of them has prepared: until it is decided, what it writes cannot be seen
/// there, nor what it has read be overwritten (spread.hpp).
struct holder {
    std::string id;             ///< empty: none
    std::uint64_t decides = 0;  ///< the number of the group that holds the decision
    [[nodiscard]] explicit operator bool() const noexcept { return !id.empty(); }
};

/// Which state of the engine the reads of one attempt are of. Empty at first; the engine fills it in.
struct snapshot {
    version at = 0;
    std::size_t part = 0;  ///< of an engine in parts: the only one it is of, counted from 1, or 0
    holder met{};          ///< of a group's conflict: the transaction in the way, if waiting for it helps
    [[nodiscard]] bool is_of_the_state_of(const snapshot& other) const noexcept {
        return at == other.at && part == other.part;
    }
};

enum class freshness : std::uint8_t {
    same,  ///< any instant that the earlier reads are of, too
    now,   ///< an instant after the call
};

enum class verdict : std::uint8_t {
    good,
    conflict,     ///< another commit was first: nothing is written
    unreachable,  ///< the engine does not answer; nothing is written
    unknown,      ///< it was asked to commit and did not answer
    refused,      ///< of a commit: the engine will never take it, `why` says what to do; nothing is written
};

/// What an engine can do, and how much at once. What it cannot is refused by a message that names it.
struct capabilities {
    std::string name;                      ///< as messages say it: "etcd at 127.0.0.1:2379"
    bool old_versions = false;             ///< B2: get may go back
    bool batches = false;                  ///< commit_all does more in one request
    bool follows = false;                  ///< B6
    bool durable = false;                  ///< what it has acknowledged survives kill -9 of its processes
    std::size_t most_operations = 100000;  ///< checks, and writes, of one commit
    std::size_t most_bytes = 64u << 20;    ///< keys and values of one commit, together
    std::size_t parts = 1;                 ///< B8
};

/// Messages say what to do.
class refusal : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Who writes what. One thread reads it.
class feed {
public:
    virtual ~feed() = default;
    /// Appends keys that were written; returns at least now and then, also with none. False: the feed has broken, and
    /// something may have been missed.
    [[nodiscard]] virtual bool next(std::vector<key>& written) = 0;
    /// Any thread: next returns soon, and false from then on.
    virtual void close() noexcept = 0;
};

/// A record as a commit left it.
struct change {
    key of;
    record is;
};

/// What commits write. One thread reads it.
class changes {
public:
    virtual ~changes() = default;
    /// Waits for more, and appends it. False: it has broken, and something may have been missed.
    [[nodiscard]] virtual bool next(std::vector<change>& written) = 0;
    /// Any thread: next returns soon, and false from then on.
    virtual void close() noexcept = 0;
};

/// The newest version of an engine that a get or a commit of this process has returned. Whoever decides later which
/// state to show shows none before it: so the process sees its engine move forwards, whatever it keeps copies of.
class tide {
public:
    [[nodiscard]] version height() const noexcept { return height_.load(std::memory_order_seq_cst); }
    void raise(version to) noexcept {
        version now = height();
        while (now < to && !height_.compare_exchange_weak(now, to, std::memory_order_seq_cst)) {}
    }

private:
    std::atomic<version> height_{0};
};

/// One commit of a batch, and what came of it.
struct request {
    std::span<const check> checks;
    std::span<const write> writes;
    verdict said = verdict::unreachable;
    version at = 0;   ///< of what it wrote (B8)
    std::string why;  ///< it was refused
    holder met{};     ///< of a group's conflict: the transaction in the way, if waiting for it helps
};

/// A cache that is told what its own program commits, as soon as the engine has said that it is good.
class witness {
public:
    virtual ~witness() = default;
    /// B9. Of one request; of those that are good, and write something, all have one version. Any thread.
    virtual void see(std::span<request* const> all) noexcept = 0;
};

class engine {
public:
    virtual ~engine() = default;
    [[nodiscard]] virtual const capabilities& can() const noexcept = 0;
    /// Where it has that record, counted from 0 (B8). Commits that touch one part alone cost least.
    [[nodiscard]] virtual std::size_t part_of(std::string_view) const noexcept { return 0; }
    /// By whose clock its callers wait for it.
    [[nodiscard]] virtual const surroundings& around() const noexcept { return surroundings::real(); }

    /// B2. `found` gets one record for each of `wanted`, in that order. good, conflict or unreachable.
    [[nodiscard]] virtual verdict get(snapshot& of, freshness how, std::span<const check> held,
                                      std::span<const key> wanted, std::vector<record>& found) = 0;
    /// B3. REQUIRES: within the limits of `can`; no key twice in checks, nor in writes.
    virtual void commit(request& r) = 0;
    /// The same for several, which must not touch what another of them writes. In one request, where it can.
    virtual void commit_all(std::span<request*> all) {
        for (request* r : all) commit(*r);
    }
    /// Has the records be as if nobody had ever written them, if the engine answers at once. REQUIRES: no commit checks
    /// or writes these keys any more, nor is one under way (B4).
    virtual void forget(std::span<const key> all) noexcept = 0;
    /// B5; opened when it returns. Null: not to be had now.
    [[nodiscard]] virtual std::unique_ptr<feed> open_feed() = 0;

    // B6, of an engine that says so in `can`.

    /// From the version after that one on; opened when it returns. Null: not to be had now.
    [[nodiscard]] virtual std::unique_ptr<changes> follow(version) { return nullptr; }
    /// Of the process, for all that go to the same engine. Raised by get, if it returned records, and by commit, before
    /// they return.
    [[nodiscard]] virtual backend::tide* tide() noexcept { return nullptr; }
    /// B9, from now on; false: it does not. REQUIRES: no commit is under way, nor is one when `w` ends.
    virtual bool show_commits_to(witness*) noexcept { return false; }
};

/// Of all that a commit sends. An engine that allows less refuses it before anything is sent.
[[nodiscard]] std::size_t bytes_of(const request& r) noexcept;
/// Throws refusal where `e` cannot take it.
void require_fits(const capabilities& e, const request& r);

}  // namespace tutti::cluster::backend
