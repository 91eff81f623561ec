// Includes C-Raft's headers within `extern "C"`, because the headers themselves lack it.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>

extern "C" {
#include <raft.h>
}
