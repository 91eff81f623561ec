// Chooses the connections that the server closes when clients hold too much memory: incomplete requests, waiting
// requests, and unread answers.
//
// Memory is divided among principals (principal.hpp), in proportion to their weights. The principal that holds the most
// in relation to its weight loses its largest connection. The server repeats this choice until the remaining
// connections are within the limit. So a principal that holds no more than its part keeps all of its connections,
// regardless of other principals. Users with the rights of an admin come last: they lose connections only when no other
// principal holds anything.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::server {

class principal;

/// The memory of one connection.
struct client_memory {
    std::size_t bytes = 0;
    const principal* whose = nullptr;
};

/// Returns the indices of the connections to close, so that the remaining connections hold at most `limit` bytes.
/// O(n log n) for n connections.
[[nodiscard]] std::vector<std::size_t> choose_evicted(std::span<const client_memory> all, std::size_t limit);

}  // namespace tutti::server
