// Logs private memory of the thread. The compiler writes this memory directly, and calls these functions before the
// write, so that a roll-back can restore the memory. The entries are in the write set, which is undone newest first,
// because the same bytes may also be written through barriers.
#include "api/aligned_pieces.hpp"
#include "itm/access.hpp"

namespace tutti::itm {

void log_bytes(const void* at, std::size_t size) {
    descriptor& d = current();
    if (runtime_state_of(d).direct) return;
    // If the attempt has been rolled back, its writes from here on would not be undone. So the attempt must not
    // continue.
    if (!d.healthy() && !api::attempt_continues(d)) return;
    api::for_each_piece(reinterpret_cast<std::uintptr_t>(at), size, [&d](std::uintptr_t piece_at, unsigned piece) {
        const auto* const piece_begin = reinterpret_cast<const void*>(piece_at);
        word* const whole = word_of(piece_begin);
        d.writes.push({whole, nullptr, copy_of<word>(whole), memory::no_version, memory::no_entry,
                       bytes_of(piece_begin, piece), false});
    });
    d.notes_end = d.writes.size();
}

}  // namespace tutti::itm
