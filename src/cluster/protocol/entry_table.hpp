// The objects that an attempt of a transaction has opened, in the order of opening. The table searches up to
// `max_scanned` entries by a scan, and more entries by an index. The table keeps the memory of entries from one attempt
// to the next.
//
// Thread safety: not thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/directory/object_directory.hpp"
#include "wire/message.hpp"

namespace tutti::cluster {

/// An object in a transaction: its state when it was read (TXN1: `valid_at`), and the state that the commit gives it.
struct object_entry : wire::object_view {
    object_id id;
    object_directory::lookup_hint hint;  ///< where this node has found the object, if it is here
    bool in_copy = false;                ///< the object was read in a copy on this node, and is as valid as the copy

    bool written = false;
    bool will_exist = false;
    std::string fresh;                  ///< the new value
    detail::typed_bytes fresh_image{};  ///< the new value if it is copied as it is, and `fresh` is not made yet
    void* object_data = nullptr;        ///< the caller's data for the object
    void* entry_data = nullptr;         ///< the caller's data for this entry, whatever its object
};

class entry_table {
public:
    /// Up to this many entries are searched without the index.
    static constexpr std::size_t max_scanned = 16;

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Returns the number of entries that have memory. The entries from size() on belong to no object.
    [[nodiscard]] std::size_t allocated() const noexcept { return pool_.size(); }
    /// Returns entry number i. REQUIRES: i < allocated()
    [[nodiscard]] object_entry& operator[](std::size_t i) const noexcept { return *pool_[i]; }
    [[nodiscard]] std::span<const std::unique_ptr<object_entry>> all() const noexcept { return {pool_.data(), size_}; }

    /// Returns the object's entry, or null. Valid until the entry is removed. O(1).
    [[nodiscard]] TUTTI_ALWAYS_INLINE object_entry* find(const object_id& id) noexcept {
        if (!uses_scan()) [[unlikely]]
            return find_in_index(id);
        for (std::size_t i = size_; i != 0; --i) {
            if (pool_[i - 1]->id == id) return pool_[i - 1].get();
        }
        return nullptr;
    }
    /// Returns true while there are few enough entries to be searched without the index.
    [[nodiscard]] bool uses_scan() const noexcept { return size_ <= max_scanned; }

    /// Allocates one more entry. @throws std::bad_alloc
    void allocate() { pool_.push_back(std::make_unique<object_entry>()); }
    /// Adds entry number size() to the table, without the index. REQUIRES: size() < allocated(), size() < max_scanned,
    /// and the caller sets the entry's id.
    TUTTI_ALWAYS_INLINE object_entry& add_scanned() noexcept { return *pool_[size_++]; }
    /// Adds entry number size() to the table, for that object. REQUIRES: size() < allocated(). @throws std::bad_alloc
    object_entry& add(const object_id& id);
    /// Removes all entries but the first `kept`.
    void truncate(std::size_t kept) noexcept;
    void clear() noexcept {
        size_ = 0;
        if (!index_.empty()) index_.clear();
    }

private:
    [[nodiscard]] object_entry* find_in_index(const object_id& id) noexcept;

    std::vector<std::unique_ptr<object_entry>> pool_;
    std::size_t size_ = 0;
    std::unordered_map<object_id, object_entry*, object_id_hash> index_;  // not used while uses_scan()
};

}  // namespace tutti::cluster
