// A copy of this process that dumps the data as they were at one instant, while calls go on here.
//
//   F1  The copy is made while no transaction runs (api/forking.hpp), so the data in it are those after all calls that
//       have drawn a position, and before all that will. Calls stop for as long as fork takes.
//   F2  The child has one thread, the one that forked. It may allocate memory, since glibc puts its heap in order, and
//       run transactions. It opens no file of the log, which SQLite forbids in a copy: the pieces go through a pipe,
//       and a thread of the parent puts them into the log.
//   F3  The child leaves by _exit, so it runs nothing that was registered for the end of the process. It ends with the
//       parent's thread that made it. It has no sockets, so a client that is disconnected sees that at once.
//   F4  A piece counts only if the child said at its end that it had put all. What ends the child otherwise (the system
//       where memory runs out, a crash in a dump) costs the parent nothing but the attempt.
//
// Memory: what either process changes meanwhile, page by page. docs/server-operation.md has figures.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>

#include "api/forking.hpp"
#include "base/clock.hpp"
#include "server/calls/catalog.hpp"
#include "server/calls/dump.hpp"

namespace tutti::server {

/// Thread safety: one thread, the same for all calls but kill().
class dumping_process {
public:
    explicit dumping_process(const catalog& procedures) : procedures_{procedures} {}
    ~dumping_process();
    dumping_process(const dumping_process&) = delete;
    dumping_process& operator=(const dumping_process&) = delete;

    /// Begins to dump. `first` runs at the instant that the dump is of. False: transactions ran until then, or `first`
    /// refused; no process was made. REQUIRES: it was not started. @throws std::runtime_error  the system refuses
    [[nodiscard]] bool start(base::deadline until, api::at_rest& first);
    /// Hands all pieces on, until the process has ended. Returns how many bytes of memory it had to itself by then.
    /// REQUIRES: start has returned true. @throws std::runtime_error  the process has ended otherwise; what `to` throws
    [[nodiscard]] std::uint64_t read_into(piece_sink& to);
    /// Any thread: ends the process, if it has not ended.
    void kill() noexcept;

private:
    void reap(int& status) noexcept;
    [[noreturn]] void tell_of_end();

    const catalog& procedures_;
    int reads_ = -1;  // an end of a pipe
    std::mutex mutex_;
    ::pid_t child_ = -1;  // that has not been waited for
    bool killed_ = false;
};

}  // namespace tutti::server
