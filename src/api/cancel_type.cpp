// pthread_setcanceltype in front of the C library's, so that the engine tells asynchronous cancellation from deferred.
//
// src/itm has the same function, because a program of the language finds its symbols before the C library's, and ours
// only after those.
#include "api/cancel_type.hpp"

#include "api/language.hpp"
#include "core/lifecycle/left_behind.hpp"

namespace tutti::api {

void note_cancel_type(int type) noexcept { core::note_cancel_type(type); }

}  // namespace tutti::api

// A static library would define it for the program, beside the C library's.
#if defined(TUTTI_IS_SHARED)
TUTTI_CANCEL_TYPE(tutti::api::note_cancel_type)
#endif
