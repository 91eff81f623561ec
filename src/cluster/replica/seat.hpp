// A member's part in its group, without sockets and disks: it puts what programs ask for into the log, applies what
// comes out, and answers. Over any raft_io: that of libuv in a process (`tutti member`), a simulated one in tests.
//
//   S1  a commit is answered when its entry was applied here, with what the machine said; so a majority has stored it
//   S2  a read is answered from the applied state after a *barrier*, an entry that was put into the log after the read
//       came and that a majority has stored. So the state holds whatever was acknowledged before the read came; a
//       leader that was deposed and does not know it gets no barrier through, and answers nothing
//   S3  a commit that raft has taken and then says it has lost may still happen: unknown. One that raft did not take
//       will not: unreachable
//   S4  what gathers between two calls of `flush` goes out together: the commits in one entry, the reads behind one
//       barrier
//   S5  a member that has lost entries which it had acknowledged votes for nobody, and does not ask for votes, until a
//       leader has given it all of them again. Whoever leads meanwhile was elected without it, and so by a majority in
//       which another member has each entry that was committed with its help
//   S6  the machine is saved, and entries go, when the log has grown by so many bytes and by as many as were saved
//       last. The loop goes on meanwhile (imaging.hpp)
//
// Thread safety: none; everything is called, and calls back, on the thread of the raft_io's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/machine.hpp"

struct raft_io;

namespace tutti::cluster::replica {

class image_store;

struct member {
    std::uint64_t id = 0;  ///< not 0
    std::string address;
};

struct seat_settings {
    member self;
    unsigned election_ms = 1000;
    unsigned heartbeat_ms = 100;
    unsigned snapshot_threshold = 0;    ///< S6: entries of the log, however small; 0: as many as `snapshot_bytes` allow
    unsigned snapshot_trailing = 1024;  ///< entries that stay all the same, for members that are a little behind
    unsigned install_ms = 10000;  ///< how long a leader waits for a member to take a snapshot before it sends it again
    std::size_t most_entry_bytes = 1u << 20;  ///< commits beyond it go into the next entry; one alone may be larger
    std::size_t snapshot_bytes = 64u << 20;   ///< S6: of the log, until the machine is saved and they are dropped
    image_store* images = nullptr;            ///< where it is saved to; it outlives the seat; null: in memory
    std::size_t piece_shards = 1024, piece_bytes = 256u << 10;  ///< of what is saved in one go, at most
    window history;
    std::uint64_t owed = 0;  ///< S5: it has lost entries up to here; 0: it has not
};

/// What came of one request.
struct reply {
    backend::verdict said = backend::verdict::unreachable;
    version at = 0;          ///< of a commit
    std::string why;         ///< refused, unreachable
    bool elsewhere = false;  ///< unreachable: this member does not lead; nothing was done
    backend::holder met{};   ///< conflict of a commit or prepare: the transaction that was in its way, or none
};
using reply_to_commit = std::function<void(reply)>;
using reply_to_get = std::function<void(reply, backend::snapshot, std::vector<backend::record>)>;

class seat {
public:
    /// `io` outlives it. Throws backend::refusal.
    seat(raft_io& io, seat_settings how);
    /// REQUIRES: closed.
    ~seat();
    seat(const seat&) = delete;
    seat& operator=(const seat&) = delete;

    /// Before the first start of a new group, on each of its first members, with the same list. Throws
    /// backend::refusal.
    void bootstrap(std::span<const member> all);
    /// Before a start, of a member whose group has lost its majority: this member is the only one from now on. What it
    /// has stored stays; nobody can know what else was acknowledged. Throws backend::refusal.
    void recover_alone(const member& self);
    /// Loads what the disk has. Throws backend::refusal.
    void start();
    /// Everything under way is answered before `done`: commits that were sent with unknown. Once.
    void close(std::function<void()> done);

    void commit(std::vector<backend::check> checks, std::vector<backend::write> writes, reply_to_commit answer);
    /// R5: this group's part of a transaction of several, which may be prepared, and is not asked for twice.
    void prepare(backend::holder who, std::vector<backend::check> checks, std::vector<backend::write> writes,
                 reply_to_commit answer);
    /// R6: it is decided. Good also where it is not prepared.
    void finish(std::string id, bool commits, reply_to_commit answer);
    /// R7.
    void adopt(std::vector<backend::check> checks, std::vector<backend::change> records, reply_to_commit answer);
    void forget(std::vector<key> keys);
    void get(backend::snapshot of, backend::freshness how, std::vector<backend::check> held, std::vector<key> wanted,
             reply_to_get answer);
    /// S4. Call it when the loop has nothing else to do.
    void flush();

    [[nodiscard]] bool leads() const noexcept;
    /// The member that this one takes for the leader; id 0: none.
    [[nodiscard]] member leader() const;
    /// What is applied here; may be behind (S2). For followers of changes, and for operators.
    [[nodiscard]] const machine& state() const noexcept { return machine_; }
    /// S5: called once, when it has all again.
    void on_regained(std::function<void()> told);
    /// Called after entries have changed the state, or a snapshot has replaced it.
    void on_change(std::function<void()> told) { told_ = std::move(told); }
    /// Not empty: this member takes no part any more, and why: it has met an entry or a snapshot that it cannot read,
    /// or its disk fails. It must be closed; what is on its disk stays true.
    [[nodiscard]] std::string broken_by() const;

    /// Where it is in the log.
    struct standing {
        std::uint64_t term = 0, last_index = 0, applied_index = 0;
        std::string_view as;  ///< leader, follower, candidate, unavailable
    };
    [[nodiscard]] standing stands() const noexcept;
    /// At the leader: another voter takes over, or does not within an election's time; then `done`. False: there is
    /// none, or it is no leader.
    [[nodiscard]] bool hand_over(std::function<void()> done);

    // Membership, at the leader; one change at a time. `done` gets an empty text, or why not.

    using changed = std::function<void(std::string why)>;
    /// Lets a new member in: it gets the log, and then a vote. REQUIRES: it runs, and was not bootstrapped.
    void admit(member who, changed done);
    void remove(std::uint64_t id, changed done);
    struct role {
        member who;
        bool votes = false;
    };
    [[nodiscard]] std::vector<role> members() const;

private:
    struct body;  // what has raft's types in it
    machine machine_;
    std::function<void()> told_;
    std::string unreadable_;
    std::unique_ptr<body> body_;
};

}  // namespace tutti::cluster::replica
