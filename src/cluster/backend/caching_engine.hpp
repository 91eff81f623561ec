// Copies of what was read, kept current by what the engine tells of its commits (ENG6).
//
// The cache *follows* the engine: it has applied everything up to a version, its *applied version*. A get whose snapshot is empty
// is answered as of that version, or as of the watermark where that is higher, which is what this process has been shown: it
// has seen its own commits, and never goes back, also between several nodes. What has no copy is fetched as of the same
// version, so whatever one block reads is of one state (ENG2 but for the instant, ENG7). Its argument:
//
//   CCH1  a copy is what its record was from the copy's own version up to the applied version, or up to the version that it was
//       fetched at if that is higher: a change is applied before the applied version moves to it
//       A change that the program has made itself (ENG9) is applied before it is told, if the applied version is just before it:
//       then there is no other between
//   CCH2  a fetched copy is kept only if the applied version was not beyond its version when it was asked for, and no change beyond
//       that was told meanwhile
//   CCH3  when nothing more is told, every copy is dropped, and no get is answered until the engine is followed again
//   CCH4  the applied version is not too old: for each commit of its own, and for a *freshness write*, a write of no meaning, the cache knows
//       when it was sent. An applied version that has come to it holds everything that was committed before that. If that is
//       longer ago than `staleness`, the engine is asked as if there were no cache. Freshness writes are sent only while somebody
//       reads, and no commit does instead; etcd could be asked how far a watch is, but some versions of it answer
//       before they have told everything
//   CCH5  an engine that drops erased records changes the version of what is absent without a word (ENG1). Of such an
//       engine there are no copies of absent records: a commit that checked an old version would be refused forever
//
// Why blocks stay opaque, variables included: within the process, versions that gets return and at which commits happen
// grow in real time. A block that publishes variables has raised the watermark to its commit before, so who sees those, and
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

class caching_engine final : public engine, commit_observer {
public:
    /// `max_bytes` bytes of copies. Throws engine_error where `of` cannot be followed.
    caching_engine(std::unique_ptr<engine> engine_below, std::chrono::milliseconds staleness,
                   std::size_t max_bytes = 64u << 20);
    ~caching_engine() override;

    const capabilities& abilities() const noexcept override { return engine_->abilities(); }
    std::size_t group_of(std::string_view k) const noexcept override { return engine_->group_of(k); }
    const backend::runtime_env& env() const noexcept override { return engine_->env(); }
    engine_status get(read_snapshot& snapshot, freshness how, std::span<const check> held, std::span<const key> wanted,
                      std::vector<record>& found) override;
    void commit(request& r) override;
    void forget(std::span<const key> all) noexcept override { engine_->forget(all); }
    std::unique_ptr<key_feed> open_key_feed() override { return engine_->open_key_feed(); }
    std::unique_ptr<record_feed> open_record_feed(version after) override { return engine_->open_record_feed(after); }
    backend::version_watermark* watermark() noexcept override { return engine_->watermark(); }

    /// Gets that needed nothing of the engine.
    [[nodiscard]] std::uint64_t hits() const noexcept { return hits_.load(std::memory_order_relaxed); }

private:
    using clock = std::chrono::steady_clock;
    struct cached_record {
        key of;
        record value;
        version until = 0;  // CCH1
    };
    using cached_records = std::list<cached_record>;  // the oldest first
    /// A key that somebody fetches.
    struct pending_fetch {
        unsigned readers = 0;
        version changed = 0;  // by the last change that was told meanwhile
    };
    /// Once the applied version is there, it holds what was committed before.
    struct freshness_mark {
        version at = 0;
        clock::time_point sent{};
    };
    /// What one get does not find, and asks for.
    struct cache_miss {
        std::vector<std::size_t> indices;  // in `wanted`
        std::vector<key> keys;
        std::uint64_t generation = 0;
        bool keep = false;  // CCH2
    };

    // REQUIRES: guard_ is held
    [[nodiscard]] version choose_version();
    void find_cached(version at, std::span<const key> wanted, std::vector<record>& found, cache_miss& missing);
    void finish_miss(version at, const cache_miss& miss, std::span<const record> got, bool good);
    void keep(const key& of, const record& value, version until);
    void drop(cached_records::iterator one);
    void drop_all();
    void advance_freshness();
    void replace(change& change_made);
    void advance_to(version to);

    void apply(std::vector<change>& changes);
    void on_commits(std::span<request* const> all) noexcept override;
    void record_freshness(freshness_mark p);
    void run_follower();
    /// Follows until that breaks.
    void follow_feed();
    void write_freshness();

    const std::unique_ptr<engine> engine_;
    const std::chrono::milliseconds staleness_;
    const std::size_t max_bytes_;
    std::atomic<std::uint64_t> hits_{0};

    std::mutex guard_;
    cached_records cached_;
    std::unordered_map<std::string_view, cached_records::iterator> by_key_;  // the views are of cached_
    std::size_t bytes_ = 0;
    std::unordered_map<key, pending_fetch> fetches_;
    std::deque<freshness_mark> freshness_marks_;                // not reached yet; by ascending version
    std::map<version, std::vector<change>> own_commits_ahead_;  // of this program; beyond the applied version
    std::shared_ptr<record_feed> feed_;
    version applied_version_ = 0;
    clock::time_point fresh_as_of_{};  // CCH4
    std::uint64_t generation_ = 0;     // one more each time that all copies are dropped
    bool is_following_ = false;
    bool freshness_write_wanted_ = false;
    bool stopped_ = false;
    std::condition_variable changed_;  // freshness_write_wanted_, stopped_
    std::thread follower_thread_, freshness_writer_;
};

}  // namespace tutti::cluster::backend
