#include "cluster/replica/image_writer.hpp"

#include <new>
#include <utility>

#include "cluster/replica/checksummed.hpp"

namespace tutti::cluster::replica {

void memory_image::put(std::string piece, bool last, stored done) {
    bytes_ += piece;
    if (last) finish_checksummed(bytes_);
    done(0);
}

void image_writer::write(std::function<void(int status)> callback) {
    on_written_ = std::move(callback);
    continue_writing();
}

/// Writes the pieces in a loop, not by recursion: the stack does not grow if the store calls `done` at once.
void image_writer::continue_writing() {
    if (std::exchange(is_continuing_, true)) return;
    bool over = false;
    int status = 0;
    const std::uint64_t mine = image_number_;
    while (!is_storing_ && !over) {
        std::string piece;
        bool last = true;
        try {
            last = of_.next_piece(pieces_.shards, pieces_.bytes, piece);
        } catch (const std::bad_alloc&) {
            status = RAFT_NOMEM;
            break;
        }
        is_storing_ = true;
        to_.put(std::move(piece), last, [this, mine, last, &over, &status](int bad) {
            if (mine != image_number_) return;
            is_storing_ = false;
            if (!is_continuing_) {
                if (bad == 0 && !last) return continue_writing();
                return std::exchange(on_written_, nullptr)(bad);
            }
            over = bad != 0 || last;
            status = bad;
        });
    }
    is_continuing_ = false;
    if (over || status != 0) std::exchange(on_written_, nullptr)(status);
}

void image_writer::abandon() noexcept {
    ++image_number_;
    is_storing_ = false;
    on_written_ = nullptr;
    of_.drop_image();
    to_.drop();
}

}  // namespace tutti::cluster::replica
