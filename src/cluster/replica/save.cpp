// How a state machine is saved:
//
//   "tutti-group" version(1)   the count of commits (8), `absence` (8; state_machine.hpp, RSM3)
//   records: count (8), each once in any order (`save` has ascending keys): key, version (8), whether it exists (1),
//     its bytes if it does
//   prepared transactions: count (8), by ascending ids, each: id, the number of the group that decides (8), the state
//     that it was prepared in (8), the keys that it only reads: count (4), each key; its writes as in an entry
//   then the checksum of all that (8)
//
// Version 1 had no prepared transactions, and version 2 no `absence`. Both are read.
#include <algorithm>
#include <utility>

#include "cluster/replica/checksummed.hpp"
#include "cluster/replica/fault_injection.hpp"
#include "cluster/replica/state_machine.hpp"

namespace tutti::cluster::replica {
namespace {

constexpr std::string_view name = "tutti-group";
constexpr std::uint8_t format = 3, oldest_format = 1, first_with_prepared = 2, first_with_absence = 3;

void write_record(wire::writer& out, const key& k, const backend::record& r, version latest) {
    out(k);
    out(injected(fault::saves_no_versions) ? latest : r.at);
    out(r.exists);
    if (r.exists) out(r.bytes);
}

}  // namespace

std::string state_machine::save() const {
    std::vector<const record_table::value_type*> sorted;
    sorted.reserve(statistics_.objects + statistics_.erased);
    for (const record_table& shard : shards_) {
        for (const auto& one : shard) {
            if (one.second.now.at != 0)
                sorted.push_back(&one);  // other records exist only in the history window (RSM7)
        }
    }
    std::ranges::sort(sorted, {}, [](const auto* one) -> const key& { return one->first; });
    std::string all = begin_checksummed(name, format);
    wire::writer out{all};
    out(latest_);
    out(injected(fault::absence_not_saved) ? 0 : absence());
    out(std::uint64_t{sorted.size()});
    for (const auto* one : sorted) write_record(out, one->first, one->second.now, latest_);
    prepared_.save(out);
    finish_checksummed(all);
    return all;
}

void state_machine::begin_image() {
    auto fresh = std::make_unique<image>();
    fresh->number = ++images_;
    fresh->front = begin_checksummed(name, format);
    wire::writer front{fresh->front}, back{fresh->back};
    front(latest_);
    front(injected(fault::absence_not_saved) ? 0 : absence());
    front(std::uint64_t{statistics_.objects + statistics_.erased});
    prepared_.save(back);
    image_ = std::move(fresh);
}

bool state_machine::next_piece(std::size_t max_shards, std::size_t max_bytes, std::string& piece) {
    image& i = *image_;
    const std::size_t end = piece.size() + max_bytes;
    piece += std::exchange(i.front, {});
    wire::writer out{piece};
    for (; i.next < shard_count && max_shards > 0 && piece.size() < end; ++i.next, --max_shards) {
        for (const auto& [k, c] : shards_[i.next]) {
            if (c.image != i.number && c.now.at != 0) write_record(out, k, c.now, latest_);
        }
    }
    for (const auto& [k, r] : std::exchange(i.saved, {})) write_record(out, k, r, latest_);
    if (i.next < shard_count) return false;
    piece += i.back;
    image_.reset();
    return true;
}

void state_machine::save_for_image(const key& k, versioned_record& c) {
    if (image_ == nullptr || c.image == image_->number) return;
    // A shard that was written already contains the record. A shard that is written later skips the record, because its
    // image number is current.
    if (c.now.at != 0 && shard_of(k) >= image_->next && !injected(fault::image_of_later_state))
        image_->saved.emplace_back(k, c.now);
    c.image = image_->number;
}

bool state_machine::is_complete(std::string_view saved) noexcept {
    std::string_view content;
    std::uint8_t of = 0;
    return read_checksummed(saved, name, 0, UINT8_MAX, content, of) ==
           checksum_result::valid;  // the snapshot of another release may be complete
}

void state_machine::load(std::string_view saved) {
    std::string_view content;
    std::uint8_t of = 0;
    switch (read_checksummed(saved, name, oldest_format, format, content, of)) {
        case checksum_result::valid: break;
        case checksum_result::other_content: throw backend::engine_error{"the bytes are not a snapshot of a group"};
        case checksum_result::unsupported_format:
            throw backend::engine_error{
                "the snapshot of the group has the format of another release: run one release on all members"};
        case checksum_result::damaged:
            throw backend::engine_error{
                "the snapshot of the group is damaged: its checksum does not match. Remove this member, empty its "
                "folder, and let it join again"};
    }
    wire::reader in{content};
    state_machine fresh{history_limit_, max_erased_};
    in(fresh.latest_);
    fresh.floor_ = fresh.latest_;
    version absence = 0;
    if (of >= first_with_absence) in(absence);
    if (absence > fresh.latest_) in.refuse();
    fresh.absences_.front().is.at = absence;
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
        record_table& shard = fresh.shard(k);
        const auto [one, is_new] = shard.try_emplace(std::move(k), versioned_record{std::move(r), 0, nullptr});
        if (is_new) fresh.count(one->first, one->second.now, true);
        else in.refuse();
    }
    if (of >= first_with_prepared) fresh.prepared_.load(in, fresh.latest_);
    fresh.statistics_.prepared = fresh.prepared_.count();
    if (!in.is_valid()) throw backend::engine_error{"the snapshot of the group is incomplete, or has invalid content"};
    shards_ = std::move(fresh.shards_);
    erased_ = std::move(fresh.erased_);
    absences_ = std::move(fresh.absences_);
    image_.reset();
    prepared_ = std::move(fresh.prepared_);
    order_.clear();
    latest_ = fresh.latest_;
    floor_ = fresh.floor_;
    statistics_ = fresh.statistics_;
}

}  // namespace tutti::cluster::replica
