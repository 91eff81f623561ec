/// @file
/// Who gives way when two transactions meet: the one list of policies, for both languages. docs/policies.md describes
/// them, and what waiting means under each.
#pragma once

/// Calls X(name, NAME) for each policy, in the order of their numbers from 1; new ones go to the end. The transaction
/// that finds the conflict decides.
// clang-format off
#define TUTTI_POLICIES(X) \
    X(patient, PATIENT) /* waits for the end of the other's attempt, spinning for a microsecond, then sleeping */ \
    X(suicide, SUICIDE) /* aborts itself and runs again at once */ \
    X(aggressive, AGGRESSIVE) /* kills the other */ \
    X(delay, DELAY) /* aborts itself and waits until the orec is free */ \
    X(backoff, BACKOFF) /* aborts itself and waits for a random time that doubles with each attempt */ \
    X(timestamp, TIMESTAMP) /* the older wins (Scherer, Scott; Guerraoui, Herlihy, Pochon: both PODC 2005) */ \
    X(karma, KARMA) /* the one that has done more work, over all of its attempts, wins (Scherer, Scott: PODC 2005) */ \
    X(priority, PRIORITY) /* the higher priority of the options wins, then the older */ \
    X(deadline, DEADLINE) /* the earlier deadline wins where readers are visible (Maldonado et al., 6) */ \
    X(serialize_spin, SERIALIZE_SPIN) /* runs after the winner's commit; spins until then (the same, algorithm 1) */ \
    X(serialize, SERIALIZE) /* the same, asleep */ \
    X(serialize_soft, SERIALIZE_SOFT) /* runs at a lower priority until all it lost to have committed (algorithm 2) */ \
    X(yield, YIELD) /* aborts itself and gives the processor to others once (algorithm 3) */ \
    X(adaptive, ADAPTIVE) /* as patient; serialises the blocks of a site as long as it measures that it pays */ \
    X(serialize_kernel, SERIALIZE_KERNEL) /* as serialize, asleep in the kernel module where there is one (5) */ \
    X(serialize_soft_kernel, SERIALIZE_SOFT_KERNEL) /* as serialize_soft, by that module (the same) */
// clang-format on
