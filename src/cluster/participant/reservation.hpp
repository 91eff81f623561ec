// An object that an irrevocable block has opened. Until the block commits, the object's record contains the fence of
// the block's lease, followed by the object's value. Every block may read the value. Until the lease expires, only the
// owner of the lease may overwrite the record.
#pragma once

#include <cstring>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster {

/// The lease of all irrevocable blocks. There is only one such lease, because one irrevocable block runs at a time, as
/// in one process.
inline const backend::key irrevocable_lease{"l0"};

namespace detail {

/// The tag of a reservation. It is stored where a value has the tag of its type, and no type has this tag.
inline constexpr std::uint64_t reservation_tag = 0x7d1f0c54e29ab863u;

struct reservation_header {
    std::uint64_t tag = reservation_tag;
    backend::version fence = 0;
    std::uint64_t exists = 0;
};

}  // namespace detail

[[nodiscard]] inline backend::write reserve(const backend::key& of, const backend::record& current,
                                            backend::version fence) {
    const detail::reservation_header head{.fence = fence, .exists = current.exists ? 1u : 0u};
    backend::write w{of, true, std::string(sizeof head, '\0')};
    std::memcpy(w.bytes.data(), &head, sizeof head);
    w.bytes += current.bytes;
    return w;
}

/// Removes the reservation from a record that has one. Returns the fence of the reservation's lease, or 0 if the record
/// has no reservation.
[[nodiscard]] inline backend::version unwrap(backend::record& r) {
    detail::reservation_header head;
    if (!r.exists || r.bytes.size() < sizeof head) return 0;
    std::memcpy(&head, r.bytes.data(), sizeof head);
    if (head.tag != detail::reservation_tag) return 0;
    r.bytes.erase(0, sizeof head);
    r.exists = head.exists != 0;
    return head.fence;
}

}  // namespace tutti::cluster
