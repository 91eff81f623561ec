// Splits a range of bytes into naturally aligned pieces of 8, 4, 2 and 1 bytes. A piece never extends beyond the range,
// because the neighbouring bytes may belong to code that uses them without transactions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tutti::api {

/// Calls `visit(address, size)` for each piece, from the lowest address to the highest.
template <class F>
void for_each_piece(std::uintptr_t at, std::size_t bytes, F visit) {
    const std::uintptr_t end = at + bytes;
    while (at != end) {
        // The address and the remaining length each limit the size of the piece. If neither does, the piece has 8
        // bytes.
        const std::uintptr_t by_address = at % 8 == 0 ? 8 : at & (~at + 1);
        const std::size_t size = std::min({by_address, std::bit_floor(end - at), std::uintptr_t{8}});
        visit(at, static_cast<unsigned>(size));
        at += size;
    }
}

}  // namespace tutti::api
