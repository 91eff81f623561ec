// Static probes for perf, bpftrace and SystemTap: a no-op in the code and a note in the file. Where the package that
// defines them is missing there are none.
//
//   tutti:commit  name of the atomic block or null, attempt that commits, number of the context's descriptor; in
//                 libtutti, once what it wrote is published
//
// Those of the server: server/probes.hpp.
#pragma once

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define TUTTI_PROBE3(name, a, b, c) DTRACE_PROBE3(tutti, name, a, b, c)
#else
#define TUTTI_PROBE3(name, a, b, c) static_cast<void>(0)
#endif
