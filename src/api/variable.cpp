// Accesses to a variable outside a transaction, with strong atomicity.
#include "core/ports/algorithm.hpp"
#include "core/privatization/quiescence.hpp"
#include "tutti/counter.hpp"

namespace tutti::detail {

using core::descriptor;

static_assert(max_contexts == memory::max_status_records);
std::uint32_t context_number(const tx& t) noexcept { return static_cast<const descriptor&>(t).id; }

word read_alone(const cell& from) {
    descriptor& d = descriptor::of(current_or_attach());
    if (d.running()) return access::read(d, from);
    const word value = d.algorithm->load_outside(d, from);
    if (d.algorithm->privatizes_by_waiting && core::plain_memory_is_used()) [[unlikely]]
        core::await_all_quiescence(d);
    return value;
}

void write_alone(cell& to, word value) {
    tx& current = current_or_attach();
    if (access::running(current)) return access::ops(current).write(current, to, value);
    atomically(no_unwind, {.name = "var::store"}, [&](tx& t) { access::ops(t).write(t, to, value); });
}

}  // namespace tutti::detail
