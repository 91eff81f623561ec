// The change feed of a node's wakeup_notifier. It reports changes of the objects that the node's blocks watch.
//
// Two kinds of threads report changes: a thread whose commit changes an object here, and the thread that reads other
// nodes' messages. These threads may not block, so the feed keeps the reports until the notifier's thread takes them.
// The feed breaks when it would exceed `max_pending` reports, and when a node is lost. Every sleeping block then checks
// its objects itself.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "cluster/backend/backend.hpp"
#include "tutti/cluster/id.hpp"

namespace tutti::cluster {

class local_change_feed {
public:
    /// Opens a feed of all changes from now on. Breaks the feed that was open before.
    [[nodiscard]] std::unique_ptr<backend::key_feed> open_feed();
    void notify(const object_id& id);
    /// Breaks the feed because a change may have been missed.
    void break_feed() noexcept;

private:
    struct pending_keys {
        std::mutex guard;
        std::condition_variable changed;
        std::vector<backend::key> keys;
        bool broken = false;

        void break_off() noexcept;
    };
    class pending_key_feed;

    [[nodiscard]] std::shared_ptr<pending_keys> current() noexcept;

    std::mutex guard_;
    std::shared_ptr<pending_keys> current_;  // shared with the feed, which may outlive this object
};

}  // namespace tutti::cluster
