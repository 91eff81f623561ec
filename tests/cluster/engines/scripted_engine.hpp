// An engine in memory for tests of caches. Its feeds report commits on the command of the test.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::testing {

/// The store that several engines share, as programs share one server.
class scripted_store {
public:
    /// Lets feeds report the commits up to version `v`.
    void report_until(backend::version v) {
        const std::lock_guard hold{guard};
        reported = std::max(reported, v);
        more.notify_all();
    }
    void report_all() { report_until(~backend::version{0}); }
    void report_no_more() {
        const std::lock_guard hold{guard};
        reported = latest;
    }
    /// Returns the version of the last write of the key.
    backend::version newest(const backend::key& k) {
        const std::lock_guard hold{guard};
        const auto all = records.find(k);
        return all == records.end() ? 0 : all->second.back().at;
    }
    /// Ends every open feed.
    void break_feeds() {
        const std::lock_guard hold{guard};
        ++broken;
        more.notify_all();
    }
    /// Waits until `count` feeds have been opened in total.
    void await_feeds(unsigned count) {
        std::unique_lock hold{guard};
        more.wait(hold, [&] { return feeds >= count; });
    }
    /// While `yes`, feeds fail to open.
    void refuse_feeds(bool yes) {
        const std::lock_guard hold{guard};
        refuses = yes;
    }

    std::mutex guard;
    std::condition_variable more;
    std::map<backend::key, std::vector<backend::record>> records;  // every record that ever existed, oldest first
    std::vector<backend::change> log;
    backend::version latest = 1, reported = 1;
    unsigned broken = 0, feeds = 0;
    bool refuses = false;
};

class scripted_engine final : public backend::engine {
public:
    /// Creates an engine. Engines that share a watermark belong to one process.
    scripted_engine(std::shared_ptr<scripted_store> at, std::shared_ptr<backend::version_watermark> of)
        : at_{std::move(at)}, watermark_{std::move(of)} {
        abilities_.name = "a scripted engine";
        abilities_.keeps_old_versions = abilities_.has_record_feed = true;
    }
    const backend::capabilities& abilities() const noexcept override { return abilities_; }
    backend::engine_status get(backend::read_snapshot& of, backend::freshness how, std::span<const backend::check> held,
                               std::span<const backend::key> wanted, std::vector<backend::record>& found) override {
        if (before_get) before_get(wanted);
        {
            const std::lock_guard hold{at_->guard};
            const bool back = how == backend::freshness::same && of.at != 0;
            const backend::version when = back ? of.at : at_->latest;
            for (const backend::check& c : held) {
                if (back || as_of(c.of, when).at == c.at) continue;
                watermark_->raise(when);
                return backend::engine_status::conflict;
            }
            found.clear();
            for (const backend::key& k : wanted) {
                found.push_back(as_of(k, when));
                if (k.starts_with('o')) ++asked;
            }
            of.at = when;
            if (!wanted.empty()) watermark_->raise(when);
        }
        if (after_get) after_get(wanted);
        return backend::engine_status::good;
    }
    void commit(backend::request& r) override {
        backend::request* one = &r;
        commit_all({&one, 1});
    }
    /// Commits all requests at one version. The program that sent the requests sees that version immediately, even if
    /// the feeds have not reported it.
    void commit_all(std::span<backend::request*> all) override {
        {
            const std::lock_guard hold{at_->guard};
            bool any = false;
            for (backend::request* const r : all) any |= decide(*r, at_->latest + 1);
            if (!any) return;
            ++at_->latest;
        }
        if (commit_observer_ != nullptr) commit_observer_->on_commits(all);
        for (const backend::request* const r : all) watermark_->raise(r->at);
        const std::lock_guard hold{at_->guard};
        at_->more.notify_all();
    }
    void forget(std::span<const backend::key>) noexcept override {}
    std::unique_ptr<backend::key_feed> open_key_feed() override { return nullptr; }
    std::unique_ptr<backend::record_feed> open_record_feed(backend::version after) override {
        const std::lock_guard hold{at_->guard};
        if (at_->refuses) return nullptr;
        ++at_->feeds;
        at_->more.notify_all();
        return std::make_unique<scripted_feed>(at_, after);
    }
    backend::version_watermark* watermark() noexcept override { return watermark_.get(); }
    bool set_commit_observer(backend::commit_observer* w) noexcept override {
        commit_observer_ = w;
        return true;
    }

    std::function<void(std::span<const backend::key>)> before_get, after_get;
    std::atomic<unsigned> asked{0};  // number of objects requested
    std::atomic<bool> loses_freshness_writes{false};

private:
    class scripted_feed final : public backend::record_feed {
    public:
        scripted_feed(std::shared_ptr<scripted_store> at, backend::version after)
            : at_{std::move(at)}, place_{after}, born_{at_->broken} {}
        bool next(std::vector<backend::change>& written) override {
            std::unique_lock hold{at_->guard};
            at_->more.wait(hold, [this] { return is_over() || std::min(at_->reported, at_->latest) > place_; });
            if (is_over()) return false;
            const backend::version until = std::min(at_->reported, at_->latest);
            for (const backend::change& c : at_->log) {
                if (c.value.at > place_ && c.value.at <= until) written.push_back(c);
            }
            place_ = until;
            return true;
        }
        void close() noexcept override {
            const std::lock_guard hold{at_->guard};
            closed_ = true;
            at_->more.notify_all();
        }

    private:
        [[nodiscard]] bool is_over() const { return closed_ || born_ != at_->broken; }
        const std::shared_ptr<scripted_store> at_;
        backend::version place_;
        const unsigned born_;
        bool closed_ = false;
    };
    [[nodiscard]] backend::record as_of(const backend::key& k, backend::version when) const {
        const auto all = at_->records.find(k);
        if (all == at_->records.end()) return {};
        backend::record found;
        for (const backend::record& r : all->second) {
            if (r.at <= when) found = r;
        }
        return found;
    }

    bool decide(backend::request& r, backend::version at) {
        if (loses_freshness_writes && r.writes.front().of.starts_with('n')) {
            r.status = backend::engine_status::unreachable;
            return false;
        }
        r.status = backend::engine_status::conflict;
        for (const backend::check& c : r.checks) {
            if (as_of(c.of, at_->latest).at != c.at) return false;
        }
        r.at = at;
        r.status = backend::engine_status::good;
        for (const backend::write& w : r.writes) {
            at_->records[w.of].push_back({w.exists, r.at, w.bytes});
            at_->log.push_back({w.of, at_->records[w.of].back()});
        }
        return true;
    }

    const std::shared_ptr<scripted_store> at_;
    const std::shared_ptr<backend::version_watermark> watermark_;
    backend::commit_observer* commit_observer_ = nullptr;
    backend::capabilities abilities_;
};

}  // namespace tutti::cluster::testing
