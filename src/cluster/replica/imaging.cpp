#include "cluster/replica/imaging.hpp"

#include <new>
#include <utility>

#include "cluster/replica/sealed.hpp"

namespace tutti::cluster::replica {

void memory_image::put(std::string piece, bool last, stored done) {
    bytes_ += piece;
    if (last) seal(bytes_);
    done(0);
}

void imaging::write(std::function<void(int status)> told) {
    told_ = std::move(told);
    go_on();
}

/// Writes one piece after the other. A store that answers at once does not make the stack grow.
void imaging::go_on() {
    if (std::exchange(goes_on_, true)) return;
    bool over = false;
    int status = 0;
    const std::uint64_t mine = turn_;
    while (!stores_ && !over) {
        std::string piece;
        bool last = true;
        try {
            last = of_.next_piece(pieces_.shards, pieces_.bytes, piece);
        } catch (const std::bad_alloc&) {
            status = RAFT_NOMEM;
            break;
        }
        stores_ = true;
        to_.put(std::move(piece), last, [this, mine, last, &over, &status](int bad) {
            if (mine != turn_) return;
            stores_ = false;
            if (!goes_on_) {
                if (bad == 0 && !last) return go_on();
                return std::exchange(told_, nullptr)(bad);
            }
            over = bad != 0 || last;
            status = bad;
        });
    }
    goes_on_ = false;
    if (over || status != 0) std::exchange(told_, nullptr)(status);
}

void imaging::abandon() noexcept {
    ++turn_;
    stores_ = false;
    told_ = nullptr;
    of_.drop_image();
    to_.drop();
}

}  // namespace tutti::cluster::replica
