// The part of a seat that uses C-Raft: the instance, and a request for each pending entry and barrier.
#pragma once

#include "cluster/replica/imaging.hpp"
#include "cluster/replica/raft.hpp"
#include "cluster/replica/seat.hpp"
#include "cluster/replica/shim.hpp"

namespace tutti::cluster::replica {

struct seat::body {
    struct commit_waiting {
        kind is = kind::commit;
        backend::holder who;   // of prepare and finish
        bool commits = false;  // of finish
        std::vector<backend::check> checks;
        std::vector<backend::write> writes;
        reply_to_commit answer;
        std::vector<backend::change> adopted{};
        version absence = 0;  // of adopt
        void add_to(entry& e) const;
    };
    struct get_waiting {
        backend::snapshot of;
        backend::freshness how = backend::freshness::same;
        std::vector<backend::check> held;
        std::vector<key> wanted;
        reply_to_get answer;
    };
    /// An entry that raft has, and the reads that wait for it to be applied (S2).
    struct under_way {
        seat* of = nullptr;
        struct ::raft_apply apply{};
        struct ::raft_barrier barrier{};
        std::vector<reply_to_commit> commits;  // null for a forget
        std::vector<get_waiting> gets;
        std::uint64_t begun_ms = 0;  // by this member's clock
    };
    struct change_waiting {
        seat* of = nullptr;
        struct ::raft_barrier barrier{};
        raft_change change{};
        member who;
        changed done;
        int (*begin)(change_waiting&) = nullptr;  // begins the change, when it may begin
    };

    body(seat& of, raft_io& io, seat_settings how);

    static int apply(raft_fsm* fsm, const raft_buffer* entry, void** result);
    static int snapshot(raft_fsm* fsm, raft_buffer* bufs[], unsigned* n);
    static int snapshot_async(raft_fsm* fsm, raft_buffer* bufs[], unsigned* n);
    static int snapshot_finalize(raft_fsm* fsm, raft_buffer* bufs[], unsigned* n);
    static int restore(raft_fsm* fsm, raft_buffer* saved);

    /// Passes an entry to raft, together with `gets` if they are given.
    void send(entry& e, std::vector<reply_to_commit>& answers, std::vector<get_waiting>* gets);
    void send_barrier();
    void settle_commits(under_way& w, int status, const applied* said);
    void settle_gets(std::vector<get_waiting>& gets, int status);
    /// Begins a change when everything before it in the log was applied.
    void change(std::unique_ptr<change_waiting> w);
    void begin(std::unique_ptr<change_waiting> w, int status);
    /// Notes that a majority followed this leader when the request began. Only a fault of the tests uses this.
    void note_lease(const under_way& w);
    [[nodiscard]] bool has_lease() const;
    void refuse(std::vector<reply_to_commit>& commits, int status);
    [[nodiscard]] std::string why(int status);
    /// Counts an applied entry for S6. C-Raft only counts entries, which it keeps in memory, and not their bytes.
    void weigh(std::size_t bytes);

    seat& of_;
    seat_settings how_;
    raft_fsm fsm_{};
    raft raft_{};
    std::unique_ptr<shim> shim_;
    memory_image in_memory_;  // used if the settings name no other store
    imaging imaging_;
    applied last_;  // of the latest applied entry, until its request is answered
    std::vector<commit_waiting> commits_;
    std::vector<std::vector<key>> forgets_;
    std::vector<get_waiting> gets_;
    struct growth {
        std::size_t entries = 0, bytes = 0;
    };
    growth grown_, grown_before_image_;  // growth of the log since the machine was saved, and up to the current image
    std::size_t imaged_bytes_ = 0;       // size of the objects when the machine was saved
    raft_index saved_index_ = 0;         // of the last snapshot that was noted
    std::uint64_t lease_term_ = 0, lease_until_ms_ = 0;
    std::function<void()> closed_;
};

}  // namespace tutti::cluster::replica
