// Which had the processors during a round: this thread, or others on the machine.
#pragma once

namespace bench {

/// Seconds of processor time that the calling thread has used.
double thread_seconds() noexcept;

/// Seconds of processor time that all processes of the machine have used, and other machines that share the hardware
/// have taken away. Counted in ticks of some 10 ms; 0 where the system does not tell.
double machine_seconds();

}  // namespace bench
