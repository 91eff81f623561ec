/// @file
/// How a block opens objects of its own process without a call into the library.
///
/// The first attempt of a block is *light* for as long as it does nothing but to open, by their references, small
/// objects that are copied as they are and shown in this process (local.hpp). The library begins it, commits it, and
/// makes it an attempt like any other before it does anything else (src/cluster/enlistment.hpp, L1 to L4); in between
/// this file alone writes down what it opens.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <typeinfo>

#include "tutti/cluster/node.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti::cluster::detail {

/// A place of a light attempt: the object that it has opened there, if it has, and where the value goes.
struct light_object {
    object_id id;
    showcase* seen = nullptr;
    std::uint64_t word = 0;     ///< that the look has found there
    std::uint64_t version = 0;  ///< and the version
    bool written = false;
    // Of the place, whatever object is there.
    slot* into = nullptr;
    const std::type_info* type = nullptr;  ///< of the slot's holder; null: it has none, or the place is none
    image to{};                            ///< what that holds
};

/// A light attempt, and its places, which serve one after the other. It belongs to its context.
class light_attempt {
public:
    static constexpr std::size_t most = 16;

    explicit light_attempt(const node_body& of) noexcept : node_{&of} {}
    light_attempt(const light_attempt&) = delete;
    light_attempt& operator=(const light_attempt&) = delete;

    /// The one that t's attempt is, or was; null: none yet.
    [[nodiscard]] TUTTI_ALWAYS_INLINE static light_attempt* of(const tx& t) noexcept {
        return static_cast<light_attempt*>(tutti::detail::access::at_hand(t));
    }
    /// In that block, and none inside it; it sees no version beyond `time`.
    void begin(const tutti::detail::frame& in, std::uint64_t time) noexcept {
        block_ = &in;
        time_ = time;
        names_ = 0;
        next_ = all_.data();
        writes_ = false;
    }
    /// It opens nothing any more.
    void end() noexcept { block_ = nullptr; }
    [[nodiscard]] bool runs() const noexcept { return block_ != nullptr; }

    /// Opens the object, whose value is `it` then. False: it may be open already, is not at hand, or has no place that
    /// was a T's before; or the attempt cannot go on like that. O(bytes).
    template <class T, bool Writes>
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool open(const tx& t, const node_body& n, const object_id& id, const hint& found,
                                                T*& it) noexcept {
        showcase* const at = found.get();
        if (!goes_on(t, n) || at == nullptr) [[unlikely]]
            return false;
        const std::uint64_t name = name_of(*at);
        return (names_ & name) == 0 && take<T, Writes>(id, *at, name, it);
    }
    /// The same of the first one. REQUIRES: it has just begun, over objects of this one's node.
    template <class T, bool Writes>
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool open_first(const object_id& id, showcase& at, T*& it) noexcept {
        return take<T, Writes>(id, at, name_of(at), it);
    }
    /// The same as open, wherever it has its place, and if it is open. O(bytes + objects). Throws std::bad_alloc.
    template <class T, bool Writes>
    [[nodiscard]] bool find_or_open(const tx& t, const node_body& n, const object_id& id, const hint& found, T*& it) {
        if (!goes_on(t, n)) return false;
        if (light_object* const open = find(id); open != nullptr) {
            auto* const held = as<T>(open->into->value.get());
            if (held == nullptr) return false;
            if constexpr (Writes) open->written = writes_ = true;
            it = &held->value;
            return true;
        }
        showcase* const at = found.get();
        if (at == nullptr || next_ == all_.data() + places_) return false;
        if (as<T>(next_->into->value.get()) == nullptr) {
            next_->type = nullptr;
            next_->into->value = std::make_unique<holder_of<T>>();
            know(*next_);
        }
        return take<T, Writes>(id, *at, name_of(*at), it);
    }
    [[nodiscard]] bool writes() const noexcept { return writes_; }
    [[nodiscard]] std::uint64_t time() const noexcept { return time_; }
    /// In the order in which they were opened.
    [[nodiscard]] std::span<const light_object> opened() const noexcept { return {all_.data(), next_}; }

    /// How many places there are.
    [[nodiscard]] std::size_t places() const noexcept { return places_; }
    /// REQUIRES: fewer than `most`; none runs.
    void add_place(slot& into) noexcept { all_[places_++].into = &into; }
    /// The holders of its slots may be others. REQUIRES: none runs.
    void know_places() noexcept {
        for (std::size_t i = 0; i != places_; ++i) know(all_[i]);
    }

private:
    /// A bit of its own, mostly.
    [[nodiscard]] TUTTI_ALWAYS_INLINE static std::uint64_t name_of(const showcase& at) noexcept {
        return std::uint64_t{1} << (reinterpret_cast<std::uintptr_t>(&at) * 0x9e3779b97f4a7c15u >> 58);
    }
    /// Whether it is over objects of n, and t's innermost block its own, and healthy.
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool goes_on(const tx& t, const node_body& n) const noexcept {
        return node_ == &n && tutti::detail::access::is_undisturbed(t, block_);
    }
    [[nodiscard]] light_object* find(const object_id& id) noexcept {
        for (light_object* o = next_; o != all_.data();) {
            if ((--o)->id == id) return o;
        }
        return nullptr;
    }
    static void know(light_object& of) noexcept {
        const value_holder* const held = of.into->value.get();
        of.type = held != nullptr ? &typeid(*held) : nullptr;
        if (held != nullptr) of.to = held->copied();
    }
    /// Of one that is not open. False: it is not at hand, or there is no place that was a T's before.
    template <class T, bool Writes>
    [[nodiscard]] TUTTI_ALWAYS_INLINE bool take(const object_id& id, showcase& at, std::uint64_t name,
                                                T*& it) noexcept {
        light_object& o = *next_;
        // In another library the type_info of the same type may be another one: there no object is at hand.
        if (o.type != &typeid(holder_of<T>) || !at.see<sizeof(T)>(id, time_, o.to, o.word, o.version)) [[unlikely]]
            return false;
        o.id = id;
        o.seen = &at;
        o.written = Writes;
        next_ = &o + 1;
        names_ |= name;
        if constexpr (Writes) writes_ = true;
        it = static_cast<T*>(o.to.at);
        return true;
    }

    const node_body* const node_;
    const tutti::detail::frame* block_ = nullptr;  // null: none runs
    std::uint64_t time_ = 0;
    // A bit for each object that is open, which others may have, too. It is that of the showcase: another one of the
    // same object has a version beyond time_ (L4).
    std::uint64_t names_ = 0;
    light_object* next_ = nullptr;
    bool writes_ = false;
    std::size_t places_ = 0;
    std::array<light_object, most + 1> all_;  // the last one is no place
};

/// Whether objects of that type may be at hand.
template <class T>
inline constexpr bool may_be_at_hand = copies<T>() && sizeof(T) + sizeof(std::uint64_t) <= showcase::most;

}  // namespace tutti::cluster::detail
