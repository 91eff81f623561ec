// Measures the time without commits after the leader of a group is killed.
#pragma once

namespace tutti::cluster::testing {

/// Kills `leaders` leaders of a group of three under load, one after another, and prints the results.
void measure_fail_over(int leaders);

}  // namespace tutti::cluster::testing
