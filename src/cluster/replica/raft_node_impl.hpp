// The part of a node that uses C-Raft: the instance, and a request for each pending entry and barrier.
#pragma once

#include "cluster/replica/image_writer.hpp"
#include "cluster/replica/raft.hpp"
#include "cluster/replica/raft_node.hpp"
#include "cluster/replica/shim.hpp"

namespace tutti::cluster::replica {

struct raft_node::impl {
    struct pending_commit {
        operation_kind is = operation_kind::commit;
        backend::blocking_transaction who;  // of prepare and finish
        bool commits = false;               // of finish
        std::vector<backend::check> checks;
        std::vector<backend::write> writes;
        reply_to_commit answer;
        std::vector<backend::change> imported{};
        version absence = 0;  // of import_records
        void add_to(log_entry_builder& e) const;
    };
    struct pending_get {
        backend::read_snapshot of;
        backend::freshness how = backend::freshness::same;
        std::vector<backend::check> held;
        std::vector<key> wanted;
        reply_to_get answer;
    };
    /// An entry that raft has accepted, and the reads that wait until the entry is applied (RFT2).
    struct pending_entry {
        raft_node* of = nullptr;
        struct ::raft_apply apply{};
        struct ::raft_barrier barrier{};
        std::vector<reply_to_commit> commits;  // null for a forget
        std::vector<pending_get> gets;
        std::uint64_t begun_ms = 0;  // a time of this member's clock
    };
    struct pending_change {
        raft_node* of = nullptr;
        struct ::raft_barrier barrier{};
        raft_change change{};
        member who;
        change_callback done;
        int (*begin)(pending_change&) = nullptr;  // begins the change, when it may begin
    };

    impl(raft_node& of, raft_io& io, raft_settings how);

    static int apply(raft_fsm* fsm, const raft_buffer* entry, void** result);
    static int snapshot(raft_fsm* fsm, raft_buffer* bufs[], unsigned* n);
    static int snapshot_async(raft_fsm* fsm, raft_buffer* bufs[], unsigned* n);
    static int snapshot_finalize(raft_fsm* fsm, raft_buffer* bufs[], unsigned* n);
    static int restore(raft_fsm* fsm, raft_buffer* saved);

    /// Passes an entry to raft. The reads in `gets`, if any, wait until that entry is applied.
    void send(log_entry_builder& e, std::vector<reply_to_commit>& answers, std::vector<pending_get>* gets);
    void send_barrier();
    void finish_commits(pending_entry& w, int status, const applied_entry* applied);
    void finish_gets(std::vector<pending_get>& gets, int status);
    /// Begins a change of the members when every entry that is already in the log has been applied.
    void change(std::unique_ptr<pending_change> w);
    void begin(std::unique_ptr<pending_change> w, int status);
    /// Records that a majority followed this leader when the request began. Only an injected fault of the tests uses
    /// this lease.
    void renew_lease(const pending_entry& w);
    [[nodiscard]] bool has_lease() const;
    void refuse(std::vector<reply_to_commit>& commits, int status);
    [[nodiscard]] std::string reason_of(int status);
    /// Counts the bytes of an applied entry for RFT6, because C-Raft only counts the entries that it keeps in memory.
    void count_log_growth(std::size_t bytes);

    raft_node& of_;
    raft_settings how_;
    raft_fsm fsm_{};
    raft raft_{};
    std::unique_ptr<shim> shim_;
    memory_image in_memory_;  // used if the settings name no store
    image_writer image_writer_;
    applied_entry last_;  // the results of the latest applied entry, for the answers to its requests
    std::vector<pending_commit> commits_;
    std::vector<std::vector<key>> forgets_;
    std::vector<pending_get> gets_;
    struct log_growth {
        std::size_t entries = 0, bytes = 0;
    };
    log_growth growth_,
        growth_before_image_;       // growth of the log since the state machine was saved, and up to the current image
    std::size_t imaged_bytes_ = 0;  // size of the objects when the state machine was saved
    raft_index saved_index_ = 0;    // the index of the last snapshot that was noted
    std::uint64_t lease_term_ = 0, lease_until_ms_ = 0;
    std::function<void()> closed_;
};

}  // namespace tutti::cluster::replica
