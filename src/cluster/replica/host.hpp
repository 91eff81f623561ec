// A process that is a member: its seat in the group, its disk, its port, on one loop.
//
//   H1  requests gather, and go out together (requests.hpp)
//   H2  only the leader tells of changes; when it does not lead any more, it cuts its followers off, which look for the
//       leader again (B5)
//   H3  a member whose disk refuses a write ends. What it has not stored it has not promised; the others go on
//   H4  the folder is looked at before C-Raft opens it: damage ends the start, and changes nothing (folder.hpp)
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cluster/replica/disk.hpp"
#include "cluster/replica/identity.hpp"
#include "cluster/replica/image_file.hpp"
#include "cluster/replica/raft_loop.hpp"
#include "cluster/replica/requests.hpp"
#include "cluster/replica/seat.hpp"
#include "cluster/replica/sessions.hpp"
#include "cluster/replica/transport.hpp"
#include "tutti/cluster/member.hpp"

namespace tutti::cluster::replica {

class host {
public:
    enum class forcing : std::uint8_t { no, new_group };
    /// `forced`: of a folder that knows its group, the member is the only one of a new group from now on, with another
    /// number, and has another id. So neither a member of the old group nor a program that runs takes it for the old
    /// one. Throws backend::refusal.
    host(const member_options& how, cluster::member::say tell, forcing forced = forcing::no);
    ~host();
    host(const host&) = delete;
    host& operator=(const host&) = delete;

    /// Until `stop`. Throws backend::refusal: why it cannot go on.
    void run();
    /// Any thread.
    void stop() noexcept;
    /// Any thread: grows by twenty a second while `run` does its work.
    [[nodiscard]] std::uint64_t turns() const noexcept { return turns_.load(std::memory_order_relaxed); }
    /// Any thread: what this member says of itself, as of its latest look at the clock.
    [[nodiscard]] backend::group::status_answer status() const {
        const std::lock_guard hold{status_guard_};
        return status_;
    }

private:
    using weight = cluster::member::weight;

    void settle_identity(const member_options& how);
    /// Of a folder that knows its member: where it listens, and that it is where the others know it.
    void settle_address(const member_options& how);
    /// H4. Returns up to where it has lost entries, or 0.
    std::uint64_t look_at_log();
    void look_at_clock();
    void begin_to_end(std::string why);
    void finish_ending();
    /// On a thread of its own: asks the leader to let this member in, until it has.
    void join(const std::vector<std::string>& addresses, const std::stop_token& over);

    cluster::member::say tell_;
    const std::shared_ptr<backend::group::credentials> secured_;  // null: in the clear
    std::string unread_;                                          // what is wrong with files that have changed
    std::optional<home> home_;
    identity who_;
    std::optional<address_book> where_;
    sessions sessions_;
    std::optional<transport> transport_;
    std::optional<disk> disk_;
    std::optional<image_file> images_;
    std::optional<seat> seat_;
    std::optional<requests> requests_;
    bool led_ = false;
    bool ending_ = false;
    std::string ended_by_;   // empty: by stop
    std::string disk_says_;  // H3
    std::atomic<std::uint64_t> turns_{0};
    mutable std::mutex status_guard_;
    backend::group::status_answer status_;
    loop loop_;  // what is on it goes before what it is part of
    std::jthread joining_;
};

}  // namespace tutti::cluster::replica
