/// @file
/// References to objects of a cluster, for use in atomic blocks.
///
///     tutti::cluster::node cluster;
///     tutti::cluster::ref<account> from{cluster, "alice"}, to{cluster, "bob"};
///
///     tutti::atomically([&](tutti::tx& t) {
///         from.write(t).balance -= 10;
///         to.write(t).balance += 10;
///         moved.set(t, moved.get(t) + 1);     // a local tutti::var commits with them
///     });
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "tutti/cluster/light.hpp"
#include "tutti/cluster/node.hpp"

namespace tutti::cluster {

/// Names an object of type T. Copies are cheap and equal.
///
/// Every call of a block that has not opened the object yet may take a round trip, and may restart the block. Outside
/// of a block there is no access (strong atomicity): a single access is a block of one.
///
/// All of them throw node_lost if the object's node is gone, and type_mismatch if it holds another type. In an
/// irrevocable transaction they wait until no other irrevocable block of the cluster runs, and for as long as others
/// commit the object; then it is this block's until its end, but for readers. There they throw usage_error if the block
/// uses objects of another cluster of nodes, too.
template <class T>
class ref {
    static_assert(std::is_default_constructible_v<T> && std::is_copy_constructible_v<T>,
                  "tutti::cluster::ref<T> needs a T that can be made and copied: what arrives is read into a new T");

public:
    ref(const node& of, const object_id& id) noexcept : node_{&of.body()}, name_{id} {}
    /// By a text, whose first 30 bytes stand in errors beside the id.
    template <std::convertible_to<std::string_view> Text>
    ref(const node& of, const Text& text) noexcept : node_{&of.body()}, name_{std::string_view{text}} {}

    /// The object, or null if there is none. Valid until the block ends, or writes the object.
    [[nodiscard]] const T* find(tx& t) const { return open<false>(t); }
    /// The object. Throws no_such_object.
    const T& read(tx& t) const {
        const T* const found = find(t);
        if (found == nullptr) detail::refuse_missing(name_);
        return *found;
    }
    /// The object, to be changed in place until the innermost block ends; a block inside it that changes it, too, must
    /// call write itself. Throws no_such_object.
    T& write(tx& t) const {
        T* const value = open<true>(t);
        if (value == nullptr) detail::refuse_missing(name_);
        return *value;
    }
    /// Makes it exist. Throws no_such_object if it does already.
    void publish(tx& t, const T& value) const {
        detail::slot& s = detail::open_to_write(t, id(), found_, *node_);
        if (s.exists) detail::refuse_second(name_);
        // In place: a block around this one may hold a reference to it.
        if (auto* const held = detail::as<T>(s.value.get())) held->assign(value);
        else s.value = std::make_unique<detail::holder_of<T>>(value);
        s.decoded = s.exists = s.written = true;
    }
    /// False if there was none.
    bool erase(tx& t) const {
        detail::slot& s = detail::open_to_write(t, id(), found_, *node_);
        if (!s.exists) return false;
        static_cast<void>(value_of(s));  // which refuses one of another type
        s.exists = false;  // the value stays: a block around this one may hold a reference to it, and be gone back to
        s.written = true;
        return true;
    }

    [[nodiscard]] const object_id& id() const noexcept { return name_.id(); }
    [[nodiscard]] detail::node_body& of() const noexcept { return *node_; }

private:
    /// The object, opened; null if there is none.
    template <bool Writes>
    TUTTI_ALWAYS_INLINE T* open(tx& t) const {
        if constexpr (detail::may_be_at_hand<T>) {
            auto* const light = detail::light_attempt::of(t);
            if (light == nullptr) return open_first<Writes>(t);
            T* it = nullptr;
            if (light->template open<T, Writes>(t, *node_, id(), found_, it)) [[likely]]
                return it;
        }
        return open_slowly<Writes>(t);
    }
    /// The same of the first object that the attempt opens.
    template <bool Writes>
    TUTTI_NOINLINE T* open_first(tx& t) const {
        if (auto* const at = found_.get(); at != nullptr) {
            auto* const light = detail::open_lightly(t, *node_);
            T* it = nullptr;
            if (light != nullptr && light->template open_first<T, Writes>(id(), *at, it)) return it;
        }
        return open_slowly<Writes>(t);
    }
    template <bool Writes>
    TUTTI_NOINLINE T* open_slowly(tx& t) const {
        if constexpr (detail::may_be_at_hand<T>) {
            auto* const light = detail::light_attempt::of(t);
            T* it = nullptr;
            if (light != nullptr && light->template find_or_open<T, Writes>(t, *node_, id(), found_, it)) return it;
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

    detail::node_body* node_;
    mutable detail::hint found_;
    detail::name name_;  // last, so that what opens it lies together
};

/// Opens several objects in one round trip; the reads and writes that follow find them here. All are of one node.
template <class T, class... Rest>
void prefetch(tx& t, const ref<T>& first, const ref<Rest>&... rest) {
    const std::array<object_id, 1 + sizeof...(Rest)> ids{first.id(), rest.id()...};
    detail::open_together(t, first.of(), ids.data(), ids.size());
}

/// The same for objects of any types, by their names.
inline void prefetch(tx& t, const node& of, std::span<const object_id> ids) {
    if (!ids.empty()) detail::open_together(t, of.body(), ids.data(), ids.size());
}

/// The same for a list of one type.
template <class T>
void prefetch(tx& t, const std::vector<ref<T>>& refs) {
    if (refs.empty()) return;
    std::vector<object_id> ids;
    ids.reserve(refs.size());
    for (const ref<T>& r : refs) ids.push_back(r.id());
    detail::open_together(t, refs.front().of(), ids.data(), ids.size());
}

/// An object that has been asked for, and may not have come yet. Its functions wait for it, and are those of ref<T>.
/// Valid for as long as the block, or the attempt, that it was made in: another attempt asks anew.
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

/// As prefetch, but does not wait: the questions are on their way, one to each node, and the block goes on; the first
/// use of one of the objects, by its future or any ref<T>, waits for all of them. All are of one node.
///
///     auto [from, to] = prefetch_async(t, alice, bob);
///     const long fee = fee_of(today);  // meanwhile
///     from.write(t).balance -= 10 + fee;
///
/// One set of objects is under way at a time: the next call waits for those before it. Errors, and conflicts, are those
/// of the use that waits. Blocks that keep others from what they open (irrevocable ones, and those that assert
/// themselves by their policy), and objects of an engine, are waited for at once.
template <class... T>
[[nodiscard]] std::tuple<future<T>...> prefetch_async(tx& t, const ref<T>&... refs) {
    static_assert(sizeof...(T) != 0, "prefetch_async asks for one object or more");
    const std::array<object_id, sizeof...(T)> ids{refs.id()...};
    detail::open_ahead(t, std::get<0>(std::tie(refs...)).of(), ids.data(), ids.size());
    return {future<T>{refs}...};
}

/// The same for a list of one type.
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
