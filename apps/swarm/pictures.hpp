// The frames of a recorded run as files. The frames are drawn and encoded after the run, so that the run is not
// disturbed.
#pragma once

#include "swarm/options.hpp"

namespace swarm {

/// Makes the directory of --png if its parent exists, and checks that the files can be written.
/// @throws cli::command_line_error
void prepare_pictures(const program_options& options);

/// @return the number of frames in each of the requested formats
/// @throws file_error
std::size_t write_pictures(const program_options& options, const run_result& result);

}  // namespace swarm
