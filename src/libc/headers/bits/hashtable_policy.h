/* Unordered containers: libstdc++ has compiled the member functions of the class that chooses the size of their
   tables. src/libc/containers.cpp has the clones. A class passes an attribute to its members. */
#ifndef TUTTI_HASHTABLE_POLICY_H
#define TUTTI_HASHTABLE_POLICY_H
#pragma push_macro("_Prime_rehash_policy")
#define _Prime_rehash_policy __attribute__((transaction_safe)) _Prime_rehash_policy
#include_next <bits/hashtable_policy.h>
#pragma pop_macro("_Prime_rehash_policy")
#else
#include_next <bits/hashtable_policy.h>
#endif
