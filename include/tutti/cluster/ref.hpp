/// @file
/// References to objects of a cluster, for use in atomic blocks.
///
///     tutti::cluster::node cluster;
///     tutti::cluster::ref<account> from{cluster, "alice"}, to{cluster, "bob"};
///
///     tutti::atomically([&](tutti::tx& t) {
///         from.write(t).balance -= 10;
///         to.write(t).balance += 10;
/// a local tutti::var commits with the objects
///     });
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "tutti/cluster/fast_path.hpp"
#include "tutti/cluster/node.hpp"

namespace tutti::cluster {

/// Names an object of type T. Copies are cheap and equal.
///
/// The first access of a block to an object may take a round trip and may restart the block. Accesses are possible only
/// inside a block (strong atomicity). Use a block of one statement for a single access.
///
/// All accesses throw node_lost if the object's node is lost, and type_mismatch if the object holds another type. In an
/// irrevocable transaction, an access waits until no other irrevocable block of the cluster runs, and until other
/// commits of the object are done. The object is then reserved for this block until the block's end: other blocks can
/// read the object but not write it. An irrevocable transaction throws usage_error if the block also uses objects of
/// another cluster of nodes.
template <class T>
class ref {
    static_assert(std::is_default_constructible_v<T> && std::is_copy_constructible_v<T>,
                  "tutti::cluster::ref<T> needs a T that can be made and copied: what arrives is read into a new T");

public:
    ref(const node& of, const object_id& id) noexcept : node_{&of.impl()}, name_{id} {}
    /// Names the object by a text. Errors show the first 30 bytes of the text beside the id.
    template <std::convertible_to<std::string_view> Text>
    ref(const node& of, const Text& text) noexcept : node_{&of.impl()}, name_{std::string_view{text}} {}

    /// Returns the object, or null if there is no such object. The pointer is valid until the block ends or writes the
    /// object.
    [[nodiscard]] const T* find(tx& t) const { return open<false>(t); }
    /// Returns the object. Throws no_such_object.
    const T& read(tx& t) const {
        const T* const found = find(t);
        if (found == nullptr) detail::refuse_missing(name_);
        return *found;
    }
    /// Returns the object, which you can change in place until the innermost block ends. A nested block that also
    /// changes the object must call `write` itself. Throws no_such_object.
    T& write(tx& t) const {
        T* const value = open<true>(t);
        if (value == nullptr) detail::refuse_missing(name_);
        return *value;
    }
    /// Creates the object. Throws no_such_object if the object exists already.
    void publish(tx& t, const T& value) const {
        detail::slot& s = detail::open_to_write(t, id(), found_, *node_);
        if (s.exists) detail::refuse_second(name_);
        // The assignment is in place, because an outer block may hold a reference to the value.
        if (auto* const held = detail::as<T>(s.value.get())) held->assign(value);
        else s.value = std::make_unique<detail::holder_of<T>>(value);
        s.decoded = s.exists = s.written = true;
    }
    /// Deletes the object. Returns false if there was no such object.
    bool erase(tx& t) const {
        detail::slot& s = detail::open_to_write(t, id(), found_, *node_);
        if (!s.exists) return false;
        static_cast<void>(value_of(s));  // throws type_mismatch if the object has another type
        s.exists = false;  // keeps the value, because an outer block may hold a reference to it and may be resumed
        s.written = true;
        return true;
    }

    [[nodiscard]] const object_id& id() const noexcept { return name_.id(); }
    [[nodiscard]] detail::node_impl& of() const noexcept { return *node_; }

private:
    /// Opens the object and returns its value; null if there is no such object.
    template <bool Writes>
    TUTTI_ALWAYS_INLINE T* open(tx& t) const {
        if constexpr (detail::fits_fast_path<T>) {
            auto* const fast_path = detail::fast_path_attempt::of(t);
            if (fast_path == nullptr) return open_first<Writes>(t);
            T* it = nullptr;
            if (fast_path->template open<T, Writes>(t, *node_, id(), found_, it)) [[likely]]
                return it;
        }
        return open_by_call<Writes>(t);
    }
    /// Opens the first object of an attempt, and returns its value as `open` does.
    template <bool Writes>
    TUTTI_NOINLINE T* open_first(tx& t) const {
        if (auto* const at = found_.get(); at != nullptr) {
            auto* const fast_path = detail::open_fast_path(t, *node_);
            T* it = nullptr;
            if (fast_path != nullptr && fast_path->template open_first<T, Writes>(id(), *at, it)) return it;
        }
        return open_by_call<Writes>(t);
    }
    template <bool Writes>
    TUTTI_NOINLINE T* open_by_call(tx& t) const {
        if constexpr (detail::fits_fast_path<T>) {
            auto* const fast_path = detail::fast_path_attempt::of(t);
            T* it = nullptr;
            if (fast_path != nullptr && fast_path->template find_or_open<T, Writes>(t, *node_, id(), found_, it))
                return it;
        }
        detail::slot& s =
            Writes ? detail::open_to_write(t, id(), found_, *node_) : detail::open_to_read(t, id(), found_, *node_);
        if (!s.exists) return nullptr;
        if constexpr (Writes) s.written = true;
        return &value_of(s);
    }
    T& value_of(detail::slot& s) const {
        if (!s.decoded || !detail::holds<T>(*s.value)) [[unlikely]]
            return decode(s);
        return static_cast<detail::holder_of<T>&>(*s.value).value;
    }
    TUTTI_NOINLINE T& decode(detail::slot& s) const {
        if (s.decoded) {  // as another type
            std::string bytes;
            s.value->encode(bytes);
            static_cast<void>(detail::decode<T>(name_, bytes));
            detail::refuse_type(name_, typeid(T).name(), "this block has used it as another type");
        }
        auto* held = detail::as<T>(s.value.get());
        if (held == nullptr || !detail::copied(*s.bytes, *held)) {
            s.value = detail::decode<T>(name_, *s.bytes, std::move(s.value));
            held = static_cast<detail::holder_of<T>*>(s.value.get());
        }
        s.decoded = true;
        return held->value;
    }

    detail::node_impl* node_;
    mutable detail::location_hint found_;
    detail::name name_;  // last, so that the members that `open` uses are next to each other
};

/// Opens several objects in one round trip. Later reads and writes find them open. All objects must be of one node.
template <class T, class... Rest>
void prefetch(tx& t, const ref<T>& first, const ref<Rest>&... rest) {
    const std::array<object_id, 1 + sizeof...(Rest)> ids{first.id(), rest.id()...};
    detail::open_together(t, first.of(), ids.data(), ids.size());
}

/// Opens objects of any types, by their names, in one round trip.
inline void prefetch(tx& t, const node& of, std::span<const object_id> ids) {
    if (!ids.empty()) detail::open_together(t, of.impl(), ids.data(), ids.size());
}

/// Opens a list of objects of one type in one round trip.
template <class T>
void prefetch(tx& t, const std::vector<ref<T>>& refs) {
    if (refs.empty()) return;
    std::vector<object_id> ids;
    ids.reserve(refs.size());
    for (const ref<T>& r : refs) ids.push_back(r.id());
    detail::open_together(t, refs.front().of(), ids.data(), ids.size());
}

/// A reference to an object that has been requested and may not have arrived yet. A future has the functions of ref<T>,
/// which wait until the object has arrived. A future is valid for the block or attempt that made it. The next attempt
/// makes a new future.
template <class T>
class future {
public:
    explicit future(const ref<T>& of) noexcept : ref_{of} {}

    [[nodiscard]] const T* find(tx& t) const { return ref_.find(t); }
    const T& get(tx& t) const { return ref_.read(t); }
    T& write(tx& t) const { return ref_.write(t); }

private:
    ref<T> ref_;
};

/// Requests objects as `prefetch` does, but does not wait for them. The function sends one request to each node, and
/// the block continues. The first use of one of these objects, by its future or by any ref<T>, waits for all of them.
/// All objects must be of one node.
///
///     auto [from, to] = prefetch_async(t, alice, bob);
///     const long fee = fee_of(today);  // meanwhile
///     from.write(t).balance -= 10 + fee;
///
/// Only one set of objects is requested at a time: the next call waits for the earlier objects. The first use, which
/// waits, also reports errors and conflicts. The call itself waits if an engine holds the objects, or if the block
/// reserves the objects that it opens. An irrevocable block reserves them, and so does a block whose policy requires
/// it.
template <class... T>
[[nodiscard]] std::tuple<future<T>...> prefetch_async(tx& t, const ref<T>&... refs) {
    static_assert(sizeof...(T) != 0, "prefetch_async asks for one object or more");
    const std::array<object_id, sizeof...(T)> ids{refs.id()...};
    detail::open_ahead(t, std::get<0>(std::tie(refs...)).of(), ids.data(), ids.size());
    return {future<T>{refs}...};
}

/// Requests a list of objects of one type, in the same way.
template <class T>
[[nodiscard]] std::vector<future<T>> prefetch_async(tx& t, const std::vector<ref<T>>& refs) {
    std::vector<object_id> ids;
    std::vector<future<T>> all;
    ids.reserve(refs.size());
    all.reserve(refs.size());
    for (const ref<T>& r : refs) {
        ids.push_back(r.id());
        all.emplace_back(r);
    }
    if (!refs.empty()) detail::open_ahead(t, refs.front().of(), ids.data(), ids.size());
    return all;
}

}  // namespace tutti::cluster
