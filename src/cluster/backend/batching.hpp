// Combines the commits, and the reads, of concurrent threads into one request to the engine.
//
// A thread that finds a request pending waits in a line until the line is as long as that request, or that request has
// returned. Then the first thread in the line takes all waiting entries that agree, and sends one request for them.
//
// So a single thread never waits for another, two hardly wait, and many share the engine's round trip, its log and its
// disk. While the engine writes one request to its disk, a second one is on its way, but never a third. The second one
// must not be small. For a busy engine, a request costs more than its content, and small requests lead to more small
// ones. With two requests of any size at a time, 32 threads have six commits in each request. With this rule, they have
// nine.
//
// Two commits agree if neither writes a key that the other checks or writes. Then any order of them is correct, as
// commit_all requires. Two reads agree if neither has held keys. Then one instant after both calls is correct for both.
//
// Thread safety: every member may be called from any thread.
#pragma once

#include <condition_variable>
#include <mutex>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

class batching final : public engine {
public:
    /// Combines at most `most` commits in one request, and as many operations as the engine accepts.
    explicit batching(std::unique_ptr<engine> of, std::size_t most = 32);

    const capabilities& can() const noexcept override { return can_; }
    std::size_t part_of(std::string_view k) const noexcept override { return engine_->part_of(k); }
    const backend::surroundings& around() const noexcept override { return engine_->around(); }
    verdict get(snapshot& of, freshness how, std::span<const check> held, std::span<const key> wanted,
                std::vector<record>& found) override;
    void commit(request& r) override;
    void forget(std::span<const key> all) noexcept override { engine_->forget(all); }
    std::unique_ptr<feed> open_feed() override { return engine_->open_feed(); }
    std::unique_ptr<changes> follow(version after) override { return engine_->follow(after); }
    backend::tide* tide() noexcept override { return engine_->tide(); }
    bool show_commits_to(witness* w) noexcept override { return engine_->show_commits_to(w); }

private:
    /// A line of waiting threads. Each sleeps for its own turn. A finished request wakes the threads that it was for,
    /// and the next one.
    template <class Entry>
    class line {
    public:
        /// Waits for a turn, or until another thread has handled `mine`. `choose` takes the first waiting entry, and
        /// others. `ask` sends the request for them, and does not throw.
        template <class Choose, class Ask>
        void pass(Entry& mine, Choose&& choose, Ask&& ask);

    private:
        [[nodiscard]] bool may_go() const noexcept { return under_way_ < 2 && waiting_.size() >= asked_for_; }
        void call_next() {
            if (!waiting_.empty() && may_go()) waiting_.front()->turn.notify_one();
        }
        std::mutex guard_;
        std::vector<Entry*> waiting_;
        unsigned under_way_ = 0;
        std::size_t asked_for_ = 0;  // entries of the pending requests
    };
    struct place {
        std::condition_variable turn;
        bool done = false;
    };
    struct writer : place {
        request* what = nullptr;
    };
    struct reader : place {
        snapshot* of = nullptr;
        std::span<const key> wanted;
        std::vector<record>* found = nullptr;
        verdict said = verdict::unreachable;
    };
    std::vector<writer*> choose(std::vector<writer*>& waiting) const;
    void read(std::span<reader* const> all) noexcept;

    std::unique_ptr<engine> engine_;
    capabilities can_;
    const std::size_t most_;
    line<writer> writers_;
    line<reader> readers_;
};

}  // namespace tutti::cluster::backend
