/// @file
/// The policies that decide which of two conflicting transactions gives way. This is the single list for both
/// languages. docs/policies.md describes the policies, and how transactions wait under each.
#pragma once

/// Calls X(name, NAME) for each policy, in the order of their numbers from 1. New policies go to the end. The
/// transaction that finds the conflict applies its own policy.
// clang-format off
#define TUTTI_POLICIES(X) \
    X(patient, PATIENT) /* waits for the end of the other attempt: spins for a microsecond, then sleeps */ \
    X(suicide, SUICIDE) /* aborts itself and runs again at once */ \
    X(aggressive, AGGRESSIVE) /* kills the other transaction */ \
    X(delay, DELAY) /* aborts itself and waits until the orec is free */ \
    X(backoff, BACKOFF) /* aborts itself and waits for a random time that doubles with each attempt */ \
    X(timestamp, TIMESTAMP) /* the older wins (Scherer, Scott; Guerraoui, Herlihy, Pochon: both PODC 2005) */ \
    X(karma, KARMA) /* the one with more work over all its attempts wins (Scherer, Scott: PODC 2005) */ \
    X(priority, PRIORITY) /* the higher options::priority wins, then the older transaction */ \
    X(deadline, DEADLINE) /* the earlier deadline wins where readers are visible (Maldonado et al., 6) */ \
    X(serialize_spin, SERIALIZE_SPIN) /* spins, and runs after the winner's commit (Maldonado et al., algorithm 1) */ \
    X(serialize, SERIALIZE) /* as serialize_spin, but sleeps */ \
    X(serialize_soft, SERIALIZE_SOFT) /* runs at a lower priority until all winners have committed (algorithm 2) */ \
    X(yield, YIELD) /* aborts itself and yields the processor once (algorithm 3) */ \
    X(serialize_kernel, SERIALIZE_KERNEL) /* as serialize, but sleeps in the kernel module if there is one (5) */ \
    X(serialize_soft_kernel, SERIALIZE_SOFT_KERNEL) /* as serialize_soft, by the kernel module (5) */
// clang-format on
