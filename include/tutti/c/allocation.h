/// @file
/// The heap in transactions. It is the C library's heap: plain `free` takes what these calls returned once their
/// transaction has committed, and `tutti_free` takes what plain `malloc` returned.
#pragma once

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// As malloc; if the block is rolled back, the memory is freed. Null, with errno ENOMEM, when there is none: the block
/// goes on and decides.
TUTTI_API void* tutti_malloc(tutti_tx* tx, size_t bytes);
/// As calloc; if the block is rolled back, the memory is freed. Null, with errno ENOMEM, when there is none.
TUTTI_API void* tutti_calloc(tutti_tx* tx, size_t count, size_t bytes);
/// As aligned_alloc; if the block is rolled back, the memory is freed. Null, with errno ENOMEM or EINVAL.
TUTTI_API void* tutti_aligned_alloc(tutti_tx* tx, size_t alignment, size_t bytes);
/// Frees memory if the transaction commits, once no running transaction can still see it. Null is ignored.
TUTTI_API void tutti_free(tutti_tx* tx, void* memory);

/// Destroys all that any thread's transactions have freed or replaced before the call, and returns when that is done:
/// waits until every transaction that was running at the call has ended. A program calls it before `dlclose`, because
/// what is destroyed may need code of the object that is unloaded. Call it outside of all transactions and handlers.
///
/// @return TUTTI_COMMITTED; TUTTI_ERROR_USE inside a transaction, a handler or a destructor; TUTTI_ERROR_MEMORY
TUTTI_API int tutti_destroy_retired(void);

TUTTI_C_END
