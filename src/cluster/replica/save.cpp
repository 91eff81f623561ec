// How a machine is saved:
//
//   "tutti-group" version(1)   the count of commits (8)
//   records: count (8), by ascending keys, each: key, version (8), whether it exists (1), its bytes if it does
//   prepared transactions: count (8), by ascending ids, each: id, the number of the group that decides (8), the state
//     that it was prepared in (8), the keys that it only reads: count (4), each key; its writes as in an entry
//   then the checksum of all that (8)
//
// Version 1 had no prepared ones; what it wrote is read.
#include <algorithm>

#include "cluster/replica/fault.hpp"
#include "cluster/replica/machine.hpp"
#include "cluster/replica/sealed.hpp"

namespace tutti::cluster::replica {
namespace {

constexpr std::string_view name = "tutti-group";
constexpr std::uint8_t format = 2, oldest_format = 1;

}  // namespace

std::string machine::save() const {
    std::vector<const cells::value_type*> sorted;
    sorted.reserve(cells_.size());
    for (const auto& one : cells_) {
        if (one.second.now.at != 0) sorted.push_back(&one);  // the others are of the window alone (R7)
    }
    std::ranges::sort(sorted, {}, [](const auto* one) -> const key& { return one->first; });
    std::string all = begin_sealed(name, format);
    wire::writer out{all};
    out(latest_);
    out(std::uint64_t{sorted.size()});
    for (const auto* one : sorted) {
        const backend::record& r = one->second.now;
        out(one->first);
        out(broken(fault::saves_no_versions) ? latest_ : r.at);
        out(r.exists);
        if (r.exists) out(r.bytes);
    }
    prepared_.save(out);
    seal(all);
    return all;
}

bool machine::is_whole(std::string_view saved) noexcept {
    std::string_view content;
    std::uint8_t of = 0;
    return open_sealed(saved, name, 0, UINT8_MAX, content, of) == sealed::sound;  // another release's may be whole
}

void machine::load(std::string_view saved) {
    std::string_view content;
    std::uint8_t of = 0;
    switch (open_sealed(saved, name, oldest_format, format, content, of)) {
        case sealed::sound: break;
        case sealed::no_such_thing: throw backend::refusal{"these bytes are no snapshot of a group"};
        case sealed::other_release:
            throw backend::refusal{
                "the snapshot of the group is of another release: have all members run the same one"};
        case sealed::damaged:
            throw backend::refusal{
                "the snapshot of the group was damaged: its checksum is another; remove this member, empty its folder, "
                "and let it join anew"};
    }
    wire::reader in{content};
    machine fresh{most_};
    in(fresh.latest_);
    fresh.floor_ = fresh.latest_;
    std::uint64_t records = 0;
    in(records);
    for (std::uint64_t i = 0; i < records && in.good(); ++i) {
        key k;
        backend::record r;
        in(k);
        in(r.at);
        in(r.exists);
        if (r.exists) in(r.bytes);
        if (r.at > fresh.latest_) in.refuse();
        fresh.count(k, r, true);
        if (!fresh.cells_.try_emplace(std::move(k), cell{std::move(r), 0, nullptr}).second) in.refuse();
    }
    if (of > oldest_format) fresh.prepared_.load(in, fresh.latest_);
    fresh.holds_.prepared = fresh.prepared_.count();
    if (!in.sound()) throw backend::refusal{"the snapshot of the group says other than it begins to say"};
    cells_ = std::move(fresh.cells_);
    prepared_ = std::move(fresh.prepared_);
    order_.clear();
    latest_ = fresh.latest_;
    floor_ = fresh.floor_;
    holds_ = fresh.holds_;
}

}  // namespace tutti::cluster::replica
