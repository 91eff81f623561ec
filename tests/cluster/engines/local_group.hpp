// A group in memory: a member's state machine without a log, a network or other members. It counts requests, and loses
// answers on the command of a test.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cluster/backend/group_engine.hpp"
#include "cluster/replica/state_machine.hpp"

namespace tutti::cluster::testing {

/// The store that several programs use.
struct local_store {
    explicit local_store(std::uint64_t of, std::size_t max_erased = replica::state_machine::default_max_erased)
        : number{of}, records{{}, max_erased} {}
    const std::uint64_t number;
    std::mutex guard;
    std::condition_variable changed;
    replica::state_machine records;

    [[nodiscard]] std::size_t prepared() {
        const std::lock_guard hold{guard};
        return records.statistics().prepared;
    }
    replica::operation_result apply(replica::log_entry_builder e) {
        const std::lock_guard hold{guard};
        replica::operation_result result = records.apply(e.finish()).results.at(0);
        changed.notify_all();
        return result;
    }
};

class local_group final : public backend::group_engine {
public:
    explicit local_group(std::shared_ptr<local_store> at) : at_{std::move(at)} {
        abilities_.name = "the group at " + std::to_string(at_->number);
        abilities_.keeps_old_versions = abilities_.batches = abilities_.drops_erased = true;
    }
    const backend::capabilities& abilities() const noexcept override { return abilities_; }
    std::uint64_t number() const noexcept override { return at_->number; }
    backend::engine_status get(backend::read_snapshot& of, backend::freshness how, std::span<const backend::check> held,
                               std::span<const backend::key> wanted, std::vector<backend::record>& found) override {
        ++gets;
        if (hides_decisions && std::ranges::any_of(wanted, [](const backend::key& k) { return k.starts_with("t"); }))
            return backend::engine_status::unreachable;
        const std::lock_guard hold{at_->guard};
        return at_->records.get(of, how, held, wanted, found);
    }
    void commit(backend::request& r) override {
        ++commits;
        replica::log_entry_builder e;
        e.add_commit(r.checks, r.writes);
        decide(r, std::move(e), lose_commit);
    }
    std::function<void()> begin_prepare(const backend::blocking_transaction& who, backend::request& r,
                                        std::chrono::milliseconds) override {
        ++prepares;
        if (const auto first = std::exchange(before_prepare, nullptr)) first();
        replica::log_entry_builder e;
        e.add_prepare(who, r.checks, r.writes);
        if (loses_all_prepares) lose_prepare = loss::after;
        decide(r, std::move(e), lose_prepare);
        return [] {};
    }
    std::function<bool()> begin_finish(const std::string& id, bool commits_it, std::chrono::milliseconds) override {
        if (lose_finish) return [] { return false; };
        replica::log_entry_builder e;
        e.add_finish(id, commits_it);
        static_cast<void>(at_->apply(std::move(e)));
        return [] { return true; };
    }
    void forget(std::span<const backend::key> all) noexcept override {
        replica::log_entry_builder e;
        e.add_forget(all);
        static_cast<void>(at_->apply(std::move(e)));
    }
    backend::engine_status list(backend::list_cursor& from, const backend::slot_set& slots,
                                std::vector<backend::change>& found) override {
        const std::lock_guard hold{at_->guard};
        replica::state_machine::list_position place{from.buckets, from.next};
        at_->records.list(place, 4, 1u << 20, [&](std::string_view k) { return slots.has(k); }, found);
        from = {from.as_of == 0 ? at_->records.latest() : from.as_of,
                place.next == place.buckets,
                at_->records.absence(),
                at_->records.prepared(100),
                0,
                place.buckets,
                place.next};
        return backend::engine_status::good;
    }
    backend::engine_status list_changes(backend::list_cursor& from, const backend::slot_set& slots,
                                        std::vector<backend::change>& found) override {
        if (const auto first = std::exchange(before_changed, nullptr)) first();
        const std::lock_guard hold{at_->guard};
        std::vector<backend::change> some;
        if (!at_->records.changes_after(from.as_of, 1000, some)) return backend::engine_status::conflict;
        from.is_finished = from.as_of == at_->records.latest();
        from.absence = at_->records.absence();
        for (backend::change& c : some) {
            if (slots.has(c.of)) found.push_back(std::move(c));
        }
        return backend::engine_status::good;
    }
    void import_records(backend::request& r, std::span<const backend::change> records,
                        backend::version absence) override {
        replica::log_entry_builder e;
        e.add_import(r.checks, records, absence);
        decide(r, std::move(e), lose_import);
    }
    std::unique_ptr<backend::key_feed> open_key_feed() override { return std::make_unique<local_feed>(at_); }

    /// Loses the answer of the next request. With `after`, the request takes effect. With `before`, it does not. With
    /// `late`, it takes effect when the function `late` is called.
    enum class loss : std::uint8_t { none, after, before, late };
    std::atomic<loss> lose_commit{loss::none}, lose_prepare{loss::none}, lose_import{loss::none};
    bool loses_all_prepares = false, lose_finish = false;
    std::atomic<bool> hides_decisions{false};
    std::function<void()> late;
    std::function<void()> before_prepare, before_changed;  ///< called once
    std::atomic<unsigned> gets{0}, commits{0}, prepares{0};

private:
    class local_feed final : public backend::key_feed {
    public:
        explicit local_feed(std::shared_ptr<local_store> at) : at_{std::move(at)} {
            const std::lock_guard hold{at_->guard};
            place_ = at_->records.latest();
        }
        bool next(std::vector<backend::key>& written) override {
            std::unique_lock hold{at_->guard};
            at_->changed.wait(hold, [this] { return closed_ || at_->records.latest() > place_; });
            std::vector<backend::change> all;
            if (closed_ || !at_->records.changes_after(place_, 1000, all)) return false;
            for (const backend::change& c : all) written.push_back(c.of);
            return true;
        }
        void close() noexcept override {
            const std::lock_guard hold{at_->guard};
            closed_ = true;
            at_->changed.notify_all();
        }

    private:
        const std::shared_ptr<local_store> at_;
        backend::version place_ = 0;
        bool closed_ = false;
    };
    void decide(backend::request& r, replica::log_entry_builder e, std::atomic<loss>& lost) {
        const loss how = lost.exchange(loss::none);
        r.status = backend::engine_status::unknown;
        if (how == loss::before) return;
        if (how == loss::late) {
            late = [this, kept = std::make_shared<replica::log_entry_builder>(std::move(e))] {
                static_cast<void>(at_->apply(std::move(*kept)));
            };
            return;
        }
        const replica::operation_result result = at_->apply(std::move(e));
        if (how == loss::after) return;
        r.status = result.status;
        r.at = result.at;
        r.blocked_by = result.blocked_by;
    }

    const std::shared_ptr<local_store> at_;
    backend::capabilities abilities_;
};

}  // namespace tutti::cluster::testing
