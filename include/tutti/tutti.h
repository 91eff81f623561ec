/// @file
/// All of Tutti for C11, and for C++ code that needs a plain interface. Each header below is one group of calls.
#pragma once

#include "tutti/c/allocation.h"     // IWYU pragma: export
#include "tutti/c/base.h"           // IWYU pragma: export
#include "tutti/c/block.h"          // IWYU pragma: export
#include "tutti/c/checkpoint.h"     // IWYU pragma: export
#include "tutti/c/configuration.h"  // IWYU pragma: export
#include "tutti/c/control.h"        // IWYU pragma: export
#include "tutti/c/handlers.h"       // IWYU pragma: export
#include "tutti/c/plain.h"          // IWYU pragma: export
#include "tutti/c/statistics.h"     // IWYU pragma: export
#include "tutti/c/var.h"            // IWYU pragma: export
