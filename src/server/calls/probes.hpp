// The server's probes (observe/probes.hpp):
//
//   tutti:dispatch  name of the procedure, priority, nanoseconds that it waited in the queue
//   tutti:answer    name of the procedure, priority, how it ended (server::call_outcome)
//   tutti:preempt   name, priority, number of preemptions so far: a call of a higher priority preempts it
//   tutti:park      the same arguments: it waits for another transaction, or sleeps in retry
//   tutti:resume    the same arguments: it continues where it was
#pragma once

#include "observe/probes.hpp"  // TUTTI_PROBE3
