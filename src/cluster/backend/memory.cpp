#include "cluster/backend/memory.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "cluster/backend/fault_injection.hpp"

namespace tutti::cluster::backend {
namespace {

struct queue {
    std::mutex guard;
    std::condition_variable changed;
    std::vector<key> written;
    bool closed = false;
};

struct store {
    std::mutex guard;  // guards the members below; each get and commit holds it throughout, which makes their instant
    std::unordered_map<key, record> records;
    version latest = 0;
    std::vector<std::weak_ptr<queue>> feeds;
};

std::shared_ptr<store> find_store(const std::string& name) {
    if (name.empty()) return std::make_shared<store>();
    static std::mutex guard;
    static std::map<std::string, std::weak_ptr<store>> stores;
    const std::lock_guard hold{guard};
    auto& known = stores[name];
    std::shared_ptr<store> found = known.lock();
    if (!found) known = found = std::make_shared<store>();
    return found;
}

class memory_feed final : public feed {
public:
    explicit memory_feed(std::shared_ptr<queue> from) : from_{std::move(from)} {}
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
    std::shared_ptr<queue> from_;
};

class memory final : public engine {
public:
    explicit memory(const std::string& name) : store_{find_store(name)} {
        can_.name = name.empty() ? "the memory of this process" : "memory:" + name;
        can_.batches = true;
    }
    const capabilities& can() const noexcept override { return can_; }

    verdict get(snapshot& of, freshness, std::span<const check> held, std::span<const key> wanted,
                std::vector<record>& found) override {
        std::unique_lock hold{store_->guard};
        if (!injected(fault::stale_read) && !hold_true(held)) return verdict::conflict;
        found.clear();
        for (const key& k : wanted) {
            const auto at = store_->records.find(k);
            found.push_back(at == store_->records.end() ? record{} : at->second);
            if (injected(fault::torn_read)) give_others_a_turn(hold);
        }
        of.at = store_->latest;
        return verdict::good;
    }

    void commit(request& r) override {
        std::unique_lock hold{store_->guard};
        if (!passes(r)) {
            r.said = verdict::conflict;
            return;
        }
        r.at = ++store_->latest;
        for (const write& w : r.writes) {
            store_->records[w.of] = {w.exists, !w.exists && injected(fault::erase_forgets) ? 0 : r.at, w.bytes};
            if (injected(fault::torn_write)) give_others_a_turn(hold);
        }
        r.said = verdict::good;
        if (!injected(fault::silent_feed)) tell(r);
    }

    void forget(std::span<const key> all) noexcept override {
        const std::lock_guard hold{store_->guard};
        for (const key& k : all) store_->records.erase(k);
    }

    std::unique_ptr<feed> open_feed() override {
        auto q = std::make_shared<queue>();
        const std::lock_guard hold{store_->guard};
        store_->feeds.push_back(q);
        return std::make_unique<memory_feed>(std::move(q));
    }

private:
    static void give_others_a_turn(std::unique_lock<std::mutex>& hold) {
        hold.unlock();
        std::this_thread::sleep_for(
            std::chrono::microseconds{100});  // a yield might not run this process's other threads
        hold.lock();
    }
    [[nodiscard]] bool is(const check& c) const {
        const auto at = store_->records.find(c.of);
        return c.at == (at == store_->records.end() ? 0 : at->second.at);
    }
    [[nodiscard]] bool hold_true(std::span<const check> all) const {
        for (const check& c : all) {
            if (!is(c)) return false;
        }
        return true;
    }
    [[nodiscard]] bool passes(const request& r) const {
        if (injected(fault::no_check)) return true;
        if (!injected(fault::half_check)) return hold_true(r.checks);
        for (const check& c : r.checks) {
            for (const write& w : r.writes) {
                if (w.of == c.of && !is(c)) return false;
            }
        }
        return true;
    }
    void tell(const request& r) {
        std::erase_if(store_->feeds, [&](const std::weak_ptr<queue>& one) {
            const auto q = one.lock();
            if (!q) return true;
            const std::lock_guard hold{q->guard};
            for (const write& w : r.writes) q->written.push_back(w.of);
            q->changed.notify_all();
            return false;
        });
    }

    capabilities can_;
    std::shared_ptr<store> store_;
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
    if (operations > e.most_operations) {
        throw refusal{"tutti: this block touches " + std::to_string(operations) + " objects, and " + e.name +
                      " takes at most " + std::to_string(e.most_operations) +
                      " in one transaction; nothing was written: make smaller blocks, or larger objects"};
    }
    if (const std::size_t bytes = bytes_of(r); bytes > e.most_bytes) {
        throw refusal{"tutti: this block sends " + std::to_string(bytes) + " bytes, and " + e.name + " takes at most " +
                      std::to_string(e.most_bytes) +
                      " in one transaction; nothing was written: make smaller blocks or objects"};
    }
}

}  // namespace tutti::cluster::backend
