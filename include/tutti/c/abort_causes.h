/// @file
/// Why an attempt to run a block was rolled back: the one list, for both languages and all tools.
#pragma once

/// Calls X(name, NAME) for each cause, in the order of their numbers; new ones go to the end.
// clang-format off
#define TUTTI_ABORT_CAUSES(X) \
    X(none, NONE) /* it was not */ \
    X(conflict_read_locked, CONFLICT_READ_LOCKED) /* read a record that another transaction was writing */ \
    X(conflict_write_locked, CONFLICT_WRITE_LOCKED) /* wrote a record that another transaction was writing */ \
    X(conflict_visible_read, CONFLICT_VISIBLE_READ) /* wrote a record that a visible reader had marked */ \
    X(conflict_abstract_lock, CONFLICT_ABSTRACT_LOCK) /* waited in vain for an abstract lock */ \
    X(validation, VALIDATION) /* something read had changed when the snapshot was extended or at commit */ \
    X(read_only_overtaken, READ_ONLY_OVERTAKEN) /* an unlogged read-only attempt met a newer version; it runs again */ \
    X(killed, KILLED) /* another transaction asked it to die */ \
    X(irrevocable_switch, IRREVOCABLE_SWITCH) /* it asked to become irrevocable and could not; runs again as such */ \
    X(mode_switch, MODE_SWITCH) /* it needs a stricter mode (logged, visible) from its start */ \
    X(explicit_retry, EXPLICIT_RETRY) /* `retry`: waits until something it read changes */ \
    X(explicit_restart, EXPLICIT_RESTART) /* `restart`: runs again at once */ \
    X(explicit_cancel, EXPLICIT_CANCEL) /* `cancel`: left without effect */ \
    X(exception, EXCEPTION) /* an exception left the block */ \
    X(participant_veto, PARTICIPANT_VETO) /* a participant voted against the commit */ \
    X(allocation, ALLOCATION) /* memory for the transaction's own logs ran out */ \
    X(usage, USAGE) /* an error of use was diagnosed */ \
    X(hardware, HARDWARE) /* a hardware attempt had to start over as a whole; most do so unseen by the block */
// clang-format on
