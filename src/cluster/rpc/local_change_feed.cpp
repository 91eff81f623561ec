#include "cluster/rpc/local_change_feed.hpp"

#include <iterator>
#include <utility>

#include "cluster/rpc/key.hpp"

namespace tutti::cluster {
namespace {

/// The maximum number of reports that are kept. Normally each report names an object that a block of this node watched,
/// but another node may also report an object that this node did not watch.
constexpr std::size_t max_pending = 65536;

}  // namespace

class local_change_feed::pending_key_feed final : public backend::key_feed {
public:
    explicit pending_key_feed(std::shared_ptr<pending_keys> to) noexcept : pending_{std::move(to)} {}

    bool next(std::vector<backend::key>& written) override {
        std::unique_lock hold{pending_->guard};
        pending_->changed.wait(hold, [this] { return pending_->broken || !pending_->keys.empty(); });
        if (pending_->broken) return false;
        std::ranges::move(pending_->keys, std::back_inserter(written));
        pending_->keys.clear();
        return true;
    }
    void close() noexcept override { pending_->break_off(); }

private:
    const std::shared_ptr<pending_keys> pending_;
};

void local_change_feed::pending_keys::break_off() noexcept {
    const std::lock_guard hold{guard};
    broken = true;
    changed.notify_all();
}

std::unique_ptr<backend::key_feed> local_change_feed::open_feed() {
    auto fresh = std::make_shared<pending_keys>();
    auto feed = std::make_unique<pending_key_feed>(fresh);
    {
        const std::lock_guard hold{guard_};
        std::swap(current_, fresh);
    }
    if (fresh) fresh->break_off();
    return feed;
}

std::shared_ptr<local_change_feed::pending_keys> local_change_feed::current() noexcept {
    const std::lock_guard hold{guard_};
    return current_;
}

void local_change_feed::notify(const object_id& id) {
    const std::shared_ptr<pending_keys> to = current();
    if (!to) return;  // no block has ever slept here
    const std::lock_guard hold{to->guard};
    if (to->broken) return;
    if (to->keys.size() == max_pending) to->broken = true;
    else to->keys.push_back(key_of(id));
    to->changed.notify_all();
}

void local_change_feed::break_feed() noexcept {
    if (const std::shared_ptr<pending_keys> to = current()) to->break_off();
}

}  // namespace tutti::cluster
