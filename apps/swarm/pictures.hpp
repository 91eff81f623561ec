// The frames of a recorded run as files. Drawn and encoded when the run is over, so that it is not disturbed.
#pragma once

#include "swarm/options.hpp"

namespace swarm {

/// Makes the directory of --png if its parent exists, and tries whether the files can be written.
/// @throws cli::command_line_error
void prepare_pictures(const program_options& options);

/// @return how many frames each of the wanted forms holds
/// @throws file_error
std::size_t write_pictures(const program_options& options, const run_result& result);

}  // namespace swarm
