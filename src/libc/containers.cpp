// Transactional clones of the container functions that are compiled into libstdc++. These functions walk and balance
// trees, link the nodes of lists, and choose the size of hash tables. The headers in headers/bits declare the clones to
// GCC. GCC itself instruments the code of the templates.
//
// A tree that these functions have changed is still a red-black tree of libstdc++, so code outside of transactions can
// continue with the tree. The tree's header node contains pointers to the root, the first and the last node. The
// balancing algorithm is from Cormen, Leiserson, Rivest, Stein, "Introduction to Algorithms", 13.3 and 13.4. All fields
// are read and written through barriers.
#include <list>
#include <map>
#include <unordered_map>

#include "libc/memory.hpp"

namespace tutti::libc {
namespace {

using tree_node = std::_Rb_tree_node_base;
using list_node = std::__detail::_List_node_base;
using rehash_policy = std::__detail::_Prime_rehash_policy;

/// A tree whose nodes the transaction accesses through barriers. A null pointer is a black leaf.
class tree {
public:
    tree(tx& t, tree_node* header) noexcept : t_{t}, header_{header} {}

    using link = tree_node* tree_node::*;
    static constexpr link parent = &tree_node::_M_parent, left = &tree_node::_M_left, right = &tree_node::_M_right;

    [[nodiscard]] tree_node* get(const tree_node* of, link field) { return load_pointer(t_, &(of->*field)); }
    void set(tree_node* of, link field, tree_node* to) { store_pointer(t_, &(of->*field), to); }
    [[nodiscard]] bool is_red(const tree_node* n) { return n != nullptr && read(t_, &n->_M_color) == std::_S_red; }
    void paint(tree_node* n, bool red) { write(t_, &n->_M_color, red ? std::_S_red : std::_S_black); }
    [[nodiscard]] tree_node* root() { return get(header_, parent); }

    /// Replaces `child` by `now` in the link from `above`.
    void replace_child(tree_node* above, tree_node* child, tree_node* now) {
        if (root() == child) set(header_, parent, now);
        else set(above, get(above, left) == child ? left : right, now);
    }
    /// Follows the link `field` from `n` repeatedly, and returns the last node.
    [[nodiscard]] tree_node* end_of(tree_node* n, link field) {
        while (tree_node* const next = get(n, field)) n = next;
        return n;
    }
    /// Rotates the subtree of `down` towards `side`. The child of `down` on the other side moves up to the place of
    /// `down`, and `down` becomes a child of this child.
    void rotate(tree_node* down, link side) {
        const link other = mirror(side);
        tree_node* const up = get(down, other);
        tree_node* const between = get(up, side);
        set(down, other, between);
        if (between != nullptr) set(between, parent, down);
        tree_node* const above = get(down, parent);
        set(up, parent, above);
        replace_child(above, down, up);
        set(up, side, down);
        set(down, parent, up);
    }
    static link mirror(link side) noexcept { return side == left ? right : left; }
    [[nodiscard]] link side_of(const tree_node* child, const tree_node* above) {
        return get(above, left) == child ? left : right;
    }

    void insert(bool on_the_left, tree_node* fresh, tree_node* above);
    tree_node* erase(tree_node* gone);

private:
    void mend_red(tree_node* n);
    void mend_black(tree_node* n, tree_node* above);

    tx& t_;
    tree_node* header_;
};

void tree::insert(bool on_the_left, tree_node* fresh, tree_node* above) {
    set(fresh, parent, above);
    set(fresh, left, nullptr);
    set(fresh, right, nullptr);
    paint(fresh, true);
    if (above == header_) {
        set(header_, parent, fresh);
        set(header_, left, fresh);
        set(header_, right, fresh);
    } else {
        // The header's links to the first and the last node have the same names as links to children.
        const link side = on_the_left ? left : right;
        set(above, side, fresh);
        if (above == get(header_, side)) set(header_, side, fresh);
    }
    mend_red(fresh);
}

/// Restores the tree's rules after an insertion. REQUIRES: `n` is red; its parent may be red, too.
void tree::mend_red(tree_node* n) {
    for (tree_node* above; n != root() && is_red(above = get(n, parent));) {
        tree_node* const grand = get(above, parent);
        const link side = side_of(above, grand);
        tree_node* const uncle = get(grand, mirror(side));
        if (is_red(uncle)) {
            paint(above, false);
            paint(uncle, false);
            paint(grand, true);
            n = grand;
            continue;
        }
        if (n == get(above, mirror(side))) {
            rotate(above, side);
            above = n;
        }
        paint(above, false);
        paint(grand, true);
        rotate(grand, mirror(side));
        break;
    }
    if (n == root()) paint(n, false);
}

/// Unlinks `gone` from the tree and returns `gone`.
tree_node* tree::erase(tree_node* gone) {
    tree_node* const lesser = get(gone, left);
    tree_node* const greater = get(gone, right);
    tree_node* above = get(gone, parent);
    tree_node* heir = nullptr;  // moves into the place from which a node is removed
    bool black_is_missing = false;
    if (lesser != nullptr && greater != nullptr) {
        tree_node* const next = end_of(greater, left);  // takes the place and colour of `gone`
        heir = get(next, right);
        black_is_missing = !is_red(next);
        tree_node* under = next;
        if (next != greater) {
            under = get(next, parent);
            set(under, left, heir);
            if (heir != nullptr) set(heir, parent, under);
            set(next, right, greater);
            set(greater, parent, next);
        }
        replace_child(above, gone, next);
        set(next, parent, above);
        set(next, left, lesser);
        set(lesser, parent, next);
        paint(next, is_red(gone));
        above = under;
    } else {
        heir = lesser != nullptr ? lesser : greater;
        black_is_missing = !is_red(gone);
        if (heir != nullptr) set(heir, parent, above);
        replace_child(above, gone, heir);
        // If a node has one child, this child is a leaf, so the header's links can be set immediately. If the tree
        // becomes empty, the links point to the header.
        if (get(header_, left) == gone) set(header_, left, heir != nullptr ? heir : above);
        if (get(header_, right) == gone) set(header_, right, heir != nullptr ? heir : above);
    }
    if (black_is_missing) mend_black(heir, above);
    return gone;
}

/// Restores the tree's rules after a removal. REQUIRES: the path to `n`, a child of `above`, lacks one black node.
void tree::mend_black(tree_node* n, tree_node* above) {
    while (n != root() && !is_red(n)) {
        const link side = get(above, left) == n ? left : right;
        const link other = mirror(side);
        tree_node* sibling = get(above, other);
        if (is_red(sibling)) {
            paint(sibling, false);
            paint(above, true);
            rotate(above, side);
            sibling = get(above, other);
        }
        if (!is_red(get(sibling, side)) && !is_red(get(sibling, other))) {
            paint(sibling, true);
            n = above;
            above = get(n, parent);
            continue;
        }
        if (!is_red(get(sibling, other))) {
            paint(get(sibling, side), false);
            paint(sibling, true);
            rotate(sibling, other);
            sibling = get(above, other);
        }
        paint(sibling, is_red(above));
        paint(above, false);
        paint(get(sibling, other), false);
        rotate(above, side);
        break;
    }
    if (n != nullptr) paint(n, false);
}

/// Returns the next node in the order towards `side`. The header follows the last node.
tree_node* neighbour(tx& t, tree_node* n, tree::link side) {
    tree of{t, nullptr};
    if (tree_node* const below = of.get(n, side)) return of.end_of(below, tree::mirror(side));
    tree_node* above = of.get(n, tree::parent);
    while (n == of.get(above, side)) {
        n = above;
        above = of.get(n, tree::parent);
    }
    // The last node may be the root. The root's parent is the header, and the header's right link is the last node.
    return of.get(n, side) != above ? above : n;
}

/// Returns the node before `n`. The last node precedes the header, which is red and the parent of its parent.
tree_node* previous(tx& t, tree_node* n) {
    tree of{t, nullptr};
    if (of.is_red(n)) {
        tree_node* const above = of.get(n, tree::parent);
        if (above != nullptr && of.get(above, tree::parent) == n) return of.get(n, tree::right);
    }
    return neighbour(t, n, tree::left);
}

void link_nodes(tx& t, list_node* first, list_node* second) {
    store_pointer(t, &first->_M_next, second);
    store_pointer(t, &second->_M_prev, first);
}
list_node* next_of(tx& t, const list_node* n) { return load_pointer(t, &n->_M_next); }
list_node* before(tx& t, const list_node* n) { return load_pointer(t, &n->_M_prev); }

/// Replaces `from` by `to` in a circle of nodes. `next` and `last` are the neighbours of `from` after and before it.
void take_place(tx& t, list_node* from, list_node* to, list_node* next, list_node* last) {
    if (next == from) return link_nodes(t, to, to);
    link_nodes(t, to, next);
    link_nodes(t, last, to);
}

void hook(tx& t, list_node* n, list_node* position) {
    link_nodes(t, before(t, position), n);
    link_nodes(t, n, position);
}

/// Moves the nodes from `first` up to, but excluding, `last`. Inserts them before `position`, which is outside that
/// range.
void transfer(tx& t, list_node* position, list_node* first, list_node* last) {
    if (position == last) return;
    list_node* const end = before(t, last);
    list_node* const left_behind = before(t, first);
    list_node* const ahead = before(t, position);
    link_nodes(t, end, position);
    link_nodes(t, left_behind, last);
    link_nodes(t, ahead, first);
}

void reverse(tx& t, list_node* all) {
    list_node* n = all;
    do {
        list_node* const next = next_of(t, n);
        store_pointer(t, &n->_M_next, before(t, n));
        store_pointer(t, &n->_M_prev, next);
        n = next;
    } while (n != all);
}

void swap(tx& t, list_node* a, list_node* b) {
    list_node *const a_next = next_of(t, a), *const a_last = before(t, a);
    list_node *const b_next = next_of(t, b), *const b_last = before(t, b);
    take_place(t, a, b, a_next, a_last);
    take_place(t, b, a, b_next, b_last);
}

/// Calls `choose(policy)` on a private copy of the policy. If the policy's one field has changed, writes the field
/// back.
template <class Choose>
auto with_policy(tx& t, const rehash_policy* policy, Choose choose) {
    rehash_policy copy;
    copy_in(t, &copy, policy, sizeof copy);
    const std::size_t before_it = copy._M_next_resize;
    const auto result = choose(copy);
    if (copy._M_next_resize != before_it) write(t, &policy->_M_next_resize, copy._M_next_resize);
    return result;
}

std::size_t hash_bytes(tx& t, const void* from, std::size_t size, std::size_t seed) {
    const private_array<char> bytes{t, size};
    if (bytes.at == nullptr) {
        become_irrevocable(t, "the hash of a long string, without memory for a copy");
        return std::_Hash_bytes(from, size, seed);
    }
    copy_in(t, bytes.at, from, size);
    return std::_Hash_bytes(bytes.at, size, seed);
}

}  // namespace
}  // namespace tutti::libc

// Defines a clone: TUTTI_COMPILED(<the clone's name>, <a name>, <result>, (<parameters>), <the call of libstdc++'s
// function>, <the call of our function in t>)
#define TUTTI_COMPILED(clone, name, result, parameters, plain, ours)             \
    TUTTI_EXPORT result tutti_compiled_##name parameters __asm__("_ZGTt" clone); \
    result tutti_compiled_##name parameters {                                    \
        using namespace tutti::libc;                                             \
        if (tutti::tx* const t = transaction_of_call({})) {                      \
            return ours;                                                         \
        }                                                                        \
        return plain;                                                            \
    }
TUTTI_COMPILED("St18_Rb_tree_incrementPSt18_Rb_tree_node_base", increment, std::_Rb_tree_node_base*,
               (std::_Rb_tree_node_base * n), std::_Rb_tree_increment(n), neighbour(*t, n, tree::right))
TUTTI_COMPILED("St18_Rb_tree_incrementPKSt18_Rb_tree_node_base", const_increment, const std::_Rb_tree_node_base*,
               (const std::_Rb_tree_node_base* n), std::_Rb_tree_increment(n),
               neighbour(*t, const_cast<tree_node*>(n), tree::right))
TUTTI_COMPILED("St18_Rb_tree_decrementPSt18_Rb_tree_node_base", decrement, std::_Rb_tree_node_base*,
               (std::_Rb_tree_node_base * n), std::_Rb_tree_decrement(n), previous(*t, n))
TUTTI_COMPILED("St18_Rb_tree_decrementPKSt18_Rb_tree_node_base", const_decrement, const std::_Rb_tree_node_base*,
               (const std::_Rb_tree_node_base* n), std::_Rb_tree_decrement(n), previous(*t, const_cast<tree_node*>(n)))
TUTTI_COMPILED("St29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_", insert, void,
               (bool on_the_left, std::_Rb_tree_node_base* n, std::_Rb_tree_node_base* above,
                std::_Rb_tree_node_base& header),
               std::_Rb_tree_insert_and_rebalance(on_the_left, n, above, header),
               tree(*t, &header).insert(on_the_left, n, above))
TUTTI_COMPILED("St28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_", erase, std::_Rb_tree_node_base*,
               (std::_Rb_tree_node_base * n, std::_Rb_tree_node_base& header),
               std::_Rb_tree_rebalance_for_erase(n, header), tree(*t, &header).erase(n))

TUTTI_COMPILED("NSt8__detail15_List_node_base7_M_hookEPS0_", hook, void,
               (std::__detail::_List_node_base * n, std::__detail::_List_node_base* position), n->_M_hook(position),
               hook(*t, n, position))
TUTTI_COMPILED("NSt8__detail15_List_node_base9_M_unhookEv", unhook, void, (std::__detail::_List_node_base * n),
               n->_M_unhook(), link_nodes(*t, before(*t, n), next_of(*t, n)))
TUTTI_COMPILED("NSt8__detail15_List_node_base11_M_transferEPS0_S1_", transfer, void,
               (std::__detail::_List_node_base * position, std::__detail::_List_node_base* first,
                std::__detail::_List_node_base* last),
               position->_M_transfer(first, last), transfer(*t, position, first, last))
TUTTI_COMPILED("NSt8__detail15_List_node_base10_M_reverseEv", reverse, void, (std::__detail::_List_node_base * all),
               all->_M_reverse(), reverse(*t, all))
TUTTI_COMPILED("NSt8__detail15_List_node_base4swapERS0_S1_", swap, void,
               (std::__detail::_List_node_base & a, std::__detail::_List_node_base& b),
               std::__detail::_List_node_base::swap(a, b), swap(*t, &a, &b))

TUTTI_COMPILED("NKSt8__detail20_Prime_rehash_policy11_M_next_bktEm", next_bucket_count, std::size_t,
               (const std::__detail::_Prime_rehash_policy* policy, std::size_t n), policy->_M_next_bkt(n),
               with_policy(*t, policy, [n](const rehash_policy& p) { return p._M_next_bkt(n); }))
using needed_rehash = std::pair<bool, std::size_t>;
TUTTI_COMPILED("NKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm", need_rehash, needed_rehash,
               (const std::__detail::_Prime_rehash_policy* policy, std::size_t buckets, std::size_t n,
                std::size_t more),
               policy->_M_need_rehash(buckets, n, more),
               with_policy(*t, policy, [=](const rehash_policy& p) { return p._M_need_rehash(buckets, n, more); }))

TUTTI_COMPILED("St11_Hash_bytesPKvmm", hash_bytes, std::size_t, (const void* from, std::size_t size, std::size_t seed),
               std::_Hash_bytes(from, size, seed), hash_bytes(*t, from, size, seed))
