// A copy of this process that dumps the data as of one instant, while calls continue here.
//
// DMP1  The process is copied while no transaction runs (api/hooks/forking.hpp). So the copy contains the effects of
//       all calls that have reserved a position, and of no later call. Calls stop for the duration of the fork.
// DMP2  The child has one thread, the one that forked. It may allocate memory, because glibc makes the heap usable
//       after a fork, and it may run transactions. It opens no file of the log, which SQLite forbids in a copy. It
//       writes the pieces to a pipe, and a thread of the parent adds them to the log.
// DMP3  The child ends with _exit, so it runs no function that was registered for the end of the process. It is killed
//       when the parent's thread that made it ends. It has no sockets, so a client that the server disconnects notices
//       that at once.
// DMP4  The pieces count only if the child reports at its end that it has put all of them. Any other end of the child
//       only costs the parent this attempt. Examples are an out-of-memory kill, or a crash in a dump.
//
// Memory: the pages that either process changes meanwhile. docs/server-operation.md has figures.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>

#include "api/hooks/forking.hpp"
#include "base/clock.hpp"
#include "server/calls/catalog.hpp"
#include "server/calls/dump.hpp"

namespace tutti::server {

/// Thread safety: one thread, the same for all calls except kill().
class dumping_process {
public:
    explicit dumping_process(const catalog& procedures) : procedures_{procedures} {}
    ~dumping_process();
    dumping_process(const dumping_process&) = delete;
    dumping_process& operator=(const dumping_process&) = delete;

    /// Forks and begins to dump. `first` runs at the instant of the dump. Returns false, without a new process, if
    /// transactions still ran at `until`, or `first` refused. REQUIRES: it was not started. @throws std::runtime_error
    /// if the system refuses
    [[nodiscard]] bool start(base::deadline until, api::quiescent_action& first);
    /// Passes all pieces to `to` until the process has ended. Returns the bytes of memory that the process had to
    /// itself by then. REQUIRES: start has returned true. @throws std::runtime_error  if the process ended early; what
    /// `to` throws
    [[nodiscard]] std::uint64_t read_into(snapshot_sink& to);
    /// Kills the process if it is still running. Any thread may call it.
    void kill() noexcept;

private:
    void reap(int& status) noexcept;
    [[noreturn]] void throw_exit_status();

    const catalog& procedures_;
    int pipe_ = -1;  // read end of the pipe
    std::mutex mutex_;
    ::pid_t child_ = -1;  // the child, until it has been waited for
    bool killed_ = false;
};

}  // namespace tutti::server
