// Where the image of a member's records goes while it is made (R8 of machine.hpp), until C-Raft has it as a snapshot.
//
// Thread safety: none; the thread of the raft_io's loop.
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
    /// Takes the next piece, and begins a new image with the first after `drop`. Behind the last piece it writes the
    /// checksum of all (sealed.hpp). `done` gets 0 or RAFT_…, also before this returns, and never after `drop`.
    /// REQUIRES: `done` of the piece before was called.
    virtual void put(std::string piece, bool last, stored done) = 0;
    /// What C-Raft is given for the image. It stays as it is until `drop`. REQUIRES: the last piece is stored.
    [[nodiscard]] virtual raft_buffer whole() = 0;
    /// The member drops the image, whole or not.
    virtual void drop() noexcept = 0;
};

/// Keeps the image in memory: for tests, and for members without a disk.
class memory_image final : public image_store {
public:
    void put(std::string piece, bool last, stored done) override;
    [[nodiscard]] raft_buffer whole() override { return {bytes_.data(), bytes_.size()}; }
    void drop() noexcept override { bytes_ = {}; }

private:
    std::string bytes_;
};

}  // namespace tutti::cluster::replica
