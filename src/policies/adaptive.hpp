// The policy `adaptive` does the same as `patient`. In addition, it serialises a site whose blocks defeat each other
// often, as long as serialising pays (trial.hpp). The executions of a serialised site wait in a queue
// (core/waiting/execution_queue.hpp) before their first attempt. After Yoo and Lee, "Adaptive Transaction Scheduling
// for Transactional Memory Systems" (SPAA 2008), which has one queue for all sites, and Maldonado et al., section 7.
//
// A site without contention costs nothing: its commits are not counted, and the begin reads only a word that it reads
// anyway. While any site is on trial or serialised, all blocks under this policy begin by the slower, out-of-line code.
#pragma once

#include "core/ports/policy.hpp"

namespace tutti::policies {

extern const core::policy adaptive;

/// The maximum time for which blocks stay in a queue.
enum class max_queue_wait : std::uint8_t {
    as_measured,      ///< the usual time, but only at sites where a trial has found that serialising pays
    one_millisecond,  ///< a millisecond, everywhere
    unlimited,        ///< unlimited, everywhere: for bodies that wait for no other transaction
};

/// Serialises every site without a trial, for tests of serialisation. Empties all queues. REQUIRES: no transaction
/// runs.
void enqueue_for_test(max_queue_wait how);

}  // namespace tutti::policies
