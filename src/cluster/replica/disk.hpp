// libuv's raft_io, watched: a write that fails is told, with what the disk has left.
#pragma once

#include <functional>
#include <string>

#include "cluster/replica/hardship.hpp"
#include "cluster/replica/raft_loop.hpp"

namespace tutti::cluster::replica {

class disk {
public:
    /// `failed` gets a line for the operator, once; nothing that C-Raft does after it counts. Throws backend::refusal.
    disk(uv_loop_t& loop, std::string folder, raft_uv_transport* through, std::function<void(std::string)> failed);
    /// REQUIRES: C-Raft has closed it, or never started.
    ~disk() { raft_uv_close(&io_); }
    disk(const disk&) = delete;
    disk& operator=(const disk&) = delete;

    [[nodiscard]] raft_io& io() noexcept { return io_; }

private:
    struct watched : raft_io {
        disk* of = nullptr;
    };
    struct appending;
    struct saving;
    static disk& of(raft_io* io) noexcept { return *static_cast<watched*>(io)->of; }
    /// `status`, and tells of it if it is a failure.
    int look(const char* what, int status);

    const std::string folder_;
    std::function<void(std::string)> failed_;
    disk_delay delay_;
    watched io_{};
    raft_io real_{};  // the functions that are behind the watched ones
};

}  // namespace tutti::cluster::replica
