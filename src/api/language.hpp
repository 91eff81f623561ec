// What the language-level runtime (src/itm) needs of the engine beyond the public API and what headers inline. The
// engine is in another shared library, so these are exported; no user may call them.
#pragma once

#include "core/lifecycle/left_behind.hpp"
#include "core/rollback/deferred.hpp"

namespace tutti::api {

/// Chooses the algorithm of processes with language-level blocks, unless the environment has chosen one. Ends the
/// process with a message if that one does not write in place, which such blocks need: the compiler reads thread-local
/// memory and memory of its own directly, even where it was written through a barrier. Called when src/itm is loaded.
TUTTI_EXPORT void prepare_for_language() noexcept;

/// A descriptor of the calling context that may run blocks of the language. Throws std::bad_alloc.
TUTTI_EXPORT core::descriptor& attach_language();

/// Makes `blocks`, which lives on, known to the engine.
TUTTI_EXPORT void introduce(const core::language_blocks& blocks) noexcept;

/// core::refuse_if_left_behind, core::refuse_left_behind, core::ends_cancellable_anywhere and
/// core::refuse_asynchronous_cancel.
TUTTI_EXPORT void refuse_if_left_behind(const core::descriptor& d, std::uintptr_t stack) noexcept;
[[noreturn]] TUTTI_EXPORT void refuse_left_behind(const core::descriptor& d) noexcept;
[[nodiscard]] TUTTI_EXPORT bool ends_cancellable_anywhere() noexcept;
[[noreturn]] TUTTI_EXPORT void refuse_asynchronous_cancel(const core::descriptor& d) noexcept;
/// core::note_cancel_type.
TUTTI_EXPORT void note_cancel_type(int type) noexcept;
/// core::refuse_jump_out for the calling context, before the function `jump` of the C library jumps to `target`.
TUTTI_EXPORT void heed_jump(const void* target) noexcept;

/// core::become_serial.
TUTTI_EXPORT void become_serial(core::descriptor& d) noexcept;

/// Opens an outermost block of the language that runs alone because no other context begins any; see
/// core/tokens/bias.hpp. False: one may, or something special is asked of every block; the block is not open.
[[nodiscard]] TUTTI_EXPORT bool open_as_biased_owner(core::descriptor& d, detail::frame& f,
                                                           detail::call_site where, const options& how);

/// The same for a block that has to run alone, whatever other contexts begin; see core/modes/serial.hpp. False:
/// something special is asked of this block or of every one; it is not open.
[[nodiscard]] TUTTI_EXPORT bool open_alone(core::descriptor& d, detail::frame& f, detail::call_site where,
                                                 const options& how);

/// A block of the language is about to open inside one of the library: it uses plain memory, without saying so at each
/// access. May send a signal to the block of the library.
TUTTI_EXPORT void enter_language(core::descriptor& d);

/// For a descriptor that is not healthy: leaves by the signal that is due, or says whether the attempt is still under
/// way.
[[nodiscard]] TUTTI_EXPORT bool goes_on(core::descriptor& d);

/// core::rival_of.
[[nodiscard]] TUTTI_EXPORT const core::descriptor* rival_of(const core::descriptor& d,
                                                                  abort_cause cause) noexcept;

/// core::meet_outside.
TUTTI_EXPORT void meet_outside(core::descriptor& d, core::descriptor& owner, detail::word state, bool owns_more);

/// The attempt owns `p` from here on. May leave the frame. REQUIRES: d is healthy, and its log has room for one more.
TUTTI_EXPORT void own(core::descriptor& d, core::possession& p);

/// core::keep_possessions.
TUTTI_EXPORT void keep_possessions(core::descriptor& d) noexcept;
/// core::settle_possessions.
TUTTI_EXPORT void settle_possessions(core::descriptor& d) noexcept;

/// `memory` goes back by `free` if the block is rolled back. Throws std::bad_alloc.
TUTTI_EXPORT void note_allocation(core::descriptor& d, void* memory, detail::destroyer free);

/// `memory` goes back by `free` once the transaction has committed and no other can see it. Throws std::bad_alloc.
TUTTI_EXPORT void note_free(core::descriptor& d, void* memory, detail::destroyer free);

/// `object`, which no later transaction finds, goes back by `free` once no running one can see it. Throws
/// std::bad_alloc.
TUTTI_EXPORT void retire(void* object, detail::destroyer free);

/// Whether any context has a descriptor.
[[nodiscard]] TUTTI_EXPORT bool transactions_have_run() noexcept;

/// Around a fork, core/lifecycle/fork.hpp.
TUTTI_EXPORT void hold_for_copy() noexcept;
TUTTI_EXPORT void let_go_of_copy() noexcept;
TUTTI_EXPORT void forget_others() noexcept;

/// Whether blocks of the language may run in hardware: the processor has RTM, the algorithm is none that runs one
/// transaction at a time, no report is wanted, and TUTTI_HARDWARE is `auto`. The same for the life of the process.
[[nodiscard]] TUTTI_EXPORT bool hardware_serves(const core::descriptor& d) noexcept;

/// core::serial_token and core::listeners_to_language.
[[nodiscard]] TUTTI_EXPORT const detail::shared<detail::word>& serial_token() noexcept;
[[nodiscard]] TUTTI_EXPORT const detail::shared<std::uint32_t>& listeners() noexcept;

/// core::stand_aside, core::try_to_still_the_world.
TUTTI_EXPORT void stand_aside(core::descriptor& d) noexcept;
TUTTI_EXPORT void try_to_still_the_world(core::descriptor& d) noexcept;

/// Tells whether transactions are counted, so that blocks need a site.
[[nodiscard]] TUTTI_EXPORT const std::atomic<bool>& counting() noexcept;

/// Prints "tutti: <message>" and aborts.
[[noreturn]] TUTTI_EXPORT void refuse(const char* message) noexcept;

}  // namespace tutti::api
