#include "cluster/backend/merged_feed.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tutti::cluster::backend {
namespace {

/// Waits for each feed in a thread of its own.
class merged_feed final : public key_feed {
public:
    explicit merged_feed(std::vector<std::unique_ptr<key_feed>> all) : all_{std::move(all)} {
        for (const auto& one : all_) threads_.emplace_back([this, from = one.get()] { drain(*from); });
    }
    ~merged_feed() override {
        close();
        for (std::thread& t : threads_) t.join();
    }
    bool next(std::vector<key>& written) override {
        std::unique_lock hold{guard_};
        changed_.wait(hold, [this] { return is_broken_ || !written_.empty(); });
        written.insert(written.end(), std::make_move_iterator(written_.begin()),
                       std::make_move_iterator(written_.end()));
        written_.clear();
        return !is_broken_;
    }
    void close() noexcept override {
        for (const auto& one : all_) one->close();
        const std::lock_guard hold{guard_};
        is_broken_ = true;
        changed_.notify_all();
    }

private:
    void drain(key_feed& from) {
        try {
            std::vector<key> written;
            while (from.next(written)) {
                const std::lock_guard hold{guard_};
                written_.insert(written_.end(), std::make_move_iterator(written.begin()),
                                std::make_move_iterator(written.end()));
                written.clear();
                if (!written_.empty()) changed_.notify_all();
            }
        } catch (const std::bad_alloc&) {  // no memory: a write is missed, so the feed breaks
        }
        const std::lock_guard hold{guard_};
        is_broken_ = true;
        changed_.notify_all();
    }

    const std::vector<std::unique_ptr<key_feed>> all_;
    std::mutex guard_;
    std::condition_variable changed_;
    std::vector<key> written_;
    bool is_broken_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<key_feed> merge(std::vector<std::unique_ptr<key_feed>> all) {
    return std::make_unique<merged_feed>(std::move(all));
}

}  // namespace tutti::cluster::backend
