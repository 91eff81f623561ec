// How much of the processors this thread used in a round, and how much other processes used.
#pragma once

namespace bench {

/// Returns the seconds of processor time that the calling thread has used.
double thread_seconds() noexcept;

/// Returns the seconds of processor time that all processes of the machine have used, and that other machines on the
/// same hardware have taken. Counted in ticks of about 10 ms; 0 if the system does not report this.
double machine_seconds();

}  // namespace bench
