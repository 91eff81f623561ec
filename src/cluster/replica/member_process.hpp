// A process that is a member: its Raft node, its disk and its port, on one loop.
//
//   MBR2  Only the leader reports changes. A member that stops leading disconnects the programs that follow its
//         changes. They search for the new leader (ENG5).
//   MBR3  A member ends when a write to its disk fails. It has acknowledged only what it has stored, so the other
//         members can continue without it.
//   MBR4  The folder is checked before C-Raft opens it. If the folder is damaged, the start fails and changes nothing
//         (folder.hpp).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cluster/replica/data_directory.hpp"
#include "cluster/replica/disk.hpp"
#include "cluster/replica/image_file.hpp"
#include "cluster/replica/raft_loop.hpp"
#include "cluster/replica/raft_node.hpp"
#include "cluster/replica/requests.hpp"
#include "cluster/replica/sessions.hpp"
#include "cluster/replica/transport.hpp"
#include "tutti/cluster/member.hpp"

namespace tutti::cluster::replica {

class member_process {
public:
    enum class force_mode : std::uint8_t { no, new_group };
    /// Starts a member. With `force_mode::new_group`, the member becomes the only member of a new group. The group gets
    /// a new number, and the member a new id. So no member of the old group and no running program mistakes this member
    /// for the old one. The folder must name its group. Throws backend::engine_error.
    member_process(const member_options& how, cluster::member::log_callback log_callback,
                   force_mode forced = force_mode::no);
    ~member_process();
    member_process(const member_process&) = delete;
    member_process& operator=(const member_process&) = delete;

    /// Runs until `stop`. Throws backend::engine_error, with the reason, if it cannot continue.
    void run();
    /// Ends `run`. Any thread may call this.
    void stop() noexcept;
    /// Returns a count that grows by twenty a second while `run` works. Any thread may call this.
    [[nodiscard]] std::uint64_t loop_iterations() const noexcept {
        return loop_iterations_.load(std::memory_order_relaxed);
    }
    /// Returns this member's status as of the latest tick of its clock. Any thread may call this.
    [[nodiscard]] backend::group::status_reply status() const {
        const std::lock_guard hold{status_guard_};
        return status_;
    }

private:
    using severity = cluster::member::severity;

    void load_identity(const member_options& how);
    /// Sets the addresses of a member that already has an identity: where it listens, and where other members reach it.
    void set_addresses(const member_options& how);
    /// Checks the log (MBR4). Returns the number of the last entry that the log has lost, or 0.
    std::uint64_t check_log();
    void on_clock_tick();
    void begin_shutdown(std::string why);
    void finish_shutdown();
    /// Asks the leader to admit this member, again and again until the leader has done so. Runs on a thread of its own.
    void join(const std::vector<std::string>& addresses, const std::stop_token& over);

    cluster::member::log_callback log_callback_;
    const std::shared_ptr<backend::group::credentials> credentials_;  // null: in the clear
    std::string reload_error_;                                        // the error in changed files
    std::optional<data_directory> data_directory_;
    identity identity_;
    std::optional<address_book> address_book_;
    sessions sessions_;
    std::optional<transport> transport_;
    std::optional<disk> disk_;
    std::optional<image_file> images_;
    std::optional<raft_node> raft_node_;
    std::optional<requests> requests_;
    bool was_leader_ = false;
    bool shuts_down_ = false;
    std::string shutdown_reason_;  // empty: ended by stop
    std::string disk_error_;       // MBR3
    std::atomic<std::uint64_t> loop_iterations_{0};
    mutable std::mutex status_guard_;
    backend::group::status_reply status_;
    event_loop event_loop_;  // destroyed first, because its handles refer to the members above
    std::jthread joining_;
};

}  // namespace tutti::cluster::replica
