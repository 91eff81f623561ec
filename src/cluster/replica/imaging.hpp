// How a seat saves its machine while it goes on. C-Raft asks for a snapshot of the state that is applied; the image of
// that state is begun at once, and then written piece by piece, with whatever else the loop has to do in between.
//
//   I1  C-Raft gets the snapshot when the last piece is stored. It belongs to the entry that was the last one applied
//       when C-Raft asked, because the image is of that state (R8)
//   I2  An image that fails costs nothing but the attempt: the log stays, and C-Raft asks again after a later entry.
//       Images are begun `retry_ms` apart at least
//   I3  A close ends it. No piece that comes back later finds it
//
// Thread safety: as the seat's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "cluster/replica/image_store.hpp"
#include "cluster/replica/machine.hpp"

namespace tutti::cluster::replica {

class imaging {
public:
    struct measure {
        std::size_t shards = 1024, bytes = 256u << 10;  ///< of a piece, at most (machine::next_piece)
    };
    imaging(machine& of, image_store& to, measure pieces) : of_{of}, to_{to}, pieces_{pieces} {}
    ~imaging() = default;  // REQUIRES: no image is under way; the store may have gone
    imaging(const imaging&) = delete;
    imaging& operator=(const imaging&) = delete;

    /// I2.
    [[nodiscard]] bool may_begin(std::uint64_t now_ms) const noexcept { return now_ms >= not_before_ms_; }
    void begin() { of_.begin_image(); }
    /// `told` when it is stored, with 0, or has failed; also before this returns. REQUIRES: begun.
    void write(std::function<void(int status)> told);
    [[nodiscard]] raft_buffer whole() { return to_.whole(); }
    /// Drops the image. `told` of write is not called.
    void abandon() noexcept;
    void put_off(std::uint64_t until_ms) noexcept { not_before_ms_ = until_ms; }

    static constexpr std::uint64_t retry_ms = 1000;

private:
    void go_on();

    machine& of_;
    image_store& to_;
    const measure pieces_;
    std::uint64_t not_before_ms_ = 0;
    std::function<void(int)> told_;  // null: none is written
    std::uint64_t turn_ = 0;         // I3: which image it is
    bool stores_ = false, goes_on_ = false;
};

}  // namespace tutti::cluster::replica
