// Listening sockets that children of fork do not keep: a child that outlives the server would keep its port, and
// clients that no process accepts. (What becomes another program has lost them already: they are closed at exec.)
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
