// How much of the processors this thread used in a round, and how much other processes used.
#pragma once

namespace bench {

/// Returns the seconds of processor time that the calling thread has used.
double thread_seconds() noexcept;

/// Returns the processor time, in seconds, that all processes and interrupts of this machine have used since the boot,
/// plus the steal time. If this machine is virtual, the steal time is the time that the hypervisor gave to other
/// virtual machines (proc(5)). The system counts in ticks of about 10 ms. Returns 0 if the system does not report
/// processor times.
double machine_seconds();

}  // namespace bench
