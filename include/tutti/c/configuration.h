/// @file
/// The concurrency control of the process, and the policy that decides which of two conflicting transactions gives way.
#pragma once

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// Chooses the algorithm for the whole process, before its first transaction. If the program does not call this
/// function, the environment variable TUTTI_ALGORITHM names the algorithm. If this variable is not set, the default
/// applies.
/// @return 0; TUTTI_ERROR_USE for an unknown name (`tutti_last_error` lists the valid ones), or once a transaction has
///         begun
TUTTI_API int tutti_use_algorithm(const char* name);

/// Returns the algorithm in force. Never returns null: if TUTTI_ALGORITHM has an unknown name, the program aborts with
/// a message.
TUTTI_API const char* tutti_algorithm(void);

/// Returns the name of the algorithm at `index`. Returns null past the last one, so that a loop can list all: `for
/// (size_t i = 0; (name = tutti_algorithm_name(i)) != NULL; ++i)`.
TUTTI_API const char* tutti_algorithm_name(size_t index);
/// Returns a line of text about the algorithm at the same index. Returns null past the last one.
TUTTI_API const char* tutti_algorithm_summary(size_t index);

/// Chooses the policy of the process for all blocks whose options name no policy, from their next attempt on. You can
/// call this function at any time. If the program does not call this function, the environment variable TUTTI_POLICY
/// names the policy. If this variable is not set, the policy is `patient`.
/// @return 0, or TUTTI_ERROR_USE for an unknown name (`tutti_last_error` lists the valid ones)
TUTTI_API int tutti_use_policy(const char* name);

/// Returns the policy in force. Never returns null: if TUTTI_POLICY has an unknown name, the program aborts with a
/// message.
TUTTI_API const char* tutti_policy_in_force(void);

/// Returns the name of the policy whose `tutti_policy` is `index + 1`. The first one is the default. Returns null past
/// the last one.
TUTTI_API const char* tutti_policy_name(size_t index);
/// Returns a line of text about the policy at the same index. Returns null past the last one.
TUTTI_API const char* tutti_policy_summary(size_t index);

TUTTI_C_END
