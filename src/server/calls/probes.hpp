// The server's probes (observe/probes.hpp):
//
//   tutti:dispatch  name of the procedure, priority, nanoseconds that it stood in the queue
//   tutti:answer    name of the procedure, priority, how it ended (server::ending)
//   tutti:preempt   name, priority, how often it has been preempted: it gives way to a higher priority
//   tutti:park      the same: it waits for another transaction, or sleeps in retry
//   tutti:resume    the same: it goes on where it was
#pragma once

#include "observe/probes.hpp"  // TUTTI_PROBE3
