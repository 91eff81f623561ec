// Keeps children of fork from holding the server's listening sockets. Otherwise a child that outlives the server would
// keep the port in use, and clients could connect although no process accepts them. (A child that calls exec has closed
// the sockets already.)
//
// Thread safety: any thread.
#pragma once

namespace tutti::server {

class fork_guard {
public:
    /// REQUIRES: `listener` stays open for as long as this object lives. @throws std::bad_alloc
    explicit fork_guard(int listener);
    ~fork_guard();
    fork_guard(const fork_guard&) = delete;
    fork_guard& operator=(const fork_guard&) = delete;

private:
    const int listener_;
};

}  // namespace tutti::server
