/* Unordered containers. One class chooses the size of their tables; its member functions are compiled into libstdc++,
   and the clones are in src/libc/containers.cpp. The macro below adds an attribute to the class, which passes it to
   its members. */
#ifndef TUTTI_HASHTABLE_POLICY_H
#define TUTTI_HASHTABLE_POLICY_H
#pragma push_macro("_Prime_rehash_policy")
#define _Prime_rehash_policy __attribute__((transaction_safe)) _Prime_rehash_policy
#include_next <bits/hashtable_policy.h>
#pragma pop_macro("_Prime_rehash_policy")
#else
#include_next <bits/hashtable_policy.h>
#endif
