// The feed of a node's bells (bells.hpp): tells which of the objects that the node's blocks watch have changed.
//
// A commit that changes an object here reports the change, and so does the thread that reads other nodes' messages.
// Neither may wait, so the reports are kept until the thread of the bells takes them. The feed breaks beyond
// `most_kept` reports, and when a node is lost. Every sleeping block then checks its objects itself.
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

class changes {
public:
    /// Opens a feed of all changes from now on. Breaks the feed that was open before.
    [[nodiscard]] std::unique_ptr<backend::key_feed> open_feed();
    void tell(const object_id& id);
    /// Breaks the feed because a change may have been missed.
    void break_feed() noexcept;

private:
    struct mailbox {
        std::mutex guard;
        std::condition_variable filled;
        std::vector<backend::key> told;
        bool broken = false;

        void end() noexcept;
    };
    class listener;

    [[nodiscard]] std::shared_ptr<mailbox> open() noexcept;

    std::mutex guard_;
    std::shared_ptr<mailbox> open_;  // shared with the feed, which may outlive this object
};

}  // namespace tutti::cluster
