/* The hash of a string, which libstdc++ has compiled. src/libc/containers.cpp has the clone. */
#ifndef TUTTI_HASH_BYTES_H
#define TUTTI_HASH_BYTES_H
#include <bits/c++config.h>
namespace std {
__attribute__((transaction_safe)) size_t _Hash_bytes(const void*, size_t, size_t);
}  // namespace std
#endif

#include_next <bits/hash_bytes.h>
