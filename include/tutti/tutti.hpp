/// @file
/// All of Tutti for C++ except the containers and the server, which have their own headers in `tutti/containers/` and
/// `tutti/server/`.
#pragma once

#include "tutti/algorithm.hpp"
#include "tutti/atomically.hpp"
#include "tutti/checkpoint.hpp"
#include "tutti/counter.hpp"
#include "tutti/errors.hpp"
#include "tutti/interrupt.hpp"
#include "tutti/memory.hpp"
#include "tutti/open_nesting.hpp"
#include "tutti/options.hpp"
#include "tutti/policy.hpp"
#include "tutti/retry.hpp"
#include "tutti/statistics.hpp"
#include "tutti/tx.hpp"
#include "tutti/var.hpp"
