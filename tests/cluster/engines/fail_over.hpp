// How long nobody commits when the leader of a group is killed.
#pragma once

namespace tutti::cluster::testing {

/// Kills so many leaders of a group of three under load, one after the other, and prints what came of it.
void measure_fail_over(int leaders);

}  // namespace tutti::cluster::testing
