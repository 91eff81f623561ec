/// @file
/// Which concurrency control the process runs.
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

TUTTI_C_END
