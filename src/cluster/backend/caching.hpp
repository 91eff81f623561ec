// Copies of what was read, kept current by what the engine tells of its commits (B6).
//
// The cache *follows* the engine: it has applied everything up to a version, its *place*. A get whose snapshot is empty
// is answered as of that place, or as of the tide where that is higher, which is what this process has been shown: it
// has seen its own commits, and never goes back, also between several nodes. What has no copy is fetched as of the same
// version, so whatever one block reads is of one state (B2 but for the instant, B7). Its argument:
//
//   C1  a copy is what its record was from the copy's own version up to the place, or up to the version that it was
//       fetched at if that is higher: a change is applied before the place moves to it
//       A change that the program has made itself (B9) is applied before it is told, if the place is just before it:
//       then there is no other between
//   C2  a fetched copy is kept only if the place was not beyond its version when it was asked for, and no change beyond
//       that was told meanwhile
//   C3  when nothing more is told, every copy is dropped, and no get is answered until the engine is followed again
//   C4  the place is not too old: for each commit of its own, and for a *pulse*, a write of no meaning, the cache knows
//       when it was sent. A place that has come to it holds everything that was committed before that. If that is
//       longer ago than `staleness`, the engine is asked as if there were no cache. Pulses are sent only while somebody
//       reads, and no commit does instead; etcd could be asked how far a watch is, but some versions of it answer
//       before they have told everything
//   C5  an engine that drops erased records changes the version of what is absent without a word (B1). Of such an
//       engine there are no copies of absent records: a commit that checked an old version would be refused forever
//
// Why blocks stay opaque, variables included: within the process, versions that gets return and at which commits happen
// grow in real time. A block that publishes variables has raised the tide to its commit before, so who sees those, and
// then reads objects, sees its writes; who reads an object first, as the commit left it, meets the locks of the
// variables until they are published. So the process sees the engine through a delay, but in one order, and its own
// commits at once (docs/cluster-engines.md).
//
// Thread safety: every member.
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::backend {

class caching final : public engine, witness {
public:
    /// `most` bytes of copies. Throws refusal where `of` cannot be followed.
    caching(std::unique_ptr<engine> of, std::chrono::milliseconds staleness, std::size_t most = 64u << 20);
    ~caching() override;

    const capabilities& can() const noexcept override { return engine_->can(); }
    std::size_t part_of(std::string_view k) const noexcept override { return engine_->part_of(k); }
    const backend::surroundings& around() const noexcept override { return engine_->around(); }
    verdict get(snapshot& of, freshness how, std::span<const check> held, std::span<const key> wanted,
                std::vector<record>& found) override;
    void commit(request& r) override;
    void forget(std::span<const key> all) noexcept override { engine_->forget(all); }
    std::unique_ptr<feed> open_feed() override { return engine_->open_feed(); }
    std::unique_ptr<changes> follow(version after) override { return engine_->follow(after); }
    backend::tide* tide() noexcept override { return engine_->tide(); }

    /// Gets that needed nothing of the engine.
    [[nodiscard]] std::uint64_t answered() const noexcept { return answered_.load(std::memory_order_relaxed); }

private:
    using clock = std::chrono::steady_clock;
    struct copy {
        key of;
        record is;
        version until = 0;  // C1
    };
    using copies = std::list<copy>;  // the oldest first
    /// A key that somebody fetches.
    struct fetching {
        unsigned by = 0;
        version changed = 0;  // by the last change that was told meanwhile
    };
    /// Once the place is there, it holds what was committed before.
    struct proof {
        version at = 0;
        clock::time_point sent{};
    };
    /// What one get does not find, and asks for.
    struct errand {
        std::vector<std::size_t> places;  // in `wanted`
        std::vector<key> keys;
        std::uint64_t era = 0;
        bool keep = false;  // C2
    };

    // REQUIRES: guard_ is held
    [[nodiscard]] version choose();
    void look_up(version at, std::span<const key> wanted, std::vector<record>& found, errand& missing);
    void settle(version at, const errand& what, std::span<const record> got, bool good);
    void keep(const key& of, const record& is, version until);
    void drop(copies::iterator one);
    void drop_all();
    void prove();
    void replace(change& by);
    void move_to(version to);

    void apply(std::vector<change>& told);
    void see(std::span<request* const> all) noexcept override;
    void note(proof p);
    void live();
    /// Follows until that breaks.
    void go_along();
    void pulse();

    const std::unique_ptr<engine> engine_;
    const std::chrono::milliseconds staleness_;
    const std::size_t most_;
    std::atomic<std::uint64_t> answered_{0};

    std::mutex guard_;
    copies copies_;
    std::unordered_map<std::string_view, copies::iterator> by_key_;  // the views are of copies_
    std::size_t bytes_ = 0;
    std::unordered_map<key, fetching> fetched_;
    std::deque<proof> proofs_;                      // not reached yet; by ascending version
    std::map<version, std::vector<change>> ahead_;  // of this program; beyond the place
    std::shared_ptr<changes> source_;
    version place_ = 0;
    clock::time_point proven_{};  // C4
    std::uint64_t era_ = 0;       // one more each time that all copies are dropped
    bool follows_ = false;
    bool pulse_wanted_ = false;
    bool stopped_ = false;
    std::condition_variable changed_;  // pulse_wanted_, stopped_
    std::thread follower_, pulser_;
};

}  // namespace tutti::cluster::backend
