// Includes C-Raft's headers, which do not declare that they are C.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>

extern "C" {
#include <raft.h>
}
