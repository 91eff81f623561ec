/// @file
/// Which concurrency control the process runs, and who gives way when two of its transactions meet.
#pragma once

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// Chooses the algorithm for the whole process, before its first transaction. Otherwise the environment variable
/// TUTTI_ALGORITHM decides, and without it the default.
/// @return 0, or TUTTI_ERROR_USE for an unknown name (`tutti_last_error` lists the valid ones) or once a transaction
///         has begun
TUTTI_API int tutti_use_algorithm(const char* name);

/// The algorithm in force. Never null: where TUTTI_ALGORITHM names none, the program is aborted with a message.
TUTTI_API const char* tutti_algorithm(void);

/// Every algorithm: `for (size_t i = 0; (name = tutti_algorithm_name(i)) != NULL; ++i)`. Null past the last one.
TUTTI_API const char* tutti_algorithm_name(size_t index);
/// A line on the algorithm at the same index. Null past the last one.
TUTTI_API const char* tutti_algorithm_summary(size_t index);

/// Chooses the policy of the process for all blocks whose options name none, from their next attempt on. May be called
/// at any time. Otherwise the environment variable TUTTI_POLICY decides, and without it the default, `patient`.
/// @return 0, or TUTTI_ERROR_USE for an unknown name (`tutti_last_error` lists the valid ones)
TUTTI_API int tutti_use_policy(const char* name);

/// The policy in force. Never null: where TUTTI_POLICY names none, the program is aborted with a message.
TUTTI_API const char* tutti_policy_in_force(void);

/// The name of the policy whose `tutti_policy` is `index + 1`; the default is the first. Null past the last one.
TUTTI_API const char* tutti_policy_name(size_t index);
/// A line on the policy at the same index. Null past the last one.
TUTTI_API const char* tutti_policy_summary(size_t index);

TUTTI_C_END
