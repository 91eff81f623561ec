// Wraps the C library's pthread_setcanceltype, so that the engine can tell asynchronous from deferred cancellation.
//
// src/itm has the same function. A program of the language finds the symbols of src/itm before those of the C library,
// but finds ours only after those.
#include "api/hooks/cancel_type.hpp"

#include "api/hooks/language.hpp"
#include "core/lifecycle/left_behind.hpp"

namespace tutti::api {

void record_cancel_type(int type) noexcept { core::record_cancel_type(type); }

}  // namespace tutti::api

// A static library would define the function for the program, in addition to the C library's.
#if defined(TUTTI_IS_SHARED)
TUTTI_CANCEL_TYPE(tutti::api::record_cancel_type)
#endif
