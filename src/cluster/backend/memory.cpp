#include "cluster/backend/memory.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {
namespace {

struct feed_queue {
    std::mutex guard;
    std::condition_variable changed;
    std::vector<key> written;
    bool closed = false;
};

struct memory_records {
    std::mutex guard;  // guards the members below; held during each get and commit, so that each happens at one instant
    std::unordered_map<key, record> records;
    version latest = 0;
    std::vector<std::weak_ptr<feed_queue>> feeds;
};

std::shared_ptr<memory_records> find_records(const std::string& name) {
    if (name.empty()) return std::make_shared<memory_records>();
    static std::mutex guard;
    static std::map<std::string, std::weak_ptr<memory_records>> stores;
    const std::lock_guard hold{guard};
    auto& known = stores[name];
    std::shared_ptr<memory_records> found = known.lock();
    if (!found) known = found = std::make_shared<memory_records>();
    return found;
}

class memory_feed final : public key_feed {
public:
    explicit memory_feed(std::shared_ptr<feed_queue> from) : from_{std::move(from)} {}
    bool next(std::vector<key>& written) override {
        std::unique_lock hold{from_->guard};
        from_->changed.wait(hold, [this] { return from_->closed || !from_->written.empty(); });
        written.insert(written.end(), from_->written.begin(), from_->written.end());
        from_->written.clear();
        return !from_->closed;
    }
    void close() noexcept override {
        const std::lock_guard hold{from_->guard};
        from_->closed = true;
        from_->changed.notify_all();
    }

private:
    std::shared_ptr<feed_queue> from_;
};

class memory final : public engine {
public:
    explicit memory(const std::string& name) : records_{find_records(name)} {
        abilities_.name = name.empty() ? "the memory of this process" : "memory:" + name;
        abilities_.batches = true;
    }
    const capabilities& abilities() const noexcept override { return abilities_; }

    engine_status get(read_snapshot& snapshot, freshness, std::span<const check> held, std::span<const key> wanted,
                      std::vector<record>& found) override {
        std::unique_lock hold{records_->guard};
        if (!injected(fault::stale_read) && !are_current(held)) return engine_status::conflict;
        found.clear();
        for (const key& k : wanted) {
            const auto at = records_->records.find(k);
            found.push_back(at == records_->records.end() ? record{} : at->second);
            if (injected(fault::torn_read)) let_others_run(hold);
        }
        snapshot.at = records_->latest;
        return engine_status::good;
    }

    void commit(request& r) override {
        std::unique_lock hold{records_->guard};
        if (!passes(r)) {
            r.status = engine_status::conflict;
            return;
        }
        r.at = ++records_->latest;
        for (const write& w : r.writes) {
            records_->records[w.of] = {w.exists, !w.exists && injected(fault::erase_forgets) ? 0 : r.at, w.bytes};
            if (injected(fault::torn_write)) let_others_run(hold);
        }
        r.status = engine_status::good;
        if (!injected(fault::silent_feed)) notify_feeds(r);
    }

    void forget(std::span<const key> all) noexcept override {
        const std::lock_guard hold{records_->guard};
        for (const key& k : all) records_->records.erase(k);
    }

    std::unique_ptr<key_feed> open_key_feed() override {
        auto q = std::make_shared<feed_queue>();
        const std::lock_guard hold{records_->guard};
        records_->feeds.push_back(q);
        return std::make_unique<memory_feed>(std::move(q));
    }

private:
    static void let_others_run(std::unique_lock<std::mutex>& hold) {
        hold.unlock();
        std::this_thread::sleep_for(
            std::chrono::microseconds{100});  // a sleep, because a yield might not run this process's other threads
        hold.lock();
    }
    [[nodiscard]] bool is_current(const check& c) const {
        const auto at = records_->records.find(c.of);
        return c.at == (at == records_->records.end() ? 0 : at->second.at);
    }
    [[nodiscard]] bool are_current(std::span<const check> all) const {
        for (const check& c : all) {
            if (!is_current(c)) return false;
        }
        return true;
    }
    [[nodiscard]] bool passes(const request& r) const {
        if (injected(fault::no_check)) return true;
        if (!injected(fault::half_check)) return are_current(r.checks);
        for (const check& c : r.checks) {
            for (const write& w : r.writes) {
                if (w.of == c.of && !is_current(c)) return false;
            }
        }
        return true;
    }
    void notify_feeds(const request& r) {
        std::erase_if(records_->feeds, [&](const std::weak_ptr<feed_queue>& one) {
            const auto q = one.lock();
            if (!q) return true;
            const std::lock_guard hold{q->guard};
            for (const write& w : r.writes) q->written.push_back(w.of);
            q->changed.notify_all();
            return false;
        });
    }

    capabilities abilities_;
    std::shared_ptr<memory_records> records_;
};

}  // namespace

std::unique_ptr<engine> open_memory(const std::string& name) { return std::make_unique<memory>(name); }

std::size_t bytes_of(const request& r) noexcept {
    std::size_t all = 0;
    for (const check& c : r.checks) all += c.of.size() + sizeof c.at;
    for (const write& w : r.writes) all += w.of.size() + w.bytes.size();
    return all;
}

void require_fits(const capabilities& e, const request& r) {
    const std::size_t operations = std::max(r.checks.size(), r.writes.size());
    if (operations > e.max_operations) {
        throw engine_error{"tutti: this block touches " + std::to_string(operations) + " objects, and " + e.name +
                           " takes at most " + std::to_string(e.max_operations) +
                           " in one transaction; nothing was written: make smaller blocks, or larger objects"};
    }
    if (const std::size_t bytes = bytes_of(r); bytes > e.max_bytes) {
        throw engine_error{"tutti: this block sends " + std::to_string(bytes) + " bytes, and " + e.name +
                           " takes at most " + std::to_string(e.max_bytes) +
                           " in one transaction; nothing was written: make smaller blocks or objects"};
    }
}

}  // namespace tutti::cluster::backend
