#include "cluster/protocol/reservations.hpp"

#include "wire/bytes.hpp"

namespace tutti::cluster {

void reservations::reserve(const object_id& id, const wire::reserve& what, wire::object_view& view) {
    const std::lock_guard hold{guard_};
    view.where = wire::lookup_result::busy;
    thread_holds* const by = holds_.admit(what.who, free_callback());
    if (by != nullptr && objects_.reserve(id, what, !by->is_full(), view)) by->names.push_back(id);
}

void reservations::release(const transaction_name& who) {
    if (injected(fault::reservation_never_ends)) return;
    const std::lock_guard hold{guard_};
    holds_.release(who, free_callback());
}

void reservations::on_node_lost(node_number node) noexcept {
    const std::lock_guard hold{guard_};
    holds_.on_node_lost(node, free_callback());
}

void reservations::admit(node_number node) noexcept {
    const std::lock_guard hold{guard_};
    holds_.admit(node);
}

std::size_t reservations::held() const {
    const std::lock_guard hold{guard_};
    return holds_.held();
}

}  // namespace tutti::cluster
