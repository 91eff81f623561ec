// The place where a member collects an image of its records (RSM8 of state_machine.hpp), until C-Raft has stored the
// image as a snapshot.
//
// Not thread-safe: an image_store belongs to the thread of the raft_io's loop.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "cluster/replica/raft.hpp"

namespace tutti::cluster::replica {

class image_store {
public:
    image_store() = default;
    virtual ~image_store() = default;
    image_store(const image_store&) = delete;
    image_store& operator=(const image_store&) = delete;

    using stored = std::function<void(int status)>;
    /// Stores the next piece. The first piece after `drop` begins a new image. After the last piece, the store adds the
    /// checksum of all pieces (checksummed.hpp). `done` gets 0 or RAFT_…. `done` may be called before this returns, and
    /// is never called after `drop`. REQUIRES: `done` of the previous piece was called.
    virtual void put(std::string piece, bool last, stored done) = 0;
    /// Returns the image for C-Raft, which stays unchanged until `drop`.
    /// REQUIRES: the last piece is stored.
    [[nodiscard]] virtual raft_buffer complete_image() = 0;
    /// Drops the image, complete or not.
    virtual void drop() noexcept = 0;
};

/// Keeps the image in memory, for tests and for members without a disk.
class memory_image final : public image_store {
public:
    void put(std::string piece, bool last, stored done) override;
    [[nodiscard]] raft_buffer complete_image() override { return {bytes_.data(), bytes_.size()}; }
    void drop() noexcept override { bytes_ = {}; }

private:
    std::string bytes_;
};

}  // namespace tutti::cluster::replica
