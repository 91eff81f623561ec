// Combines the commits, and the reads, of concurrent threads into one request to the engine.
//
// A thread that finds a request pending waits in a queue. The wait ends once the queue has as many entries as the
// pending request, or this request has returned. Then the first thread in the queue removes all waiting entries that
// agree, and sends one request for them.
//
// So a single thread never waits for another, two threads hardly wait, and many threads share the engine's round trip,
// its log and its disk. While the engine writes one request to its disk, a second one is on its way, but never a third.
// The second request must not be small: a busy engine spends more on a request than on the request's content, and small
// requests lead to more small requests. If the second request could have any size, 32 threads would have six commits in
// each request. With this rule, they have nine.
//
// Two commits agree if neither writes a key that the other checks or writes. Commits that agree are correct in any
// order, as commit_all requires. Two reads agree if neither has held keys, because one instant after both calls is
// correct for both reads.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <condition_variable>
#include <mutex>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

class batching_engine final : public engine {
public:
    /// Combines at most `max_commits` commits in one request, and at most as many operations as the engine accepts.
    explicit batching_engine(std::unique_ptr<engine> engine_below, std::size_t max_commits = 32);

    const capabilities& abilities() const noexcept override { return abilities_; }
    std::size_t group_of(std::string_view k) const noexcept override { return engine_->group_of(k); }
    const backend::runtime_env& env() const noexcept override { return engine_->env(); }
    engine_status get(read_snapshot& snapshot, freshness how, std::span<const check> held, std::span<const key> wanted,
                      std::vector<record>& found) override;
    void commit(request& r) override;
    void forget(std::span<const key> all) noexcept override { engine_->forget(all); }
    std::unique_ptr<key_feed> open_key_feed() override { return engine_->open_key_feed(); }
    std::unique_ptr<record_feed> open_record_feed(version after) override { return engine_->open_record_feed(after); }
    backend::version_watermark* watermark() noexcept override { return engine_->watermark(); }
    bool set_commit_observer(commit_observer* w) noexcept override { return engine_->set_commit_observer(w); }

private:
    /// A queue of waiting threads. Each thread sleeps until its own turn. A finished request wakes the threads whose
    /// entries it contained, and the next thread in the queue.
    template <class Entry>
    class request_queue {
    public:
        /// Waits for a turn, or until another thread has handled `mine`. `choose` selects the first waiting entry, and
        /// further ones. `send` sends the request for these entries, and does not throw.
        template <class Choose, class Send>
        void process(Entry& mine, Choose&& choose, Send&& send);

    private:
        [[nodiscard]] bool may_send() const noexcept {
            return pending_requests_ < 2 && waiting_.size() >= pending_entries_;
        }
        void wake_next() {
            if (!waiting_.empty() && may_send()) waiting_.front()->wakeup.notify_one();
        }
        std::mutex guard_;
        std::vector<Entry*> waiting_;
        unsigned pending_requests_ = 0;
        std::size_t pending_entries_ = 0;  // entries of the pending requests
    };
    struct queued_request {
        std::condition_variable wakeup;
        bool done = false;
    };
    struct queued_commit : queued_request {
        request* commit = nullptr;
    };
    struct queued_read : queued_request {
        read_snapshot* snapshot = nullptr;
        std::span<const key> wanted;
        std::vector<record>* found = nullptr;
        engine_status status = engine_status::unreachable;
    };
    std::vector<queued_commit*> choose(std::vector<queued_commit*>& waiting) const;
    void read(std::span<queued_read* const> all) noexcept;

    std::unique_ptr<engine> engine_;
    capabilities abilities_;
    const std::size_t max_commits_;
    request_queue<queued_commit> commits_;
    request_queue<queued_read> reads_;
};

}  // namespace tutti::cluster::backend
