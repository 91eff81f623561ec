/// @file
/// The B+-tree beneath `ordered_map`.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "tutti/memory.hpp"
#include "tutti/var.hpp"

namespace tutti {

/// A sorted set of elements that transactions read and change. The tree owns its elements.
///
/// The tree is a B+-tree. Only the child pointers in a node ever change, and they are transactional variables. An
/// update copies the leaf and sets one variable. So a look-up reads one variable per level and searches plain memory in
/// between. A binary tree or a skip list reads some 20 variables for 64 Ki elements, with a cache miss at each.
///
/// A node is removed only when it is empty; nodes are never merged. (Johnson, Shasha, "B-Trees with Inserts and
/// Deletes: Why Free-at-Empty Is Better Than Merge-at-Half", J. Computer and System Sciences 47(1), 1993.) A node that
/// overflows at its end stays full, so that ascending insertions fill the nodes. All leaves are at the same depth.
///
/// @tparam Element  has a constant member `key`
template <class Element, class Compare>
class element_tree {
public:
    using key_type = std::remove_const_t<decltype(Element::key)>;

    element_tree() = default;
    explicit element_tree(Compare less) : less_{std::move(less)} {}
    element_tree(const element_tree&) = delete;
    element_tree& operator=(const element_tree&) = delete;
    /// REQUIRES: no transaction can reach the tree.
    ~element_tree() { discard(root_.load()); }

    [[nodiscard]] const Compare& less() const noexcept { return less_; }

    /// Returns the element with that key, or null. The key may have any type that Compare accepts. O(log n).
    template <class K>
    [[nodiscard]] Element* find(tx& t, const K& key) const {
        const node* n = root_.get(t);
        if (n == nullptr) return nullptr;
        while (!n->is_leaf) n = as_inner(n)->children[child_of(as_inner(n), key)].get(t);
        return match(n, slot_of(n, key), key);
    }
    /// Returns the first element, or null if the tree is empty. O(log n).
    [[nodiscard]] Element* first(tx& t) const {
        const node* n = root_.get(t);
        if (n == nullptr) return nullptr;
        while (!n->is_leaf) n = as_inner(n)->children[0].get(t);
        return as_leaf(n)->slots[0].where;
    }
    /// Returns the last element, or null if the tree is empty. O(log n).
    [[nodiscard]] Element* last(tx& t) const {
        const node* n = root_.get(t);
        if (n == nullptr) return nullptr;
        while (!n->is_leaf) n = as_inner(n)->children[n->size - 1].get(t);
        return as_leaf(n)->slots[n->size - 1].where;
    }
    [[nodiscard]] bool empty(tx& t) const { return root_.get(t) == nullptr; }
    /// O(leaves).
    [[nodiscard]] std::size_t size(tx& t) const { return empty(t) ? 0 : size_below(t, root_.get(t)); }

    /// The start of a scan. If `key` is null, the scan starts at the first element.
    struct bound {
        const key_type* key = nullptr;
        bool above = false;  ///< true: excludes the key itself
    };
    /// Calls f(Element&) in order until `f` returns false. `f` may remove the element for which it is called.
    template <std::predicate<Element&> F>
    void scan(tx& t, const bound& from, const F& f) const {
        if (const node* const n = root_.get(t)) scan_below(t, n, from, f);
    }

    /// Inserts an element. If the key exists already, returns its element and changes nothing. Otherwise inserts the
    /// element that `make(made)` returns, and returns null. `make` must allocate the element through `made`, which
    /// destroys the element if the insertion fails. O(log n).
    ///
    /// Because the function makes all new nodes before it sets one variable, a call that throws has no effect.
    template <class F>
    Element* put(tx& t, const key_type& key, const F& make) {
        edit e{t};
        if (!empty(t)) {
            if (Element* const there = put_below(t, root_, key, make, e)) return there;
            if (e.right != nullptr) {
                auto* const above = e.made.template make<inner>(2u);
                above->borders[0] = e.border;
                above->children[0].set(t, e.left);
                above->children[1].set(t, e.right);
                e.replace(root_, above);
            }
        } else {
            e.replace(root_, make_leaf(e, {{slot_for(*make(e.made))}}));
        }
        e.apply(t, 0);
        return nullptr;
    }
    /// Removes the element with that key and returns it, or returns null. Calls `before(Element&)` before any change.
    /// The caller must destroy the element; the function has reserved log space for this. O(log n).
    template <class K, class F>
    Element* remove(tx& t, const K& key, const F& before) {
        if (empty(t)) return nullptr;
        edit e{t};
        bool emptied = false;
        Element* const out = remove_below(t, root_, key, before, e, emptied);
        if (out == nullptr) return nullptr;
        if (emptied) e.replace(root_, nullptr);
        if (e.link == &root_) {
            for (node* top = e.fresh; top != nullptr && !top->is_leaf && top->size == 1; e.fresh = top) {
                e.drop(top);
                top = as_inner(top)->children[0].get(t);
            }
        }
        e.apply(t, 1);
        return out;
    }
    template <class K>
    Element* remove(tx& t, const K& key) {
        return remove(t, key, [](Element&) {});
    }

    /// Destroys all elements. O(n).
    void clear(tx& t) {
        node* const top = root_.get(t);
        if (top == nullptr) return;
        detail::reserve(t, 2, count_below(t, top));
        root_.set(t, nullptr);
        destroy_below(t, top);
    }

private:
    /// Nodes contain keys that are cheap to copy, and pointers to all other keys, so that an update copies few keys.
    static constexpr bool cheap_keys = std::is_trivially_copyable_v<key_type> &&
                                       std::is_nothrow_default_constructible_v<key_type> && sizeof(key_type) <= 16;
    using stored_key = std::conditional_t<cheap_keys, key_type, const key_type*>;
    static stored_key stored(const key_type& key) noexcept {
        if constexpr (cheap_keys) return key;
        else return &key;
    }
    static const key_type& key_of(const stored_key& k) noexcept {
        if constexpr (cheap_keys) return k;
        else return *k;
    }

    static constexpr std::size_t leaf_capacity = 15, inner_capacity = 16;
    /// Limit of the number of levels. The tree gains a level when an inner node overflows. Each level needs at least
    /// eight times as many insertions as the level before it, so 22 levels need 2^64 insertions.
    static constexpr std::size_t max_levels = 24;

    struct slot {
        stored_key key;
        Element* where;
    };
    struct node {
        bool is_leaf;
        std::size_t size;  // number of slots or children; never 0
    };
    struct leaf : node {
        explicit leaf(std::span<const slot> from) noexcept : node{true, from.size()} {
            std::ranges::copy(from, slots.begin());
        }
        std::array<slot, leaf_capacity> slots;
    };
    /// An inner node. All keys of children[i] are below borders[i], and all keys of children[i + 1] are not. If borders
    /// are pointers, the tree owns their keys.
    struct inner : node {
        explicit inner(std::size_t n) noexcept : node{false, n} {}
        std::array<stored_key, inner_capacity - 1> borders;
        std::array<var<node*>, inner_capacity> children{};
    };
    /// A planned update: one variable to set, and the replaced nodes to destroy.
    struct edit {
        explicit edit(tx& t) noexcept : made{t} {}

        void replace(var<node*>& in, node* by) noexcept {
            link = &in;
            fresh = by;
        }
        void drop(node* n) noexcept { old[dropped++] = n; }
        /// Executes the update. First reserves log space, also for `more` objects that the caller destroys. After the
        /// reservation, the update cannot fail.
        void apply(tx& t, std::size_t more) {
            detail::reserve(t, 1, dropped + 1 + more);
            link->set(t, fresh);
            made.keep();
            for (std::size_t i = 0; i < dropped; ++i) destroy_node(t, old[i]);
            if (old_border) drop_border(t, *old_border);
        }

        // The largest update makes one element, two leaves and a border, two inner nodes per level, and a new root.
        detail::unlinked<5 + 2 * max_levels> made;
        var<node*>* link = nullptr;
        node* fresh = nullptr;
        std::array<node*, 2 * max_levels + 1> old;  // the nodes on the path to the leaf, and roots with one child
        std::size_t dropped = 0;
        std::optional<stored_key> old_border;
        // The two parts of a node that overflowed, and their border, until the parent node is replaced.
        node* left = nullptr;
        node* right = nullptr;
        stored_key border{};
    };

    static slot slot_for(Element& e) noexcept { return {stored(e.key), &e}; }
    static const leaf* as_leaf(const node* n) noexcept { return static_cast<const leaf*>(n); }
    static const inner* as_inner(const node* n) noexcept { return static_cast<const inner*>(n); }
    static inner* as_inner(node* n) noexcept { return static_cast<inner*>(n); }
    static std::span<const slot> slots_of(const node* n) noexcept { return {as_leaf(n)->slots.data(), n->size}; }

    template <class K>
    std::size_t child_of(const inner* n, const K& key) const {
        const std::span borders{n->borders.data(), n->size - 1};
        const auto above = [this](const K& k, const stored_key& border) { return less_(k, key_of(border)); };
        return static_cast<std::size_t>(std::upper_bound(borders.begin(), borders.end(), key, above) - borders.begin());
    }
    /// Returns the index of the first slot whose key is not below `key`.
    template <class K>
    std::size_t slot_of(const node* n, const K& key) const {
        const auto slots = slots_of(n);
        const auto below = [this](const slot& s, const K& k) { return less_(key_of(s.key), k); };
        return static_cast<std::size_t>(std::lower_bound(slots.begin(), slots.end(), key, below) - slots.begin());
    }
    /// Returns the element in slot `at`, which slot_of returned, if it has that key. Returns null otherwise.
    template <class K>
    Element* match(const node* n, std::size_t at, const K& key) const {
        if (at == n->size) return nullptr;
        const slot& s = as_leaf(n)->slots[at];
        return less_(key, key_of(s.key)) ? nullptr : s.where;
    }

    static leaf* make_leaf(edit& e, std::span<const slot> from) { return e.made.template make<leaf>(from); }
    static stored_key make_border(edit& e, const slot& s) {
        if constexpr (cheap_keys) return s.key;
        else return e.made.template make<key_type>(*s.key);
    }
    static void destroy_node(tx& t, node* n) {
        if (n->is_leaf) detail::destroy_value<slot>(t, static_cast<leaf*>(n));
        else tutti::destroy(t, as_inner(n));
    }
    static void drop_border(tx& t, const stored_key& border) {
        if constexpr (!cheap_keys) detail::destroy_value<key_type>(t, border);
    }

    template <class F>
    Element* put_below(tx& t, var<node*>& link, const key_type& key, const F& make, edit& e) {
        node* const old = link.get(t);
        if (!old->is_leaf) {
            const std::size_t child = child_of(as_inner(old), key);
            Element* const there = put_below(t, as_inner(old)->children[child], key, make, e);
            if (e.right != nullptr) widen(t, link, as_inner(old), child, e);
            return there;
        }
        const std::size_t at = slot_of(old, key);
        if (Element* const there = match(old, at, key)) return there;
        const slot fresh = slot_for(*make(e.made));
        if (at == leaf_capacity) {
            e.border = make_border(e, fresh);
            e.left = old;
            e.right = make_leaf(e, {&fresh, 1});
            return nullptr;
        }
        std::array<slot, leaf_capacity + 1> all;
        const auto from = slots_of(old);
        const auto gap = std::ranges::copy(from.first(at), all.begin()).out;
        *gap = fresh;
        const std::span<const slot> full{all.begin(), std::ranges::copy(from.subspan(at), gap + 1).out};
        const std::size_t left = full.size() <= leaf_capacity ? full.size() : full.size() / 2;
        e.left = make_leaf(e, full.first(left));
        e.drop(old);
        if (left == full.size()) {
            e.replace(link, e.left);
        } else {
            e.border = make_border(e, full[left]);
            e.right = make_leaf(e, full.subspan(left));
        }
        return nullptr;
    }
    /// Replaces `old` by a node in which the two parts of `child` take the place of that child.
    static void widen(tx& t, var<node*>& link, inner* old, std::size_t child, edit& e) {
        std::array<stored_key, inner_capacity> borders;
        std::array<node*, inner_capacity + 1> children;
        std::size_t n = 0;
        for (std::size_t i = 0; i < old->size; ++i) {
            if (i != 0) borders[n - 1] = old->borders[i - 1];
            children[n++] = i == child ? e.left : old->children[i].get(t);
            if (i != child) continue;
            borders[n - 1] = e.border;
            children[n++] = e.right;
        }
        const bool at_end = child + 1 == old->size;
        const std::size_t left = n <= inner_capacity ? n : at_end ? inner_capacity : n / 2;
        e.left = make_inner(t, e, std::span{children}.first(left), borders);
        e.right = nullptr;
        e.drop(old);
        if (left == n) return e.replace(link, e.left);
        e.border = borders[left - 1];
        e.right = make_inner(t, e, std::span{children}.subspan(left, n - left), std::span{borders}.subspan(left));
    }
    /// Makes an inner node. Copies only as many borders as the children need.
    static inner* make_inner(tx& t, edit& e, std::span<node* const> children, std::span<const stored_key> borders) {
        auto* const made = e.made.template make<inner>(children.size());
        std::ranges::copy(borders.first(children.size() - 1), made->borders.begin());
        for (std::size_t i = 0; i < children.size(); ++i) made->children[i].set(t, children[i]);
        return made;
    }

    /// Removes the element below `link`. Sets `emptied` if no element is left below `link`.
    template <class K, class F>
    Element* remove_below(tx& t, var<node*>& link, const K& key, const F& before, edit& e, bool& emptied) {
        node* const old = link.get(t);
        if (!old->is_leaf) {
            const std::size_t child = child_of(as_inner(old), key);
            Element* const out = remove_below(t, as_inner(old)->children[child], key, before, e, emptied);
            if (emptied) emptied = narrow(t, link, as_inner(old), child, e);
            return out;
        }
        const std::size_t at = slot_of(old, key);
        Element* const out = match(old, at, key);
        if (out == nullptr) return nullptr;
        before(*out);
        std::array<slot, leaf_capacity> rest;
        const auto from = slots_of(old);
        const auto gap = std::ranges::copy(from.first(at), rest.begin()).out;
        const std::span<const slot> left{rest.begin(), std::ranges::copy(from.subspan(at + 1), gap).out};
        e.drop(old);
        emptied = left.empty();
        if (!emptied) e.replace(link, make_leaf(e, left));
        return out;
    }
    /// Replaces `old` by a node without child `child`. Returns true if `old` has no other child.
    static bool narrow(tx& t, var<node*>& link, inner* old, std::size_t child, edit& e) {
        e.drop(old);
        if (old->size == 1) return true;
        const std::size_t border = child == 0 ? 0 : child - 1;
        e.old_border = old->borders[border];
        std::array<stored_key, inner_capacity> borders;
        std::array<node*, inner_capacity> children;
        std::size_t n = 0, b = 0;
        for (std::size_t i = 0; i < old->size; ++i) {
            if (i != child) children[n++] = old->children[i].get(t);
            if (i != border && i + 1 != old->size) borders[b++] = old->borders[i];
        }
        e.replace(link, make_inner(t, e, std::span{children}.first(n), borders));
        return false;
    }

    template <class F>
    bool scan_below(tx& t, const node* n, bound from, const F& f) const {
        std::size_t i = 0;
        if (!n->is_leaf) {
            if (from.key != nullptr) i = child_of(as_inner(n), *from.key);
            for (; i < n->size; ++i, from = {}) {
                if (!scan_below(t, as_inner(n)->children[i].get(t), from, f)) return false;
            }
            return true;
        }
        if (from.key != nullptr) {
            i = slot_of(n, *from.key);
            if (from.above && match(n, i, *from.key) != nullptr) ++i;
        }
        // Copies the slots, because the leaf is destroyed if `f` removes an element.
        std::array<Element*, leaf_capacity> elements;
        const std::size_t size = n->size;
        for (std::size_t k = i; k < size; ++k) elements[k] = as_leaf(n)->slots[k].where;
        for (; i < size; ++i) {
            if (!f(*elements[i])) return false;
        }
        return true;
    }
    static std::size_t size_below(tx& t, const node* n) {
        if (n->is_leaf) return n->size;
        std::size_t sum = 0;
        for (std::size_t i = 0; i < n->size; ++i) sum += size_below(t, as_inner(n)->children[i].get(t));
        return sum;
    }

    /// Returns the number of objects that destroy_below destroys.
    static std::size_t count_below(tx& t, const node* n) {
        if (n->is_leaf) return n->size + 1;
        std::size_t sum = 1 + (cheap_keys ? 0 : n->size - 1);
        for (std::size_t i = 0; i < n->size; ++i) sum += count_below(t, as_inner(n)->children[i].get(t));
        return sum;
    }
    /// Destroys everything below `n`, including the elements. O(n).
    static void destroy_below(tx& t, node* n) {
        if (n->is_leaf) {
            for (const slot& s : slots_of(n)) tutti::destroy(t, s.where);
            return destroy_node(t, n);
        }
        inner* const i = as_inner(n);
        for (std::size_t c = 0; c < n->size; ++c) destroy_below(t, i->children[c].get(t));
        for (std::size_t b = 0; b + 1 < n->size; ++b) drop_border(t, i->borders[b]);
        tutti::destroy(t, i);
    }

    static void discard(node* n) {
        if (n == nullptr) return;
        if (n->is_leaf) {
            for (const slot& s : slots_of(n)) delete s.where;
            delete static_cast<leaf*>(n);
            return;
        }
        inner* const i = as_inner(n);
        for (std::size_t c = 0; c < n->size; ++c) discard(i->children[c].load());
        if constexpr (!cheap_keys) {
            for (std::size_t b = 0; b + 1 < n->size; ++b) delete i->borders[b];
        }
        delete i;
    }

    var<node*> root_{nullptr};
    [[no_unique_address]] Compare less_;
};

}  // namespace tutti
