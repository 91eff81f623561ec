// Keeps children of fork from holding the server's listening sockets. A child that outlives the server would keep its
// port, and clients that no process accepts. (A child that calls exec has closed the sockets already.)
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
