#include "cluster/replica/prepared_transactions.hpp"

#include <unordered_set>

#include "cluster/replica/fault_injection.hpp"

namespace tutti::cluster::replica {
namespace {

std::vector<backend::write> writes_of(const std::vector<write_view>& all) {
    std::vector<backend::write> made;
    made.reserve(all.size());
    for (const write_view& w : all) made.push_back({key{w.of}, w.exists, std::string{w.bytes}});
    return made;
}

}  // namespace

const prepared_transaction* prepared_transactions::find(std::string_view id) const {
    const auto at = all_.find(id);
    return at == all_.end() ? nullptr : &at->second;
}

std::vector<backend::blocking_transaction> prepared_transactions::list(std::size_t max_transactions) const {
    std::vector<backend::blocking_transaction> all;
    for (auto one = all_.begin(); one != all_.end() && all.size() < max_transactions; ++one)
        all.push_back(one->second.who);
    return all;
}

const prepared_transaction* prepared_transactions::writer_of(std::string_view k) const {
    if (holders_.empty()) return nullptr;
    const auto at = holders_.find(k);
    return at == holders_.end() ? nullptr : at->second.writer;
}

const prepared_transaction* prepared_transactions::find_blocking(const std::vector<check_view>& checks,
                                                                 const std::vector<write_view>& writes) const {
    if (holders_.empty()) return nullptr;
    for (const write_view& w : writes) {
        const auto at = holders_.find(w.of);
        if (at == holders_.end()) continue;
        if (at->second.writer != nullptr) return at->second.writer;
        if (!at->second.readers.empty()) return at->second.readers.front();
    }
    for (const check_view& c : checks) {
        if (const prepared_transaction* const t = writer_of(c.of)) return t;
    }
    return nullptr;
}

void prepared_transactions::add(const operation& o, version since) {
    prepared_transaction t{{std::string{o.id}, o.deciding_group}, since, {}, writes_of(o.writes)};
    std::unordered_set<std::string_view> written;
    for (const write_view& w : o.writes) written.insert(w.of);
    for (const check_view& c : o.checks) {
        if (!written.contains(c.of)) t.reads.emplace_back(c.of);
    }
    static_cast<void>(add(std::move(t)));
}

bool prepared_transactions::add(prepared_transaction t) {
    const auto [at, fresh] = all_.try_emplace(t.who.id, std::move(t));
    if (!fresh) return false;
    const prepared_transaction& mine = at->second;
    if (injected(fault::prepared_holds_nothing)) return true;
    bool free = true;
    for (const backend::write& w : mine.writes) {
        key_holders& h = holders_[w.of];
        free &= (h.writer == nullptr || h.writer == &mine) && h.readers.empty();
        h.writer = &mine;
    }
    for (const key& k : mine.reads) {
        key_holders& h = holders_[k];
        free &= h.writer == nullptr;
        h.readers.push_back(&mine);
    }
    return free;
}

std::optional<prepared_transaction> prepared_transactions::remove(std::string_view id) {
    const auto at = all_.find(id);
    if (at == all_.end()) return std::nullopt;
    const auto release = [this, mine = &at->second](const key& k) {
        const auto one = holders_.find(k);
        if (one == holders_.end()) return;
        if (one->second.writer == mine) one->second.writer = nullptr;
        std::erase(one->second.readers, mine);
        if (one->second.writer == nullptr && one->second.readers.empty()) holders_.erase(one);
    };
    for (const backend::write& w : at->second.writes) release(w.of);
    for (const key& k : at->second.reads) release(k);
    if (injected(fault::finished_again)) return at->second;
    std::optional<prepared_transaction> taken{std::move(at->second)};
    all_.erase(at);
    return taken;
}

namespace {

/// The saved form.
struct saved {
    std::string id;
    std::uint64_t decides = 0;
    version since = 0;
    std::vector<key> reads;
    std::vector<write_view> writes;
    template <class V>
    void fields(V& v) {
        v(id), v(decides), v(since), v(reads), v(writes);
    }
};

}  // namespace

void prepared_transactions::save(wire::writer& out) const {
    const bool all = !injected(fault::prepared_not_saved);
    out(std::uint64_t{all ? all_.size() : 0});
    if (!all) return;
    for (const auto& [id, t] : all_) {
        saved s{id, t.who.deciding_group, t.since, t.reads, {}};
        for (const backend::write& w : t.writes) s.writes.push_back({w.of, w.exists, w.bytes});
        out(s);
    }
}

void prepared_transactions::load(wire::reader& in, version latest) {
    std::uint64_t left = 0;
    for (in(left); left > 0 && in.good(); --left) {
        saved s;
        in(s);
        prepared_transaction t{{std::move(s.id), s.decides}, s.since, std::move(s.reads), writes_of(s.writes)};
        if (t.since > latest || !add(std::move(t))) in.refuse();
    }
}

}  // namespace tutti::cluster::replica
