// An image in a file of the member's folder. The file has no name until C-Raft has written it as a snapshot. Threads of
// libuv's pool do the work that waits for the disk; the loop only hands over pieces.
//
// Each piece is written to the disk soon, and at most `max_unwritten_bytes` bytes wait for the disk. So writes of the
// log find a short queue, and the system does not delay writes of the loop.
//
// Not thread-safe: an image_file belongs to the loop's thread.
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
    /// REQUIRES: the loop has no work of this object any more, or runs until that work is done.
    ~image_file() override { drop(); }

    void put(std::string piece, bool last, stored done) override;
    [[nodiscard]] raft_buffer complete_image() override;
    void drop() noexcept override;
    /// Returns the error of the latest image, for the operator, and clears the error. Empty: no error.
    [[nodiscard]] std::string take_error() { return std::exchange(error_, {}); }

    static constexpr std::size_t max_unwritten_bytes = std::size_t{8} << 20;

private:
    struct impl;
    uv_loop_t& loop_;
    const std::string folder_;
    std::shared_ptr<impl> impl_;  // null: there is no image
    std::string error_;
};

}  // namespace tutti::cluster::replica
