// An image in a file of the member's folder, without a name, until C-Raft has written it as a snapshot. Threads of
// libuv's pool do what waits for the disk: the loop only hands over pieces.
//
// What is written goes to the disk as it comes, and never more than `most_unwritten` of it waits there. So the log's
// own writes find a short queue, and the system has no reason to hold up a write of the loop.
//
// Thread safety: none; the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "cluster/replica/image_store.hpp"
#include "cluster/replica/raft_loop.hpp"

namespace tutti::cluster::replica {

class image_file final : public image_store {
public:
    image_file(uv_loop_t& loop, std::string folder) : loop_{loop}, folder_{std::move(folder)} {}
    /// REQUIRES: the loop does no work of it any more, or goes on until it has done it.
    ~image_file() override { drop(); }

    void put(std::string piece, bool last, stored done) override;
    [[nodiscard]] raft_buffer whole() override;
    void drop() noexcept override;
    /// Why the latest image has failed, for the operator, once; empty: it has not.
    [[nodiscard]] std::string take_trouble() { return std::exchange(trouble_, {}); }

    static constexpr std::size_t most_unwritten = std::size_t{8} << 20;

private:
    struct body;
    uv_loop_t& loop_;
    const std::string folder_;
    std::shared_ptr<body> now_;  // null: none
    std::string trouble_;
};

}  // namespace tutti::cluster::replica
