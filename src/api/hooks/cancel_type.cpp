// Wraps the C library's pthread_setcanceltype, so that the engine can distinguish asynchronous from deferred
// cancellation.
//
// src/itm has the same function. Both are needed: a program of the language finds the symbols of src/itm before those
// of the C library, but the symbols of this library only after them.
#include "api/hooks/cancel_type.hpp"

#include "api/hooks/language.hpp"
#include "core/lifecycle/left_behind.hpp"

namespace tutti::api {

void record_cancel_type(int type) noexcept { core::record_cancel_type(type); }

}  // namespace tutti::api

// A static library must not define the function: the program would then contain it in addition to the C library's
// function.
#if defined(TUTTI_IS_SHARED)
TUTTI_CANCEL_TYPE(tutti::api::record_cancel_type)
#endif
