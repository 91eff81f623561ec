// Adds figures of the process itself to every page, under the names that Prometheus client libraries use.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace tutti::exposition {

/// Adds process_cpu_seconds_total, process_start_time_seconds, process_resident_memory_bytes,
/// process_virtual_memory_bytes, process_open_fds, process_max_fds and process_threads. Leaves out figures that the
/// system does not provide. Adds tutti_build_info{version,compiler,part} with the value 1.
void add_process(std::vector<prometheus::MetricFamily>& to, const std::string& version, const std::string& part);

}  // namespace tutti::exposition
