#include "cluster/history.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tutti::cluster::testing {
namespace {

using place = std::pair<object_id, writer_tag>;

std::string name(writer_tag tag, const attempt& a) {
    return (a.committed ? "T" : "t") + std::to_string(tag) + "(client " + std::to_string(a.client) + ")";
}

enum class dependency : std::uint8_t { order_in_time, write_write, write_read, read_write };

struct edge_to {
    std::size_t to;
    dependency kind;
};

/// Returns true if a path leads from `from` to `to` along edges of kind `most` or an earlier kind.
bool leads(const std::vector<std::vector<edge_to>>& after, std::size_t from, std::size_t to, dependency most) {
    std::vector<bool> met(after.size(), false);
    std::vector<std::size_t> open{from};
    while (!open.empty()) {
        const std::size_t i = open.back();
        open.pop_back();
        if (i == to) return true;
        for (const edge_to& e : after[i]) {
            if (e.kind > most || met[e.to]) continue;
            met[e.to] = true;
            open.push_back(e.to);
        }
    }
    return false;
}

/// Returns Adya's name of the gravest anomaly ("Weak Consistency", 1999, sections 3.2 and 4.2). One client's order
/// counts as a dependency. G0: writes alone. G1c: writes and reads. G-single: one anti-dependency. G2: several
/// anti-dependencies.
std::string name_of_cycle(const std::vector<std::vector<edge_to>>& after) {
    const auto closes = [&](dependency kind, dependency way) {
        for (std::size_t i = 0; i < after.size(); ++i) {
            for (const edge_to& e : after[i]) {
                if (e.kind == kind && leads(after, e.to, i, way)) return true;
            }
        }
        return false;
    };
    if (closes(dependency::write_write, dependency::write_write)) return "G0 (dirty write)";
    if (closes(dependency::write_read, dependency::write_read)) return "G1c (circular information flow)";
    if (closes(dependency::read_write, dependency::write_read)) return "G-single (read skew)";
    return "G2 (write skew)";
}

}  // namespace

void history::settle_doubts() {
    for (const attempt& a : attempts_) {
        for (const seen& s : a.reads) {
            if (!s.exists || s.tag == 0 || s.tag > attempts_.size()) continue;
            attempt& writer = attempts_[s.tag - 1];
            writer.committed = writer.committed || writer.maybe;
        }
    }
}

std::string history::judge() const {
    // Maps each object and version to its writer. A read of an absent object has no tag. The node may have forgotten
    // this object and another one that was erased later. The read then may have the version of that later erasure.
    std::map<std::pair<object_id, std::uint64_t>, writer_tag> writers;
    for (std::size_t i = 0; i < attempts_.size(); ++i) {
        // The version of a commit whose answer was lost is unknown.
        if (!attempts_[i].committed || attempts_[i].version == 0) continue;
        for (const object_id& id : attempts_[i].writes) writers[{id, attempts_[i].version}] = i + 1;
    }
    // Maps an object and a return to the writer of the value that the return ended. Objects without such a value are
    // not in the map.
    std::map<place, writer_tag> ended;
    std::vector<std::pair<writer_tag, writer_tag>> extra;
    const auto writer_of = [&](const seen& s, writer_tag& tag) {
        tag = s.tag;
        if (s.exists) {
            if (tag == 0 || tag > attempts_.size() || !attempts_[tag - 1].committed) return false;
            return std::ranges::find(attempts_[tag - 1].writes, s.id) != attempts_[tag - 1].writes.end();
        }
        tag = 0;
        if (s.version == 0) return true;
        if (!returns_.empty()) {
            // The read belongs to the latest return at or before its version that ended a value of the object.
            for (const auto& [version, by] : returns_) {
                const auto at = ended.find({s.id, by});
                if (version <= s.version && at != ended.end()) tag = by;
            }
            return true;
        }
        const auto later = writers.upper_bound({s.id, s.version});
        if (later == writers.begin() || std::prev(later)->first.first != s.id) return true;  // never written
        tag = std::prev(later)->second;
        return std::ranges::find(attempts_[tag - 1].erased, s.id) != attempts_[tag - 1].erased.end();
    };

    // The order of the writes of each object. Every writer has read the value that it replaces.
    std::map<place, writer_tag> next;
    const auto last_after = [&](const object_id& id, writer_tag tag) {
        for (auto at = next.find({id, tag}); at != next.end(); at = next.find({id, tag})) tag = at->second;
        return tag;
    };
    // A read of an object that a rejoin has ended follows that rejoin, so the rejoins are processed in order.
    std::vector<std::pair<std::uint64_t, writer_tag>> rounds{returns_.begin(), returns_.end()};
    rounds.emplace_back(~std::uint64_t{0}, 0);
    std::uint64_t since = 0;
    for (const auto& [until, by] : rounds) {
        for (std::size_t i = 0; i < attempts_.size(); ++i) {
            const attempt& a = attempts_[i];
            for (const seen& s : a.reads) {
                const std::uint64_t sees = s.exists ? 0 : s.version;
                if (sees < since || sees >= until) continue;
                writer_tag tag = 0;
                if (!writer_of(s, tag))
                    return name(i + 1, a) +
                           " read what no transaction has committed: G1a (aborted read) or G1b (intermediate read)";
                if (!a.committed || std::ranges::find(a.writes, s.id) == a.writes.end()) continue;
                const auto [at, fresh] = next.try_emplace({s.id, tag}, i + 1);
                if (!fresh) {
                    return "lost update: " + name(i + 1, a) + " and " + name(at->second, attempts_[at->second - 1]) +
                           " replace the same value";
                }
            }
        }
        since = until;
        if (by == 0) continue;
        const auto later = returns_.upper_bound(until);
        const std::uint64_t replaced = later != returns_.end() ? later->first : ~std::uint64_t{0};
        for (const attempt& a : attempts_) {
            for (const seen& s : a.reads) {
                if (s.exists || s.version < until || s.version >= replaced || ended.contains({s.id, by})) continue;
                writer_tag from = 0;
                for (const auto& [version, earlier] : returns_) {
                    if (version < until && ended.contains({s.id, earlier})) from = earlier;
                }
                const writer_tag last = last_after(s.id, from);
                if (last == from) continue;
                ended[{s.id, by}] = last;
                next[{s.id, last}] = by;
            }
        }
    }
    for (const auto& [of, last] : ended) {
        const auto [id, by] = of;
        extra.emplace_back(last, by);
    }

    std::vector<std::vector<edge_to>> after(attempts_.size());
    std::vector<unsigned> before(attempts_.size(), 0);
    const auto edge = [&](writer_tag from, writer_tag to, dependency kind) {
        if (from == 0 || to == 0 || from == to) return;
        after[from - 1].push_back({to - 1, kind});
        ++before[to - 1];
    };
    for (const auto& [from, to] : extra) edge(from, to, dependency::write_write);
    std::map<unsigned, writer_tag> latest;
    for (std::size_t i = 0; i < attempts_.size(); ++i) {
        const attempt& a = attempts_[i];
        writer_tag& mine = latest[a.client];
        edge(mine, i + 1, dependency::order_in_time);
        mine = i + 1;
        for (std::size_t j = 0; j < attempts_.size() && a.begun != 0; ++j) {
            if (attempts_[j].ended != 0 && attempts_[j].ended < a.begun) edge(j + 1, i + 1, dependency::order_in_time);
        }
        for (const seen& s : a.reads) {
            writer_tag tag = 0;
            writer_of(s, tag);
            const bool writes_it = a.committed && std::ranges::find(a.writes, s.id) != a.writes.end();
            edge(tag, i + 1, writes_it ? dependency::write_write : dependency::write_read);
            const auto overwriter = next.find({s.id, tag});
            if (overwriter != next.end())
                edge(i + 1, overwriter->second, writes_it ? dependency::write_write : dependency::read_write);
        }
    }
    // Repeatedly removes every node without a predecessor. If any node remains, the graph contains a cycle.
    std::vector<std::size_t> free;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] == 0) free.push_back(i);
    }
    while (!free.empty()) {
        const std::size_t i = free.back();
        free.pop_back();
        ++taken;
        for (const edge_to& e : after[i]) {
            if (--before[e.to] == 0) free.push_back(e.to);
        }
    }
    if (taken == attempts_.size()) return {};
    std::string cycle = name_of_cycle(after) + ": no order explains these attempts:";
    for (std::size_t i = 0; i < before.size() && cycle.size() < 400; ++i) {
        if (before[i] != 0) cycle += " " + name(i + 1, attempts_[i]);
    }
    return cycle;
}

}  // namespace tutti::cluster::testing
