#include "cluster/changes.hpp"

#include <iterator>
#include <utility>

#include "cluster/key.hpp"

namespace tutti::cluster {
namespace {

/// The largest number of reports that are kept. Each report names an object that a block here watched, unless another
/// node reports an object that this node did not watch.
constexpr std::size_t most_kept = 65536;

}  // namespace

class changes::listener final : public backend::key_feed {
public:
    explicit listener(std::shared_ptr<mailbox> to) noexcept : box_{std::move(to)} {}

    bool next(std::vector<backend::key>& written) override {
        std::unique_lock hold{box_->guard};
        box_->filled.wait(hold, [this] { return box_->broken || !box_->told.empty(); });
        if (box_->broken) return false;
        std::ranges::move(box_->told, std::back_inserter(written));
        box_->told.clear();
        return true;
    }
    void close() noexcept override { box_->end(); }

private:
    const std::shared_ptr<mailbox> box_;
};

void changes::mailbox::end() noexcept {
    const std::lock_guard hold{guard};
    broken = true;
    filled.notify_all();
}

std::unique_ptr<backend::key_feed> changes::open_feed() {
    auto fresh = std::make_shared<mailbox>();
    auto feed = std::make_unique<listener>(fresh);
    {
        const std::lock_guard hold{guard_};
        std::swap(open_, fresh);
    }
    if (fresh) fresh->end();
    return feed;
}

std::shared_ptr<changes::mailbox> changes::open() noexcept {
    const std::lock_guard hold{guard_};
    return open_;
}

void changes::tell(const object_id& id) {
    const std::shared_ptr<mailbox> to = open();
    if (!to) return;  // no block has ever slept here
    const std::lock_guard hold{to->guard};
    if (to->broken) return;
    if (to->told.size() == most_kept) to->broken = true;
    else to->told.push_back(key_of(id));
    to->filled.notify_all();
}

void changes::break_feed() noexcept {
    if (const std::shared_ptr<mailbox> to = open()) to->end();
}

}  // namespace tutti::cluster
