#include "cluster/protocol/reservations.hpp"

#include "wire/bytes.hpp"

namespace tutti::cluster {

void reservations::reserve(const object_id& id, const wire::reserve& what, wire::object_view& view) {
    const std::lock_guard hold{guard_};
    view.where = wire::lookup_result::busy;
    holder* const by = holders_.admit(what.who, freeing());
    if (by != nullptr && store_.reserve(id, what, !by->full(), view)) by->names.push_back(id);
}

void reservations::release(const transaction_name& who) {
    if (injected(fault::protection_never_ends)) return;
    const std::lock_guard hold{guard_};
    holders_.release(who, freeing());
}

void reservations::lose(node_number node) noexcept {
    const std::lock_guard hold{guard_};
    holders_.lose(node, freeing());
}

void reservations::admit(node_number node) noexcept {
    const std::lock_guard hold{guard_};
    holders_.admit(node);
}

std::size_t reservations::held() const {
    const std::lock_guard hold{guard_};
    return holders_.held();
}

}  // namespace tutti::cluster
