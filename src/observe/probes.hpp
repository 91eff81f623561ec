// Static probes for perf, bpftrace and SystemTap. A probe is a no-op in the code and a note in the file. Without the
// package that defines the macros for probes, there are no probes.
//
// The probes of libtutti. Each has the name of the atomic block, or null, and the number of the context's descriptor:
//
//   tutti:begin   name, attempt, descriptor   an attempt of an outermost block is about to begin
//   tutti:commit  name, attempt, descriptor   the attempt's writes are published
//   tutti:abort   name, abort_cause, descriptor   the attempt was rolled back, and everything that it owned is free
//
// The probes of the server are in server/calls/probes.hpp.
#pragma once

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define TUTTI_PROBE3(name, a, b, c) DTRACE_PROBE3(tutti, name, a, b, c)
#else
#define TUTTI_PROBE3(name, a, b, c) static_cast<void>(0)
#endif
