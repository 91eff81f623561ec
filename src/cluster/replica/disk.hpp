// libuv's raft_io, watched: a write that fails is told, with what the disk has left; and what is on the disk is noted
// in the member's durable_record.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/replica/durable_record.hpp"
#include "cluster/replica/injected_conditions.hpp"
#include "cluster/replica/raft_loop.hpp"

namespace tutti::cluster::replica {

class disk {
public:
    /// `failed` gets a line for the operator, once; nothing that C-Raft does after it counts. `promised` is the file of
    /// the folder's durable_record. Throws backend::refusal.
    disk(uv_loop_t& loop, std::string folder, const std::string& promised, raft_uv_transport* through,
         std::function<void(std::string)> failed);
    /// REQUIRES: C-Raft has closed it, or never started.
    ~disk() { raft_uv_close(&io_); }
    disk(const disk&) = delete;
    disk& operator=(const disk&) = delete;

    [[nodiscard]] raft_io& io() noexcept { return io_; }
    /// This member has entries again that it had lost (durable_record.hpp).
    void clear_lost() noexcept { durable_record_.clear_lost(); }

private:
    struct watched_io : raft_io {
        disk* of = nullptr;
    };
    struct appending;
    struct saving;
    static disk& of(raft_io* io) noexcept { return *static_cast<watched_io*>(io)->of; }
    /// `status`, and tells of it if it is a failure.
    int check(const char* what, int status);
    /// Between what is noted before and after it: C-Raft writes term and vote.
    template <class F>
    int change(const char* what, raft_term term, raft_id vote, const F& write);
    int load(raft_term* term, raft_id* vote, raft_snapshot** snapshot, raft_index* first, raft_entry** entries,
             std::size_t* n);
    void record_append(const appending& w);
    /// Entries from `index` on are about to go, those that are being written too. False: that cannot be noted.
    [[nodiscard]] bool record_truncation(raft_index index);
    void sync_if_due();

    const std::string folder_;
    std::function<void(std::string)> failed_;
    delayed_disk_writes delay_;
    watched_io io_{};
    raft_io original_io_{};  // the functions that are behind the watched ones
    uv_loop_t& loop_;
    durable_record durable_record_;
    raft_index next_ = 1;                // of the entry that is appended next
    std::vector<appending*> under_way_;  // in their order
    std::uint64_t synced_ms_ = 0;
};

}  // namespace tutti::cluster::replica
