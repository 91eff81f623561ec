#include "cluster/recording.hpp"

#include <algorithm>
#include <cstring>

namespace tutti::cluster::testing {

std::string bytes_of(writer_tag tag) { return {reinterpret_cast<const char*>(&tag), sizeof tag}; }

writer_tag tag_of(const std::string& bytes) {
    writer_tag tag = 0;
    std::memcpy(&tag, bytes.data(), std::min(bytes.size(), sizeof tag));
    return tag;
}

void recording::saw(const object_id& id) {
    std::vector<seen>& reads = entry_in_history().reads;
    if (std::ranges::find(reads, id, &seen::id) != reads.end()) return;
    const object_entry& e = *work_.find(id);
    reads.push_back({e.id, e.exists, e.version, tag_of(e.bytes)});
}

void recording::plan_write(const object_id& id, bool exists) {
    if (std::ranges::find(planned_, id, &planned_write::id) == planned_.end()) planned_.push_back({id, exists});
}

void recording::write_as_planned() {
    asks_ = true;
    attempt& a = entry_in_history();
    for (const planned_write& w : planned_) {
        object_entry& e = *work_.find(w.id);
        e.written = true;
        e.will_exist = w.exists;
        e.fresh = w.exists ? bytes_of(tag_) : std::string{};
        a.writes.push_back(w.id);
        if (!w.exists) a.erased.push_back(w.id);
    }
}

void recording::open_block(unsigned first, unsigned last, bool checkpoint) {
    const unsigned most = open_.empty() ? last : open_.back().last;
    open_.push_back({first, checkpoint ? most : std::min(last, most), checkpoint, work_.entries().size(),
                     entry_in_history().reads.size(), planned_.size()});
}

protocol_status recording::end_blocks(unsigned step, std::uint64_t now) {
    protocol_status o = protocol_status::good;
    while (o == protocol_status::good && !open_.empty() && open_.back().last == step) {
        if (open_.back().checkpoint) o = work_.extend_snapshot(now, true);
        if (o == protocol_status::good) open_.pop_back();
    }
    return o;
}

std::optional<unsigned> recording::go_back() {
    if (!work_.valid_prefix()) return std::nullopt;
    while (!open_.empty() && open_.back().opened > *work_.valid_prefix()) open_.pop_back();
    if (open_.empty()) return std::nullopt;
    const block& to = open_.back();
    work_.roll_back_to(to.opened);
    planned_.resize(to.writes);
    tag_ = history_.go_on(tag_, to.reads);
    return to.first;
}

bool is_as_it_was_read(const distributed_transaction& work, std::span<const std::unique_ptr<protocol_node>> nodes) {
    return std::ranges::all_of(work.entries(), [&](const auto& e) {
        return std::ranges::any_of(nodes, [&](const auto& s) {
            wire::object_view now;
            s->objects.read(e->id, now);
            return now.where == wire::lookup_result::here && now.exists == e->exists &&
                   (now.version == e->version || !e->exists);
        });
    });
}

}  // namespace tutti::cluster::testing
