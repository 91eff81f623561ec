// A pool of connections, each used by one thread at a time. A thread acquires a connection, and returns it to the pool
// if the connection still works. A thread opens a new connection if all are in use.
//
// Thread safety: every member of the pool may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace tutti::cluster::backend {

/// The destructor of `Connection` must close the connection.
template <class Connection>
class connection_pool {
public:
    [[nodiscard]] std::unique_ptr<Connection> acquire() {
        const std::lock_guard hold{guard_};
        if (free_.empty()) return nullptr;
        std::unique_ptr<Connection> one = std::move(free_.back());
        free_.pop_back();
        return one;
    }
    void release(std::unique_ptr<Connection> one) {
        const std::lock_guard hold{guard_};
        free_.push_back(std::move(one));
    }
    /// Closes all free connections after one has broken. All connections lead to the same engine, so a restart of the
    /// engine breaks all of them.
    void close_all() {
        std::vector<std::unique_ptr<Connection>> dropped;
        const std::lock_guard hold{guard_};
        dropped.swap(free_);
    }

private:
    std::mutex guard_;
    std::vector<std::unique_ptr<Connection>> free_;
};

}  // namespace tutti::cluster::backend
