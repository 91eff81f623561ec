#include "cluster/backend/caching_engine.hpp"

#include <algorithm>

#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {
namespace {

constexpr std::chrono::milliseconds follow_again_delay{50};
constexpr std::size_t max_ahead = 64;  // commits; the cache waits for the engine to report further ones

const key freshness_key{"n0"};

/// Returns true for objects. The cache keeps no copies of commit records and leases, because their readers need the
/// current value.
bool is_object(const key& k) { return k.starts_with('o'); }

std::size_t size_of(const key& of, const record& value) {
    constexpr std::size_t overhead = 160;  // bytes of the list's and the map's nodes for one record
    return 2 * of.size() + value.bytes.size() + overhead;
}

}  // namespace

caching_engine::caching_engine(std::unique_ptr<engine> engine_below, std::chrono::milliseconds staleness,
                               std::size_t max_bytes)
    : engine_{std::move(engine_below)}, staleness_{staleness}, max_bytes_{max_bytes} {
    const capabilities& abilities = engine_->abilities();
    if (!abilities.has_record_feed || engine_->watermark() == nullptr)
        throw engine_error{abilities.name +
                           " does not report its commits in order, so its objects cannot be cached: set "
                           "engine_options::staleness to 0"};
    if (staleness_.count() < 1)
        throw engine_error{"engine_options::staleness is negative: give 0 or more milliseconds"};
    engine_->set_commit_observer(this);
    follower_thread_ = std::thread{[this] { run_follower(); }};
    freshness_writer_ = std::thread{[this] { write_freshness(); }};
}

caching_engine::~caching_engine() {
    {
        const std::lock_guard hold{guard_};
        stopped_ = true;
        if (feed_) feed_->close();
        changed_.notify_all();
    }
    follower_thread_.join();
    freshness_writer_.join();
}

engine_status caching_engine::get(read_snapshot& snapshot, freshness how, std::span<const check> held,
                                  std::span<const key> wanted, std::vector<record>& found) {
    if (how == freshness::now || wanted.empty() || !std::ranges::all_of(wanted, is_object))
        return engine_->get(snapshot, how, held, wanted, found);
    version at = snapshot.at;
    cache_miss missing;
    {
        const std::lock_guard hold{guard_};
        if (at == 0) at = choose_version();
        if (at != 0) {
            engine_->watermark()->raise(at);
            find_cached(at, wanted, found, missing);
        }
    }
    if (at == 0) return engine_->get(snapshot, how, held, wanted, found);
    if (missing.keys.empty()) {
        snapshot.at = at;
        hits_.fetch_add(1, std::memory_order_relaxed);
        return engine_status::good;
    }
    read_snapshot same{at};
    std::vector<record> got;
    engine_status status = engine_status::unreachable;
    try {
        status = engine_->get(same, freshness::same, held, missing.keys, got);
    } catch (...) {
        const std::lock_guard hold{guard_};
        finish_miss(at, missing, {}, false);
        throw;
    }
    {
        const std::lock_guard hold{guard_};
        finish_miss(at, missing, got, status == engine_status::good);
        // On a conflict, the feed starts again: the engine no longer keeps version `at`, or was restored from a backup
        // and has not reached `at` again.
        if (status == engine_status::conflict && snapshot.at == 0 && feed_) feed_->close();
    }
    if (status != engine_status::good) return status;
    for (std::size_t i = 0; i < missing.indices.size(); ++i) found[missing.indices[i]] = std::move(got[i]);
    snapshot.at = at;
    return engine_status::good;
}

version caching_engine::choose_version() {
    const version watermark = injected(fault::cache_below_watermark) ? 0 : engine_->watermark()->current();
    const auto age = clock::now() - fresh_as_of_;
    if (!is_following_) return 0;
    if ((watermark > applied_version_ || age > staleness_ / 2) && !freshness_write_wanted_) {
        freshness_write_wanted_ = true;
        changed_.notify_all();
    }
    if (age > staleness_ && !injected(fault::cache_ignores_age)) return 0;
    return std::max(applied_version_, watermark);
}

void caching_engine::find_cached(version at, std::span<const key> wanted, std::vector<record>& found,
                                 cache_miss& missing) {
    found.assign(wanted.size(), {});
    missing.generation = generation_;
    missing.keep = applied_version_ <= at || injected(fault::cache_late_copy);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto one = by_key_.find(wanted[i]);
        if (one != by_key_.end()) {
            const cached_record& c = *one->second;
            if (c.value.at <= at && at <= std::max(c.until, applied_version_)) {  // CCH1
                found[i] = c.value;
                continue;
            }
        }
        missing.indices.push_back(i);
        missing.keys.push_back(wanted[i]);
    }
    for (const key& k : missing.keys) ++fetches_[k].readers;
}

void caching_engine::finish_miss(version at, const cache_miss& miss, std::span<const record> got, bool good) {
    for (std::size_t i = 0; i < miss.keys.size(); ++i) {
        const auto one = fetches_.find(miss.keys[i]);
        const bool unchanged = one->second.changed <= at || injected(fault::cache_late_copy);
        if (--one->second.readers == 0) fetches_.erase(one);
        if (good && miss.keep && unchanged && miss.generation == generation_ && is_following_)
            keep(miss.keys[i], got[i], at);
    }
}

void caching_engine::keep(const key& of, const record& value, version until) {
    if (!value.exists && engine_->abilities().drops_erased) return;  // CCH5
    const auto known = by_key_.find(of);
    if (known != by_key_.end()) {
        if (known->second->value.at > value.at || known->second->until > until) return;
        drop(known->second);
    }
    cached_.push_back({of, value, until});
    by_key_.emplace(cached_.back().of, std::prev(cached_.end()));
    bytes_ += size_of(of, value);
    while (bytes_ > max_bytes_) drop(cached_.begin());
}

void caching_engine::drop(cached_records::iterator one) {
    bytes_ -= size_of(one->of, one->value);
    by_key_.erase(one->of);
    cached_.erase(one);
}

void caching_engine::drop_all() {
    ++generation_;
    by_key_.clear();
    cached_.clear();
    bytes_ = 0;
}

void caching_engine::commit(request& r) {
    const clock::time_point sent = clock::now();
    engine_->commit(r);
    if (r.status == engine_status::good) record_freshness({r.at, sent});
}

void caching_engine::record_freshness(freshness_mark p) {
    const std::lock_guard hold{guard_};
    if (!is_following_) return;
    // Concurrent commits may arrive here out of order.
    const auto where = std::ranges::upper_bound(freshness_marks_, p.at, {}, &freshness_mark::at);
    freshness_marks_.insert(where, p);
    advance_freshness();
}

void caching_engine::advance_freshness() {
    while (!freshness_marks_.empty() && freshness_marks_.front().at <= applied_version_) {
        fresh_as_of_ = std::max(fresh_as_of_, freshness_marks_.front().sent);
        freshness_marks_.pop_front();
    }
}

void caching_engine::apply(std::vector<change>& changes) {
    if (injected(fault::cache_in_wrong_order)) std::ranges::reverse(changes);
    std::unique_lock hold{guard_};
    version reached = applied_version_;
    for (change& c : changes) {
        reached = std::max(reached, c.value.at);
        if (injected(fault::cache_applies_partly)) {
            applied_version_ = reached;
            hold.unlock();
            std::this_thread::sleep_for(std::chrono::microseconds{100});
            hold.lock();
        }
        replace(c);
    }
    advance_to(reached);
}

void caching_engine::replace(change& change_made) {
    if (const auto one = fetches_.find(change_made.of); one != fetches_.end())
        one->second.changed = std::max(one->second.changed, change_made.value.at);
    const auto known = by_key_.find(change_made.of);
    if (known == by_key_.end()) return;
    cached_record& copy = *known->second;
    if (!change_made.value.exists && injected(fault::cache_keeps_erased)) return;
    // A copy that was fetched at a version beyond the applied version contains this change already.
    if (change_made.value.at <= copy.value.at && !injected(fault::cache_in_wrong_order)) return;
    if (!change_made.value.exists && engine_->abilities().drops_erased) return drop(known->second);  // CCH5
    bytes_ += change_made.value.bytes.size() - copy.value.bytes.size();
    copy.value = std::move(change_made.value);
}

void caching_engine::advance_to(version to) {
    applied_version_ = to;
    while (!own_commits_ahead_.empty()) {
        const auto next = own_commits_ahead_.begin();
        if (next->first > applied_version_ + 1 && !injected(fault::cache_skips_commits)) break;
        if (next->first > applied_version_) {
            for (change& c : next->second) replace(c);
            applied_version_ = next->first;
        }
        own_commits_ahead_.erase(next);
    }
    while (bytes_ > max_bytes_) drop(cached_.begin());
    advance_freshness();
}

void caching_engine::on_commits(std::span<request* const> all) noexcept {
    if (injected(fault::cache_applies_partly)) all = all.first(1);
    try {
        std::vector<change> made;
        version at = 0;
        for (const request* const r : all) {
            if (r->status != engine_status::good || r->writes.empty()) continue;
            at = r->at;
            for (const write& w : r->writes) {
                if (is_object(w.of)) made.push_back({w.of, {w.exists, at, w.bytes}});
            }
        }
        const std::lock_guard hold{guard_};
        if (!is_following_ || at <= applied_version_ || own_commits_ahead_.size() == max_ahead) return;
        own_commits_ahead_.emplace(at, std::move(made));
        advance_to(applied_version_);
    } catch (const std::bad_alloc&) {  // the change is applied later, when the engine reports it
    }
}

void caching_engine::run_follower() {
    std::unique_lock hold{guard_};
    while (!stopped_) {
        hold.unlock();
        try {
            follow_feed();
        } catch (const std::exception&) {  // no memory: gets ask the engine instead
        }
        hold.lock();
        is_following_ = injected(fault::cache_without_feed) && is_following_;
        feed_.reset();
        freshness_marks_.clear();
        own_commits_ahead_.clear();
        if (!injected(fault::cache_without_feed)) drop_all();  // CCH3
        changed_.wait_for(hold, follow_again_delay, [this] { return stopped_; });
    }
}

void caching_engine::follow_feed() {
    const clock::time_point started = clock::now();
    read_snapshot from;
    std::vector<record> ignored;
    if (engine_->get(from, freshness::now, {}, {&freshness_key, 1}, ignored) != engine_status::good) return;
    const std::shared_ptr<record_feed> feed = engine_->open_record_feed(from.at);
    if (!feed) return;
    {
        const std::lock_guard hold{guard_};
        if (stopped_) return;
        feed_ = feed;
        applied_version_ = from.at;
        fresh_as_of_ = started;
        is_following_ = true;
    }
    std::vector<change> changes;
    while (feed->next(changes)) {
        apply(changes);
        changes.clear();
    }
}

void caching_engine::write_freshness() {
    std::unique_lock hold{guard_};
    while (true) {
        changed_.wait(hold, [this] { return stopped_ || freshness_write_wanted_; });
        // During this pause, a commit of this program or of another thread may make the freshness write unnecessary.
        if (changed_.wait_for(hold, staleness_ / 8, [this] { return stopped_; })) return;
        freshness_write_wanted_ = false;
        if (!is_following_ ||
            (engine_->watermark()->current() <= applied_version_ && clock::now() - fresh_as_of_ <= staleness_ / 2))
            continue;
        hold.unlock();
        const write nothing{freshness_key, true, {}};
        request r;
        r.writes = {&nothing, 1};
        const clock::time_point sent = clock::now();
        try {
            engine_->commit(r);
            if (r.status == engine_status::good) record_freshness({r.at, sent});
        } catch (const std::exception&) {  // no memory: the next get that needs a freshness write requests one again
        }
        hold.lock();
    }
}

}  // namespace tutti::cluster::backend
