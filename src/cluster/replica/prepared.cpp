#include "cluster/replica/prepared.hpp"

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

const transaction* prepared_ones::find(std::string_view id) const {
    const auto at = all_.find(id);
    return at == all_.end() ? nullptr : &at->second;
}

std::vector<backend::holder> prepared_ones::names(std::size_t most) const {
    std::vector<backend::holder> all;
    for (auto one = all_.begin(); one != all_.end() && all.size() < most; ++one) all.push_back(one->second.who);
    return all;
}

const transaction* prepared_ones::writer_of(std::string_view k) const {
    if (held_.empty()) return nullptr;
    const auto at = held_.find(k);
    return at == held_.end() ? nullptr : at->second.writer;
}

const transaction* prepared_ones::in_the_way(const std::vector<check_view>& checks,
                                             const std::vector<write_view>& writes) const {
    if (held_.empty()) return nullptr;
    for (const write_view& w : writes) {
        const auto at = held_.find(w.of);
        if (at == held_.end()) continue;
        if (at->second.writer != nullptr) return at->second.writer;
        if (!at->second.readers.empty()) return at->second.readers.front();
    }
    for (const check_view& c : checks) {
        if (const transaction* const t = writer_of(c.of)) return t;
    }
    return nullptr;
}

void prepared_ones::add(const operation& o, version since) {
    transaction t{{std::string{o.id}, o.decides}, since, {}, writes_of(o.writes)};
    std::unordered_set<std::string_view> written;
    for (const write_view& w : o.writes) written.insert(w.of);
    for (const check_view& c : o.checks) {
        if (!written.contains(c.of)) t.reads.emplace_back(c.of);
    }
    static_cast<void>(add(std::move(t)));
}

bool prepared_ones::add(transaction t) {
    const auto [at, fresh] = all_.try_emplace(t.who.id, std::move(t));
    if (!fresh) return false;
    const transaction& mine = at->second;
    if (injected(fault::prepared_holds_nothing)) return true;
    bool free = true;
    for (const backend::write& w : mine.writes) {
        held& h = held_[w.of];
        free &= (h.writer == nullptr || h.writer == &mine) && h.readers.empty();
        h.writer = &mine;
    }
    for (const key& k : mine.reads) {
        held& h = held_[k];
        free &= h.writer == nullptr;
        h.readers.push_back(&mine);
    }
    return free;
}

std::optional<transaction> prepared_ones::take(std::string_view id) {
    const auto at = all_.find(id);
    if (at == all_.end()) return std::nullopt;
    const auto release = [this, mine = &at->second](const key& k) {
        const auto one = held_.find(k);
        if (one == held_.end()) return;
        if (one->second.writer == mine) one->second.writer = nullptr;
        std::erase(one->second.readers, mine);
        if (one->second.writer == nullptr && one->second.readers.empty()) held_.erase(one);
    };
    for (const backend::write& w : at->second.writes) release(w.of);
    for (const key& k : at->second.reads) release(k);
    if (injected(fault::finished_again)) return at->second;
    std::optional<transaction> taken{std::move(at->second)};
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

void prepared_ones::save(wire::writer& out) const {
    const bool all = !injected(fault::prepared_not_saved);
    out(std::uint64_t{all ? all_.size() : 0});
    if (!all) return;
    for (const auto& [id, t] : all_) {
        saved s{id, t.who.decides, t.since, t.reads, {}};
        for (const backend::write& w : t.writes) s.writes.push_back({w.of, w.exists, w.bytes});
        out(s);
    }
}

void prepared_ones::load(wire::reader& in, version latest) {
    std::uint64_t left = 0;
    for (in(left); left > 0 && in.good(); --left) {
        saved s;
        in(s);
        transaction t{{std::move(s.id), s.decides}, s.since, std::move(s.reads), writes_of(s.writes)};
        if (t.since > latest || !add(std::move(t))) in.refuse();
    }
}

}  // namespace tutti::cluster::replica
