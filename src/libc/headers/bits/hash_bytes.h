/* The hash function of strings, which is compiled into libstdc++. The clone is in src/libc/containers.cpp. */
#ifndef TUTTI_HASH_BYTES_H
#define TUTTI_HASH_BYTES_H
#include <bits/c++config.h>
namespace std {
__attribute__((transaction_safe)) size_t _Hash_bytes(const void*, size_t, size_t);
}  // namespace std
#endif

#include_next <bits/hash_bytes.h>
