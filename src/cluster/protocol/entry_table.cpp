#include "cluster/protocol/entry_table.hpp"

namespace tutti::cluster {

object_entry* entry_table::find_in_index(const object_id& id) noexcept {
    const auto at = index_.find(id);
    return at != index_.end() ? at->second : nullptr;
}

// The entry is counted last. So if memory runs out before, the table contains what it contained. The index may keep
// some of the new entries. The next add adds them again, without effect, and truncate and clear remove them.
object_entry& entry_table::add(const object_id& id) {
    object_entry& e = *pool_[size_];
    e.id = id;
    if (size_ == max_scanned) {
        for (std::size_t i = 0; i <= size_; ++i) index_.emplace(pool_[i]->id, pool_[i].get());
    } else if (size_ > max_scanned) {
        index_.emplace(id, &e);
    }
    ++size_;
    return e;
}

void entry_table::truncate(std::size_t kept) noexcept {
    for (; size_ > kept; --size_) {
        if (size_ > max_scanned) index_.erase(pool_[size_ - 1]->id);
    }
    if (size_ <= max_scanned) index_.clear();
}

}  // namespace tutti::cluster
