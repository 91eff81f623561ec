#include "cluster/backend/merged_feed.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tutti::cluster::backend {
namespace {

/// Waits for each feed in a thread of its own.
class merged final : public feed {
public:
    explicit merged(std::vector<std::unique_ptr<feed>> all) : all_{std::move(all)} {
        for (const auto& one : all_) threads_.emplace_back([this, from = one.get()] { hear_out(*from); });
    }
    ~merged() override {
        close();
        for (std::thread& t : threads_) t.join();
    }
    bool next(std::vector<key>& written) override {
        std::unique_lock hold{guard_};
        changed_.wait(hold, [this] { return broken_ || !told_.empty(); });
        written.insert(written.end(), std::make_move_iterator(told_.begin()), std::make_move_iterator(told_.end()));
        told_.clear();
        return !broken_;
    }
    void close() noexcept override {
        for (const auto& one : all_) one->close();
        const std::lock_guard hold{guard_};
        broken_ = true;
        changed_.notify_all();
    }

private:
    void hear_out(feed& from) {
        try {
            std::vector<key> written;
            while (from.next(written)) {
                const std::lock_guard hold{guard_};
                told_.insert(told_.end(), std::make_move_iterator(written.begin()),
                             std::make_move_iterator(written.end()));
                written.clear();
                if (!told_.empty()) changed_.notify_all();
            }
        } catch (const std::bad_alloc&) {  // a write is missed
        }
        const std::lock_guard hold{guard_};
        broken_ = true;
        changed_.notify_all();
    }

    const std::vector<std::unique_ptr<feed>> all_;
    std::mutex guard_;
    std::condition_variable changed_;
    std::vector<key> told_;
    bool broken_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<feed> merge(std::vector<std::unique_ptr<feed>> all) { return std::make_unique<merged>(std::move(all)); }

}  // namespace tutti::cluster::backend
