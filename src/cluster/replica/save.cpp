// How a machine is saved:
//
//   "tutti-group" version(1)   the count of commits (8)
//   records: count (8), by ascending keys, each: key, version (8), whether it exists (1), its bytes if it does
//   then the checksum of all that (8)
#include <algorithm>
#include <limits>

#include "cluster/replica/fault.hpp"
#include "cluster/replica/machine.hpp"

namespace tutti::cluster::replica {
namespace {

constexpr std::string_view begins = "tutti-group";
constexpr std::uint8_t format = 1;
constexpr std::size_t checksum_bytes = 8;

}  // namespace

std::string machine::save() const {
    std::vector<const cells::value_type*> sorted;
    sorted.reserve(cells_.size());
    for (const auto& one : cells_) sorted.push_back(&one);
    std::ranges::sort(sorted, {}, [](const auto* one) -> const key& { return one->first; });
    writer out;
    for (const char c : begins) out.number8(static_cast<std::uint8_t>(c));
    out.number8(format);
    out.number64(latest_);
    out.number64(sorted.size());
    for (const auto* one : sorted) {
        const backend::record& r = one->second.now;
        out.text(one->first);
        out.number64(broken(fault::saves_no_versions) ? latest_ : r.at);
        out.number8(r.exists ? 1 : 0);
        if (r.exists) out.text(r.bytes);
    }
    out.number64(checksum(out.written()));
    return out.take();
}

void machine::load(std::string_view saved) {
    if (saved.size() <= begins.size() + checksum_bytes || !saved.starts_with(begins))
        throw backend::refusal{"these bytes are no snapshot of a group"};
    if (static_cast<std::uint8_t>(saved[begins.size()]) != format)
        throw backend::refusal{"the snapshot of the group is of another release: have all members run the same one"};
    const std::string_view summed = saved.substr(0, saved.size() - checksum_bytes);
    if (reader{saved.substr(summed.size())}.number64() != checksum(summed)) {
        throw backend::refusal{
            "the snapshot of the group was damaged: its checksum is another; remove this member, empty its folder, and "
            "let it join anew"};
    }
    reader in{summed.substr(begins.size() + 1)};
    machine fresh{most_};
    fresh.latest_ = fresh.floor_ = in.number64();
    const std::uint64_t records = in.number64();
    for (std::uint64_t i = 0; i < records && in.good(); ++i) {
        key k{in.text()};
        backend::record r;
        r.at = in.number64();
        const std::uint8_t exists = in.number8();
        if (exists > 1) in.fail();
        r.exists = exists == 1;
        if (r.exists) r.bytes = in.text();
        if (!in.good() || r.at > fresh.latest_) in.fail();
        fresh.count(k, r, true);
        if (!fresh.cells_.try_emplace(std::move(k), cell{std::move(r), nullptr}).second) in.fail();
    }
    if (!in.at_end()) throw backend::refusal{"the snapshot of the group says other than it begins to say"};
    cells_ = std::move(fresh.cells_);
    order_.clear();
    latest_ = fresh.latest_;
    floor_ = fresh.floor_;
    holds_ = fresh.holds_;
}

}  // namespace tutti::cluster::replica
