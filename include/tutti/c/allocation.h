/// @file Heap memory in transactions. These calls use the heap of the C library. Plain `free` accepts memory from these
/// calls once their transaction has committed. `tutti_free` accepts memory from plain `malloc`.
#pragma once

#include "tutti/c/base.h"

TUTTI_C_BEGIN

/// Allocates memory as malloc does. A roll-back of the block frees it. Returns null, with errno ENOMEM, if memory runs
/// out; the block continues and decides what to do.
TUTTI_API void* tutti_malloc(tutti_tx* tx, size_t bytes);
/// Allocates memory as calloc does. A roll-back of the block frees it. Returns null, with errno ENOMEM, if memory runs
/// out.
TUTTI_API void* tutti_calloc(tutti_tx* tx, size_t count, size_t bytes);
/// Allocates memory as aligned_alloc does. A roll-back of the block frees it. Returns null, with errno ENOMEM or
/// EINVAL, on failure.
TUTTI_API void* tutti_aligned_alloc(tutti_tx* tx, size_t alignment, size_t bytes);
/// Frees `memory` if the transaction commits, as soon as no running transaction can still see the memory. Ignores null.
TUTTI_API void tutti_free(tutti_tx* tx, void* memory);

/// Destroys all objects that any thread's transactions have freed or replaced before the call. Returns when they are
/// destroyed, so it waits until every transaction that was running at the call has ended. Call this function before
/// `dlclose`, because the destruction may need code of the unloaded object. Call the function outside of all
/// transactions and handlers.
///
/// @return TUTTI_COMMITTED; TUTTI_ERROR_USE inside a transaction, a handler or a destructor; TUTTI_ERROR_MEMORY
TUTTI_API int tutti_destroy_retired(void);

TUTTI_C_END
