// A copy of this process that dumps the data as of one instant, while calls continue in this process.
//
// DMP1  The process is copied while no transaction runs (api/hooks/forking.hpp). So the copy contains the effects of
//       all calls that have reserved a position, and of no later call. Calls stop for the duration of the fork.
// DMP2  The child has one thread, the one that forked. The child may allocate memory, because glibc makes the heap
//       usable after a fork, and it may run transactions. The child opens no file of the log, because SQLite forbids
//       this in a copy. The child writes the pieces to a pipe, and a thread of the parent adds them to the log.
// DMP3  The child ends with _exit, so it runs no function that was registered for the end of the process. The system
//       kills the child when the parent's thread that forked it ends. The child closes its copies of the sockets, so a
//       client that the server disconnects notices the disconnection at once.
// DMP4  The pieces are used only if the child reports at its end that it has written all of them. After any other end
//       of the child, such as an out-of-memory kill or a crash in a dump, the parent only loses this attempt.
//
// Memory: the dump needs memory for the pages that one of the two processes changes during the dump.
// docs/server-operation.md has figures.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>

#include "api/hooks/forking.hpp"
#include "base/clock.hpp"
#include "server/calls/catalog.hpp"
#include "server/calls/dump.hpp"

namespace tutti::server {

/// Thread safety: one thread makes all calls. Only kill() may be called by other threads.
class dumping_process {
public:
    explicit dumping_process(const catalog& procedures) : procedures_{procedures} {}
    ~dumping_process();
    dumping_process(const dumping_process&) = delete;
    dumping_process& operator=(const dumping_process&) = delete;

    /// Forks and begins to dump. `first` runs at the instant of the dump. Returns false, without a new process, if
    /// transactions were still running at `until`, or if the `prepare` of `first` returned false. REQUIRES: start has
    /// not been called.
    /// @throws std::runtime_error if the system cannot fork
    [[nodiscard]] bool start(base::deadline until, api::quiescent_action& first);
    /// Passes all pieces to `to` until the process has ended. Returns how many bytes of memory only that process used
    /// at its end. REQUIRES: start has returned true. @throws std::runtime_error  if the process ended early; what `to`
    /// throws
    [[nodiscard]] std::uint64_t read_into(snapshot_sink& to);
    /// Kills the process if it is still running. Any thread may call it.
    void kill() noexcept;

private:
    void reap(int& status) noexcept;
    [[noreturn]] void throw_exit_status();

    const catalog& procedures_;
    int pipe_ = -1;  // read end of the pipe
    std::mutex mutex_;
    ::pid_t child_ = -1;  // the child, until the parent has waited for it
    bool killed_ = false;
};

}  // namespace tutti::server
