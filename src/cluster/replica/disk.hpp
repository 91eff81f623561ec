// Wraps libuv's raft_io. Reports a failed write together with the free space of the disk, and records in the member's
// durable_record what is on the disk.
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
    /// Opens the folder. Calls `failed` once, with a line for the operator, when a write fails. C-Raft's later actions
    /// do not count. `promised` is the file of the folder's durable_record. Throws backend::engine_error.
    disk(uv_loop_t& loop, std::string folder, const std::string& promised, raft_uv_transport* through,
         std::function<void(std::string)> failed);
    /// REQUIRES: C-Raft has closed this object, or has never started.
    ~disk() { raft_uv_close(&io_); }
    disk(const disk&) = delete;
    disk& operator=(const disk&) = delete;

    [[nodiscard]] raft_io& io() noexcept { return io_; }
    /// Records that this member has its lost entries again (durable_record.hpp).
    void clear_lost() noexcept { durable_record_.clear_lost(); }

private:
    struct watched_io : raft_io {
        disk* of = nullptr;
    };
    struct appending;
    struct saving;
    static disk& of(raft_io* io) noexcept { return *static_cast<watched_io*>(io)->of; }
    /// Returns `status`. Reports the status if it is a failure.
    int check(const char* what, int status);
    /// Has C-Raft write term and vote by `write`. Records the change before and after that write (DUR2 of
    /// durable_record.hpp).
    template <class F>
    int change(const char* what, raft_term term, raft_id vote, const F& write);
    int load(raft_term* term, raft_id* vote, raft_snapshot** snapshot, raft_index* first, raft_entry** entries,
             std::size_t* n);
    void record_append(const appending& w);
    /// Records that entries from `index` on are about to be removed, pending writes included. Returns false if this
    /// cannot be recorded.
    [[nodiscard]] bool record_truncation(raft_index index);
    void sync_if_due();

    const std::string folder_;
    std::function<void(std::string)> failed_;
    delayed_disk_writes delay_;
    watched_io io_{};
    raft_io original_io_{};  // libuv's functions, which this class wraps
    uv_loop_t& loop_;
    durable_record durable_record_;
    raft_index next_ = 1;                      // the index of the entry that is appended next
    std::vector<appending*> pending_appends_;  // in their order
    std::uint64_t synced_ms_ = 0;
};

}  // namespace tutti::cluster::replica
