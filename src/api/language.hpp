// What the language-level runtime (src/itm) needs of the engine beyond the public API and what headers inline. The
// engine is in another shared library, so these are exported; no user may call them.
#pragma once

#include "core/descriptor.hpp"

namespace tutti::api {

/// Chooses the algorithm of processes with language-level blocks, unless the environment has chosen one. Ends the
/// process with a message if that one does not write in place, which such blocks need: the compiler reads thread-local
/// memory and memory of its own directly, even where it was written through a barrier. Called when src/itm is loaded.
TUTTI_EXPORT void prepare_for_language() noexcept;

/// A descriptor of the calling context that may run blocks of the language. Throws std::bad_alloc.
TUTTI_EXPORT core::descriptor& attach_language();

/// core::go_alone.
TUTTI_EXPORT void go_alone(core::descriptor& d) noexcept;

/// Opens an outermost block of the language that runs alone because no other context begins any; see core/favourite.hpp.
/// False: one may, or something special is asked of every block; nothing has happened.
[[nodiscard]] TUTTI_EXPORT bool open_as_favourite(core::descriptor& d, detail::frame& f, detail::call_site where,
                                                        const options& how);

/// core::await_quiescence.
TUTTI_EXPORT void await_quiescence(core::descriptor& d) noexcept;

/// core::last_killer_of.
TUTTI_EXPORT std::uint32_t last_killer_of(const core::descriptor& victim) noexcept;

/// `memory` goes back by `free` if the block is rolled back. Throws std::bad_alloc.
TUTTI_EXPORT void note_allocation(core::descriptor& d, void* memory, detail::destroyer free);

/// `memory` goes back by `free` once the transaction has committed and nobody can see it. Throws std::bad_alloc.
TUTTI_EXPORT void note_free(core::descriptor& d, void* memory, detail::destroyer free);

/// `object`, which nobody can find any more, goes back by `free` once nobody can see it. Throws std::bad_alloc.
TUTTI_EXPORT void retire(void* object, detail::destroyer free);

/// Tells whether transactions are counted, so that blocks need a site.
[[nodiscard]] TUTTI_EXPORT const std::atomic<bool>& counting() noexcept;

/// Prints "tutti: <message>" and aborts.
[[noreturn]] TUTTI_EXPORT void refuse(const char* message) noexcept;

}  // namespace tutti::api
