// Commits of threads that meet go to the engine in one request.
//
// Whoever comes while a request is under way waits in a line; when that one is back, the first in line takes everything
// that waits and agrees, and asks for all of it. So a lone thread waits for nobody, and many share the engine's round
// trip, its log and its disk. Two commits agree if neither writes what the other checks or writes: then any order of
// them is right, which is what commit_all asks for.
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
    verdict get(snapshot& of, freshness how, std::span<const check> held, std::span<const key> wanted,
                std::vector<record>& found) override {
        return engine_->get(of, how, held, wanted, found);
    }
    void commit(request& r) override;
    void forget(std::span<const key> all) noexcept override { engine_->forget(all); }
    std::unique_ptr<feed> open_feed() override { return engine_->open_feed(); }

private:
    struct entry {
        request* what;
        bool done = false;
    };
    std::vector<entry*> choose();

    std::unique_ptr<engine> engine_;
    capabilities can_;
    const std::size_t most_;
    std::mutex guard_;
    std::condition_variable changed_;
    std::vector<entry*> line_;
    unsigned under_way_ = 0;
};

}  // namespace tutti::cluster::backend
