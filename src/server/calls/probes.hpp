// The server's probes (observe/probes.hpp):
//
//   tutti:dispatch  name of the procedure, priority, nanoseconds that it waited in the queue
//   tutti:answer    name of the procedure, priority, how it ended (server::ending)
//   tutti:preempt   name, priority, number of preemptions so far: it gives way to a higher priority
//   tutti:park      the same arguments: it waits for another transaction, or sleeps in retry
//   tutti:resume    the same arguments: it continues where it was
#pragma once

#include "observe/probes.hpp"  // TUTTI_PROBE3
