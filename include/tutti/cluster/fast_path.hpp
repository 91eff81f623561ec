/// @file
/// Opens objects of the block's own process without a call into the library.
///
/// The first attempt of a block begins as a *fast-path* attempt. An attempt stays on the fast path while it only opens
/// objects by their references. These objects must be small, copied bytewise, and readable by a sequence lock in this
/// process (seqlock_object_base.hpp). The library begins and commits the attempt. Before the attempt does anything
/// else, the library turns it into an ordinary attempt (src/cluster/participant/enlistment.hpp, FST1 to FST4). Until
/// then, only this file records the objects that the attempt opens.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <typeinfo>

#include "tutti/cluster/node.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::cluster::detail {

/// An entry of a fast-path attempt: an object that the attempt has opened, or null, and the slot that receives the
/// object's value.
struct fast_path_object {
    object_id id;
    seqlock_object_base* source = nullptr;
    std::uint64_t word = 0;     ///< the seqlock object's lock word when the object was read
    std::uint64_t version = 0;  ///< the object's version when it was read
    bool written = false;
    // The members below belong to the entry itself. They do not depend on the object that is open in it.
    slot* into = nullptr;
    const std::type_info* type = nullptr;  ///< type of the slot's holder; null: no holder, or the entry is the sentinel
    typed_bytes to{};                      ///< the value in this holder
};

/// A fast-path attempt and its entries. The attempt uses the entries in order. Not thread-safe: the attempt belongs to
/// its context.
class fast_path_attempt : public tutti::detail::layer_data {
public:
    static constexpr std::size_t max_objects = 16;

    explicit fast_path_attempt(const node_impl& of) noexcept : node_{&of} {}
    fast_path_attempt(const fast_path_attempt&) = delete;
    fast_path_attempt& operator=(const fast_path_attempt&) = delete;

    /// Returns the object for t's fast-path attempts, even if none is running. Returns null before t's current attempt
    /// first uses its node.
    [[nodiscard]] TUTTI_ALWAYS_INLINE static fast_path_attempt* of(const tx& t) noexcept {
        return static_cast<fast_path_attempt*>(tutti::detail::access::companion_data(t));
    }
    /// Begins the attempt of block `in`. Blocks that are nested in `in` do not belong to this attempt. The attempt sees
    /// only versions up to `time`.
    void begin(const tutti::detail::frame& in, std::uint64_t time) noexcept {
        block_ = &in;
        time_ = time;
        bits_ = 0;
        next_ = all_.data();
        writes_ = false;
    }
    /// Ends the fast-path attempt, which can then open no more objects.
    void end() noexcept { block_ = nullptr; }
    [[nodiscard]] bool is_running() const noexcept { return block_ != nullptr; }

    /// Opens the object and sets `it` to the object's value. Returns false if the object may be open already, or if
    /// `try_read` fails. Also returns false if the next entry has no holder for a T, or if the attempt must leave the
    /// fast path. O(bytes).
    template <class T, bool Writes>
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool open(const tx& t, const node_impl& n, const object_id& id,
                                                const location_hint& found, T*& it) noexcept {
        seqlock_object_base* const at = found.get();
        if (!may_continue(t, n) || at == nullptr) [[unlikely]]
            return false;
        const std::uint64_t bit = bit_of(*at);
        return (bits_ & bit) == 0 && open_next<T, Writes>(id, *at, bit, it);
    }
    /// Opens the first object, in the same way. REQUIRES: the attempt has just begun, and its node is this reference's
    /// node.
    template <class T, bool Writes>
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool open_first(const object_id& id, seqlock_object_base& at, T*& it) noexcept {
        return open_next<T, Writes>(id, at, bit_of(at), it);
    }
    /// Opens the object as `open` does, but also finds an object that is open already, and creates a missing holder.
    /// O(bytes + objects). Throws std::bad_alloc.
    template <class T, bool Writes>
    [[nodiscard]] bool find_or_open(const tx& t, const node_impl& n, const object_id& id, const location_hint& found,
                                    T*& it) {
        if (!may_continue(t, n)) return false;
        if (fast_path_object* const open = find(id); open != nullptr) {
            auto* const held = as<T>(open->into->value.get());
            if (held == nullptr) return false;
            if constexpr (Writes) open->written = writes_ = true;
            it = &held->value;
            return true;
        }
        seqlock_object_base* const at = found.get();
        if (at == nullptr || next_ == all_.data() + entries_) return false;
        if (as<T>(next_->into->value.get()) == nullptr) {
            next_->type = nullptr;
            next_->into->value = std::make_unique<holder_of<T>>();
            read_holder(*next_);
        }
        return open_next<T, Writes>(id, *at, bit_of(*at), it);
    }
    [[nodiscard]] bool writes() const noexcept { return writes_; }
    [[nodiscard]] std::uint64_t time() const noexcept { return time_; }
    /// Returns the open objects in the order in which they were opened.
    [[nodiscard]] std::span<const fast_path_object> opened() const noexcept { return {all_.data(), next_}; }

    /// Returns the number of entries.
    [[nodiscard]] std::size_t entries() const noexcept { return entries_; }
    /// Adds an entry. REQUIRES: there are fewer than `max_objects` entries, and no fast-path attempt runs.
    void add_entry(slot& into) noexcept { all_[entries_++].into = &into; }
    /// Reads the holders of all slots again, because they may have changed. REQUIRES: no fast-path attempt runs.
    void read_holders() noexcept {
        for (std::size_t i = 0; i != entries_; ++i) read_holder(all_[i]);
    }

private:
    /// Returns one bit for the seqlock object. Different seqlock objects usually have different bits.
    [[nodiscard]] TUTTI_ALWAYS_INLINE static std::uint64_t bit_of(const seqlock_object_base& at) noexcept {
        return std::uint64_t{1} << (reinterpret_cast<std::uintptr_t>(&at) * 0x9e3779b97f4a7c15u >> 58);
    }
    /// Returns true if this attempt uses objects of n, and t's innermost block is the attempt's own block and need not
    /// restart.
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool may_continue(const tx& t, const node_impl& n) const noexcept {
        return node_ == &n && tutti::detail::access::may_continue_in(t, block_);
    }
    [[nodiscard]] fast_path_object* find(const object_id& id) noexcept {
        for (fast_path_object* o = next_; o != all_.data();) {
            if ((--o)->id == id) return o;
        }
        return nullptr;
    }
    static void read_holder(fast_path_object& of) noexcept {
        const value_holder* const held = of.into->value.get();
        of.type = held != nullptr ? &typeid(*held) : nullptr;
        if (held != nullptr) of.to = held->copied();
    }
    /// Opens an object that is not open yet. Returns false if `try_read` fails, or if the next entry has no holder for
    /// a T.
    template <class T, bool Writes>
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool open_next(const object_id& id, seqlock_object_base& at, std::uint64_t bit,
                                                     T*& it) noexcept {
        fast_path_object& o = *next_;
        // Another shared library may have a different type_info for the same type. Objects of that library never match
        // here.
        if (o.type != &typeid(holder_of<T>) || !at.try_read<sizeof(T)>(id, time_, o.to, o.word, o.version)) [[unlikely]]
            return false;
        o.id = id;
        o.source = &at;
        o.written = Writes;
        next_ = &o + 1;
        bits_ |= bit;
        if constexpr (Writes) writes_ = true;
        it = static_cast<T*>(o.to.at);
        return true;
    }

    const node_impl* const node_;
    const tutti::detail::frame* block_ = nullptr;  // null: no fast-path attempt runs
    std::uint64_t time_ = 0;
    // One bit for each open object. Several objects may share a bit. The bit is computed from the seqlock object. If an
    // open object moves to another seqlock object, the version there is larger than time_ (FST4).
    std::uint64_t bits_ = 0;
    fast_path_object* next_ = nullptr;
    bool writes_ = false;
    std::size_t entries_ = 0;
    std::array<fast_path_object, max_objects + 1> all_;  // the last element is a sentinel without a slot
};

/// True if objects of type T can be opened on the fast path.
template <class T>
inline constexpr bool fits_fast_path =
    copies<T>() && sizeof(T) + sizeof(std::uint64_t) <= seqlock_object_base::max_size;

}  // namespace tutti::cluster::detail
