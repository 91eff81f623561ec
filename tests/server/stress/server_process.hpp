// `tutti serve` in a process of its own.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::stress {

class server_process {
public:
    /// Starts the server. REQUIRES: the process has one thread, which outlives the object.
    /// @throws std::runtime_error  if the server does not start
    server_process(const std::string& tutti, const std::string& procedures, const std::vector<std::string>& options);
    /// Kills the process if it still runs.
    ~server_process();
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// Returns the resident memory in kilobytes.
    [[nodiscard]] std::size_t resident() const;
    /// Ends the server cleanly. Returns its exit status.
    int end();

private:
    pid_t id_ = 0;
    std::uint16_t port_ = 0;
};

}  // namespace tutti::stress
