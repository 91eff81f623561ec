// How a node saves its state machine while it continues to work. C-Raft asks for a snapshot of the applied state. The
// node begins the image of that state at once, and then writes the image in pieces, between the loop's other work.
//
//   IMG1  C-Raft gets the snapshot when the last piece is stored. The snapshot belongs to the entry that was the last
//         applied one when C-Raft asked, because the image shows the state of that moment (RSM8).
//   IMG2  A failed image does no harm: the log stays, and C-Raft asks for a snapshot again after a later entry. Images
//         begin at least `retry_ms` apart.
//   IMG3  A close ends the image. Reports about stored pieces that arrive after the close are ignored.
//
// Not thread-safe: an image_writer belongs to the thread of its raft_node.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "cluster/replica/image_store.hpp"
#include "cluster/replica/state_machine.hpp"

namespace tutti::cluster::replica {

class image_writer {
public:
    struct piece_limits {
        std::size_t shards = 1024, bytes = 256u << 10;  ///< limits of a piece (state_machine::next_piece)
    };
    image_writer(state_machine& of, image_store& to, piece_limits pieces) : of_{of}, to_{to}, pieces_{pieces} {}
    ~image_writer() = default;  // REQUIRES: no image is being written; the store may already be destroyed
    image_writer(const image_writer&) = delete;
    image_writer& operator=(const image_writer&) = delete;

    /// Returns true if an image may begin (IMG2).
    [[nodiscard]] bool may_begin(std::uint64_t now_ms) const noexcept { return now_ms >= not_before_ms_; }
    void begin() { of_.begin_image(); }
    /// Writes the image. Calls `callback` with 0 when the image is stored, or with an error code. May call `callback`
    /// before this function returns. REQUIRES: `begin` was called.
    void write(std::function<void(int status)> callback);
    [[nodiscard]] raft_buffer complete_image() { return to_.complete_image(); }
    /// Drops the image. The callback of `write` is not called any more.
    void abandon() noexcept;
    void postpone(std::uint64_t until_ms) noexcept { not_before_ms_ = until_ms; }

    static constexpr std::uint64_t retry_ms = 1000;

private:
    void continue_writing();

    state_machine& of_;
    image_store& to_;
    const piece_limits pieces_;
    std::uint64_t not_before_ms_ = 0;
    std::function<void(int)> on_written_;  // null: no image is being written
    std::uint64_t image_number_ = 0;       // IMG3: identifies the image
    bool is_storing_ = false, is_continuing_ = false;
};

}  // namespace tutti::cluster::replica
