// What the bells of a node hear (bells.hpp): which of the objects that its blocks watch have changed.
//
// A commit that changes one here says so, and so does the thread that reads what other nodes send. Neither may wait, so
// what they say is kept until the thread of the bells takes it. Beyond `most_kept`, and when a node is lost, the feed
// breaks, and every block that sleeps looks for itself.
//
// Thread safety: every member.
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
    /// Hears of what is told from now on; the one that was open before breaks.
    [[nodiscard]] std::unique_ptr<backend::feed> open_feed();
    void tell(const object_id& id);
    /// A change may have been missed.
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
    std::shared_ptr<mailbox> open_;  // shared with the feed, which may outlive this
};

}  // namespace tutti::cluster
