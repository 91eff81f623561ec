// Keeps copies of the records that were read. The engine's reports of commits keep the copies current (ENG6).
//
// The cache *follows* the engine: it has applied all changes up to a version, its *applied version*. A get whose
// snapshot is empty is answered as of the applied version, or as of the watermark if the watermark is higher. The
// watermark is the newest version that this process has seen. So the process sees its own commits, and never sees its
// engine move backwards, even if its blocks use several nodes. A record without a copy is fetched as of the same
// version as the rest of the get. So all reads of one block return records of one state of the engine, as ENG2
// requires. ENG7 relaxes ENG2 in one point: this state may be older than the call of the block's first get. The
// argument:
//
//   CCH1  A copy equals its record from the copy's own version up to the applied version. If the version that the copy
//         was fetched at is higher, the copy equals its record up to that version. The reason is that the cache applies
//         a change before the applied version moves to it. If the applied version is just before a change of the
//         cache's own program (ENG9), no other change is in between. Only in this case does the cache apply the change
//         before the engine reports it.
//   CCH2  A get fetches records as of one version. The cache keeps a fetched copy only if the applied version was not
//         beyond that version when the get began to fetch. Moreover, no change of the record beyond that version may
//         have been reported during the fetch.
//   CCH3  When the feed breaks, every copy is dropped. No get is answered from copies until the engine is followed
//         again.
//   CCH4  The applied version is not too old. The cache knows when it sent each commit of its own, and each *freshness
//         write*, which is a write without meaning. An applied version that has reached such a write includes every
//         commit before the time of the write. If that time is longer ago than `staleness`, gets go to the engine as if
//         there were no cache. Freshness writes are sent only while threads read and no commit replaces them. The cache
//         does not ask etcd for the progress of a watch, because some versions of etcd answer before they have reported
//         all changes.
//   CCH5  An engine that drops erased records changes the version of absent records without a report (ENG1). The cache
//         keeps no copies of absent records of such an engine. Otherwise a commit that checked an old version would be
//         refused forever.
//
// The cache preserves opacity, also of blocks that use both objects and variables (docs/cluster-engines.md). Within the
// process, the versions of gets and commits grow in real time. Before a block publishes its variables, the watermark
// has risen to the version of the block's commit. So another block that reads these variables, and then reads objects,
// also sees the commit's writes to the objects. A block that reads such an object first finds the variables locked
// until they are published. So the process sees the engine's states with a delay, but in one order. The process sees
// its own commits immediately.
//
// Thread safety: every member may be called from any thread.
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
    /// Keeps at most `max_bytes` bytes of copies. Throws engine_error if `engine_below` cannot be followed.
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

    /// Returns the number of gets that the cache answered without a request to the engine.
    [[nodiscard]] std::uint64_t hits() const noexcept { return hits_.load(std::memory_order_relaxed); }

private:
    using clock = std::chrono::steady_clock;
    struct cached_record {
        key of;
        record value;
        version until = 0;  // CCH1
    };
    using cached_records = std::list<cached_record>;  // the oldest first
    /// The state of a key that is being fetched.
    struct pending_fetch {
        unsigned readers = 0;
        version changed = 0;  // the version of the last change to the key that was reported during the fetch
    };
    /// The version of a write, and the time at which the write was sent. Once the applied version is `at` or higher,
    /// the cache has applied all commits from before the time `sent`.
    struct freshness_mark {
        version at = 0;
        clock::time_point sent{};
    };
    /// The keys that one get does not find in the cache, and requests from the engine.
    struct cache_miss {
        std::vector<std::size_t> indices;  // in `wanted`
        std::vector<key> keys;
        std::uint64_t generation = 0;
        bool keep = false;  // CCH2
    };

    // REQUIRES: guard_ is held.
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
    /// Follows the engine until the feed breaks.
    void follow_feed();
    void write_freshness();

    const std::unique_ptr<engine> engine_;
    const std::chrono::milliseconds staleness_;
    const std::size_t max_bytes_;
    std::atomic<std::uint64_t> hits_{0};

    std::mutex guard_;
    cached_records cached_;
    std::unordered_map<std::string_view, cached_records::iterator> by_key_;  // the keys are views of cached_
    std::size_t bytes_ = 0;
    std::unordered_map<key, pending_fetch> fetches_;
    std::deque<freshness_mark> freshness_marks_;                // not reached yet, by ascending version
    std::map<version, std::vector<change>> own_commits_ahead_;  // commits of this program beyond the applied version
    std::shared_ptr<record_feed> feed_;
    version applied_version_ = 0;
    clock::time_point fresh_as_of_{};  // CCH4
    std::uint64_t generation_ = 0;     // grows each time that all copies are dropped
    bool is_following_ = false;
    bool freshness_write_wanted_ = false;
    bool stopped_ = false;
    std::condition_variable changed_;  // freshness_write_wanted_, stopped_
    std::thread follower_thread_, freshness_writer_;
};

}  // namespace tutti::cluster::backend
