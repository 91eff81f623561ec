#include "timeline.hpp"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "connection.hpp"

namespace tutti::tools {

void timeline(const timeline_options& options) {
    connection server{options.to};
    std::ofstream file{options.output, std::ios::binary};
    static_cast<void>(server.ask({"TIMELINE", "START"}));
    std::this_thread::sleep_for(std::chrono::duration<double>{options.seconds});
    file << server.ask({"TIMELINE", "STOP"});
    file.close();
    if (!file) throw std::runtime_error{fmt::format("{} cannot be written", options.output)};
    fmt::print("{}: open it in https://ui.perfetto.dev or chrome://tracing\n", options.output);
}

}  // namespace tutti::tools
