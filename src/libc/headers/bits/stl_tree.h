/* Maps and sets. The functions that walk and balance trees are compiled into libstdc++; the clones are in
   src/libc/containers.cpp. The declarations in this file are the first ones, so they make the functions safe wherever
   they are called. */
#ifndef TUTTI_STL_TREE_H
#define TUTTI_STL_TREE_H
#include <bits/c++config.h>
namespace std {
struct _Rb_tree_node_base;
#define TUTTI_SAFE __attribute__((transaction_safe))
_GLIBCXX_PURE TUTTI_SAFE _Rb_tree_node_base* _Rb_tree_increment(_Rb_tree_node_base*) throw();
_GLIBCXX_PURE TUTTI_SAFE const _Rb_tree_node_base* _Rb_tree_increment(const _Rb_tree_node_base*) throw();
_GLIBCXX_PURE TUTTI_SAFE _Rb_tree_node_base* _Rb_tree_decrement(_Rb_tree_node_base*) throw();
_GLIBCXX_PURE TUTTI_SAFE const _Rb_tree_node_base* _Rb_tree_decrement(const _Rb_tree_node_base*) throw();
TUTTI_SAFE void _Rb_tree_insert_and_rebalance(const bool, _Rb_tree_node_base*, _Rb_tree_node_base*,
                                              _Rb_tree_node_base&) throw();
TUTTI_SAFE _Rb_tree_node_base* _Rb_tree_rebalance_for_erase(_Rb_tree_node_base* const, _Rb_tree_node_base&) throw();
#undef TUTTI_SAFE
}  // namespace std
#endif

#include_next <bits/stl_tree.h>
