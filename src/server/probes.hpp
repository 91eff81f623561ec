// Static probes for perf, bpftrace and SystemTap: a no-op in the code and a note in the file. Where the package that
// defines them is missing there are none.
//
//   tutti:dispatch  name of the procedure, priority, nanoseconds that it stood in the queue
//   tutti:answer    name of the procedure, priority, how it ended (server::ending)
//   tutti:preempt   name, priority, how often it has been preempted: it gives way to a higher priority
//   tutti:park      the same: it waits for another transaction, or sleeps in retry
//   tutti:resume    the same: it goes on where it was
#pragma once

#if defined(TUTTI_PROBES)
#include <sys/sdt.h>
#define TUTTI_PROBE3(name, a, b, c) DTRACE_PROBE3(tutti, name, a, b, c)
#else
#define TUTTI_PROBE3(name, a, b, c) static_cast<void>(0)
#endif
