// The engine functions that the language-level runtime (src/itm) needs, in addition to the public API and the inline
// functions of the headers. The engine is in another shared library, so these functions are exported. Users must not
// call them.
#pragma once

#include "core/lifecycle/left_behind.hpp"
#include "core/rollback/deferred.hpp"

namespace tutti::api {

/// Chooses the algorithm of processes with language-level blocks, unless the environment has chosen one. Ends the
/// process with a message if the chosen algorithm does not write in place. Language-level blocks require writes in
/// place, because GCC reads thread-local memory, and memory that a block has allocated, without barriers. GCC does so
/// even after a write through a barrier. Called when src/itm is loaded.
TUTTI_EXPORT void prepare_for_language() noexcept;

/// Returns a descriptor of the calling context that may run blocks of the language. Throws std::bad_alloc.
TUTTI_EXPORT core::descriptor& attach_language();

/// Registers `blocks` with the engine. REQUIRES: `blocks` is never destroyed.
TUTTI_EXPORT void register_language_blocks(const core::language_blocks& blocks) noexcept;

/// These functions call core::die_if_left_behind, core::die_left_behind, core::ends_cancellable_anywhere and
/// core::die_of_asynchronous_cancel.
TUTTI_EXPORT void die_if_left_behind(const core::descriptor& d, std::uintptr_t stack) noexcept;
[[noreturn]] TUTTI_EXPORT void die_left_behind(const core::descriptor& d) noexcept;
[[nodiscard]] TUTTI_EXPORT bool ends_cancellable_anywhere() noexcept;
[[noreturn]] TUTTI_EXPORT void die_of_asynchronous_cancel(const core::descriptor& d) noexcept;
/// Calls core::record_cancel_type.
TUTTI_EXPORT void record_cancel_type(int type) noexcept;
/// Checks a jump of the calling context to `target`, before the C library jumps. Calls
/// core::roll_back_blocks_left_by_jump if a transaction runs.
TUTTI_EXPORT void check_jump(const void* target) noexcept;

/// Calls core::become_serial.
TUTTI_EXPORT void become_serial(core::descriptor& d) noexcept;

/// Opens an outermost block of the language as the biased owner: the block runs alone because no other context begins
/// one; see core/tokens/bias.hpp. Returns false, without opening the block, if the context cannot be the biased owner
/// now, or if statistics or the policy observe every block.
[[nodiscard]] TUTTI_EXPORT bool open_as_biased_owner(core::descriptor& d, detail::frame& f,
                                                           detail::call_site where, const options& how);

/// Opens a block that has to run alone, even if other contexts begin blocks; see core/modes/serial.hpp. Returns false,
/// without opening the block, if statistics or the policy observe every block. Also returns false in a preemptable
/// context, inside another transaction, if the algorithm runs one transaction at a time, and beside unfinished handlers
/// of another context (core/state/unfinished_handlers.hpp).
[[nodiscard]] TUTTI_EXPORT bool open_alone(core::descriptor& d, detail::frame& f, detail::call_site where,
                                                 const options& how);

/// Prepares for a block of the language inside a block of the library. This preparation is needed because the inner
/// block uses plain memory, and does not announce each access. May raise a signal in the block of the library.
TUTTI_EXPORT void enter_language(core::descriptor& d);

/// Handles a descriptor that is not healthy. Raises the pending signal if there is one. Otherwise returns true if the
/// attempt is still running.
[[nodiscard]] TUTTI_EXPORT bool attempt_continues(core::descriptor& d);

/// Calls core::conflicting_descriptor.
[[nodiscard]] TUTTI_EXPORT const core::descriptor* conflicting_descriptor(const core::descriptor& d,
                                                                                abort_cause cause) noexcept;

/// Calls core::resolve_conflict_outside.
TUTTI_EXPORT void resolve_conflict_outside(core::descriptor& d, core::descriptor& owner, detail::word state,
                                                  bool owns_more);

/// Makes the attempt own `p`. May leave the calling function by a signal. REQUIRES: d is healthy, and its log has room
/// for one more entry.
TUTTI_EXPORT void add_owned_resource(core::descriptor& d, core::owned_resource& p);

/// Calls core::release_owned_resources.
TUTTI_EXPORT void release_owned_resources(core::descriptor& d) noexcept;
/// Calls core::make_resources_effective.
TUTTI_EXPORT void make_resources_effective(core::descriptor& d) noexcept;

/// Registers `memory`: a roll-back of the block calls `free` for it. Throws std::bad_alloc.
TUTTI_EXPORT void record_allocation(core::descriptor& d, void* memory, detail::destroyer free);

/// Calls `free` for `memory` once the transaction has committed and no other transaction can see the memory. Throws
/// std::bad_alloc.
TUTTI_EXPORT void record_free(core::descriptor& d, void* memory, detail::destroyer free);

/// Calls `free` for `object` once no running transaction can see it. REQUIRES: later transactions cannot find the
/// object. Throws std::bad_alloc.
TUTTI_EXPORT void retire(void* object, detail::destroyer free);

/// Returns true if any context has a descriptor.
[[nodiscard]] TUTTI_EXPORT bool transactions_have_run() noexcept;

/// Functions to call around a fork; see core/lifecycle/fork.hpp.
TUTTI_EXPORT void begin_fork_copy() noexcept;
TUTTI_EXPORT void end_fork_copy() noexcept;
TUTTI_EXPORT void reset_other_contexts() noexcept;

/// Returns true if blocks of the language may run in hardware. The processor must have RTM, the algorithm must run
/// several transactions at a time, no report may be requested, and TUTTI_HARDWARE must be `auto`. The result is
/// constant during the life of the process.
[[nodiscard]] TUTTI_EXPORT bool hardware_is_usable(const core::descriptor& d) noexcept;

/// These functions return core::serial_token and core::listeners_to_language.
[[nodiscard]] TUTTI_EXPORT const detail::shared<detail::word>& serial_token() noexcept;
[[nodiscard]] TUTTI_EXPORT const detail::shared<std::uint32_t>& listeners() noexcept;

/// These functions call core::wait_for_serial_owner and core::try_stop_the_world.
TUTTI_EXPORT void wait_for_serial_owner(core::descriptor& d) noexcept;
TUTTI_EXPORT void try_stop_the_world(core::descriptor& d) noexcept;

/// Returns a flag that is true if transactions are counted, so that blocks need a site.
[[nodiscard]] TUTTI_EXPORT const std::atomic<bool>& counting() noexcept;

/// Prints "tutti: <message>" and aborts.
[[noreturn]] TUTTI_EXPORT void panic(const char* message) noexcept;

}  // namespace tutti::api
