/// @file
/// The causes of roll-backs: the single list for both languages and all tools.
#pragma once

/// Calls X(name, NAME) for each cause, in the order of their numbers. New causes go to the end.
// clang-format off
#define TUTTI_ABORT_CAUSES(X) \
    X(none, NONE) /* the attempt was not rolled back */ \
    X(conflict_read_locked, CONFLICT_READ_LOCKED) /* read a record that another transaction was writing */ \
    X(conflict_write_locked, CONFLICT_WRITE_LOCKED) /* wrote a record that another transaction was writing */ \
    X(conflict_visible_read, CONFLICT_VISIBLE_READ) /* wrote a record that a visible reader had marked */ \
    X(conflict_abstract_lock, CONFLICT_ABSTRACT_LOCK) /* an abstract lock was not released in time */ \
    X(validation, VALIDATION) /* a read value had changed when the snapshot was extended or at commit */ \
    X(read_only_overtaken, READ_ONLY_OVERTAKEN) /* an unlogged read-only attempt read a newer version; runs again */ \
    X(killed, KILLED) /* another transaction asked this one to abort */ \
    X(irrevocable_switch, IRREVOCABLE_SWITCH) /* could not become irrevocable; runs again irrevocably */ \
    X(mode_switch, MODE_SWITCH) /* needs a stricter mode (logged, visible) from its start */ \
    X(explicit_retry, EXPLICIT_RETRY) /* `retry`: waits until something that it has read changes */ \
    X(explicit_restart, EXPLICIT_RESTART) /* `restart`: runs again at once */ \
    X(explicit_cancel, EXPLICIT_CANCEL) /* `cancel`: left without effect */ \
    X(exception, EXCEPTION) /* an exception left the block */ \
    X(participant_veto, PARTICIPANT_VETO) /* a participant voted against the commit */ \
    X(allocation, ALLOCATION) /* memory for the transaction's own logs ran out */ \
    X(usage, USAGE) /* the library was misused */ \
    X(hardware, HARDWARE) /* a hardware attempt restarted the whole block; most hardware attempts do not */ \
    X(snapshot_full, SNAPSHOT_FULL) /* memory for the values of its snapshot ran out; runs again with a log */
// clang-format on
