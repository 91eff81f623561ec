// Transactional variables for C.
#include <cstddef>

#include "api/c_api/boundary.hpp"

using tutti::tx;
using tutti::api::guarded;
using tutti::detail::access;
using tutti::detail::cell;

// A tutti_var has the layout of a cell.
static_assert(sizeof(tutti_var) == sizeof(cell) && alignof(tutti_var) == alignof(cell));
static_assert(offsetof(tutti_var, value_) == offsetof(cell, value));
static_assert(offsetof(tutti_var, orec_) == offsetof(cell, orec));
static_assert(sizeof(cell::value) == sizeof(uint64_t) && sizeof(cell::orec) == sizeof(uint64_t));

namespace {

const cell& as_cell(const tutti_var* var) { return *reinterpret_cast<const cell*>(var); }
cell& as_cell(tutti_var* var) { return *reinterpret_cast<cell*>(var); }

}  // namespace

uint64_t tutti_get(tutti_tx* handle, const tutti_var* var) {
    return guarded(handle, [var](tx& t) { return access::read(t, as_cell(var)); });
}

void tutti_set(tutti_tx* handle, tutti_var* var, uint64_t value) {
    guarded(handle, [var, value](tx& t) { access::write(t, as_cell(var), value); });
}

uint64_t tutti_var_load(const tutti_var* var) {
    return guarded(tutti::detail::current_transaction, [var] { return tutti::detail::read_alone(as_cell(var)); });
}

void tutti_var_store(tutti_var* var, uint64_t value) {
    guarded(tutti::detail::current_transaction, [var, value] { tutti::detail::write_alone(as_cell(var), value); });
}
