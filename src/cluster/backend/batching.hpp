// Commits, and reads, of threads that meet go to the engine in one request.
//
// A thread that finds a request under way waits in a line until there are as many in it as were in that request, or it
// is back; then the first takes everything that waits and agrees, and asks for all of it. So a lone thread waits for
// nobody, two hardly do, and many share the engine's round trip, its log and its disk. While the engine writes one
// request to its disk, a second is on its way, and never more; nor a small one, because to a busy engine a request
// costs more than what is in it, and small ones beget small ones: with two at a time whatever their size, 32 threads
// have six commits in each, and by this rule nine.
//
// Two commits agree if neither writes what the other checks or writes: then any order of them is right, which is what
// commit_all asks for. Two reads agree if nothing is held: then one instant, after both were asked for, does for both.
//
// Thread safety: every member.
#pragma once

#include <condition_variable>
#include <mutex>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

class batching final : public engine {
public:
    /// At most `most` commits in one request, and as many operations as the engine takes.
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
    /// A thread that waits sleeps for its own turn: a request that is over wakes those that it was for, and the next.
    template <class Entry>
    class line {
    public:
        /// `choose` takes the first, and others, out of what waits; `ask` asks for those, and does not throw.
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
        std::size_t asked_for_ = 0;  // entries that are under way
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
