// A FILE of glibc's that a transaction has touched.
//
// The transaction owns the FILE from its first touch to its end, so glibc's own unlocked functions may work on it in
// place, and none of its fields and none of its buffered bytes needs a barrier:
//
//   against other transactions   a conflict word beside each FILE (conflict_word.hpp), which the first touch takes
//   against everybody else       glibc's own lock of the FILE, which the first touch takes and the end gives back
//
// What it did is undone by putting back the FILE's pointers, as they stood when the innermost block that can be rolled
// back alone first touched it. Bytes behind the pointers need no undoing: glibc reads none of them. That is all there
// is to undo as long as no system call was made. Three things make one:
//
//   the buffer is full, or has to be flushed   what earlier transactions left in it is written, which nothing will
//                                              undo; if that does not make room, the transaction becomes irrevocable
//                                              first ("late irrevocability", paper 004, III.C)
//   the buffer is empty                        of a regular file: it is read, and a roll-back forgets the buffer and
//                                              seeks back to where the program's position was; of anything else: the
//                                              transaction becomes irrevocable first
//   the position changes                       as for an empty buffer
//
// Output of the transaction may not reach the file before the commit. Where glibc would write that output for a seek or
// for input, an overlay of a regular file takes it (file_overlay.hpp). From then on the overlay stands for the file:
// the stream reads from it, and positions are those in it. A roll-back of the outermost touch drops the overlay, that
// of an inner touch takes back what the overlay got since. The commit writes it. So does a call that makes the
// transaction irrevocable, or that reaches the file by another stream, a descriptor or a name.
//
// A stream of open_memstream makes no system call, but glibc moves its buffer when it grows. Each touch keeps an image
// of what the stream holds, and a roll-back puts that into the buffer which the stream has then. A call that tells the
// program where the bytes are (fflush, fclose) makes the transaction irrevocable, for it writes the program's variables
// without barriers.
//
// Invariants
//   F1  `newest` leads to the touches of the running attempt, the latest first, and nowhere when its sequence is not
//       that of the descriptor
//   F2  the outermost touch of a FILE holds its lock and its conflict word, which another touch may hold for it if
//       their words are one; `keep` (the decision is made) or `undo` gives both back
//   F3  a touch whose index in the log of handlers lies behind the mark of the innermost block belongs to that block,
//       or to one inside it that has been merged: its roll-back is exactly that of what the block did
//   F4  a final touch restores nothing: bytes went out, or came in, that cannot be taken back
//   F5  while there is an overlay, its outermost touch holds it, each touch of its FILE that existed at the latest
//       output to it is `moved`, and glibc makes no system call for the FILE
//
// A block of the language that goes on alone, with no way back, gives its FILEs back at the end of the call that made
// it do so: what it calls from there on is glibc's own, and may close them.
//
// A transaction in a context that can be preempted owns no FILE: glibc's lock belongs to a thread, and would let
// another context of the same thread in. There, and under a glibc that lays a FILE out in another way, every touch
// makes the transaction irrevocable and calls glibc's ordinary function.
#pragma once

#include <cstdio>

#include "core/rollback/deferred.hpp"
#include "libc/conflict_word.hpp"
#include "libc/context_state.hpp"

namespace tutti::libc {

class file_overlay;

/// The fields of a FILE that a roll-back puts back.
struct file_place {
    int flags;
    int mode;
    char *read_ptr, *read_end, *read_base, *write_base, *write_ptr, *write_end;
    off64_t offset;
    char* buffer;  ///< its begin, or null
};

/// Of a context, which uses it again.
struct touch final : core::possession {
    FILE* file = nullptr;
    std::size_t index = 0;          ///< in the log of handlers
    bool moved = false;             ///< the kernel's position may have changed since
    bool final = false;             ///< F4
    bool outermost = false;         ///< of its FILE: it holds glibc's lock
    bool armed = false;             ///< there is something to undo
    conflict_word* word = nullptr;  ///< what it has to give back, or null
    off64_t position = 0;           ///< of the program in the file, at the touch; valid if `moved`
    touch* older = nullptr;
    touch* beside = nullptr;  ///< another FILE's outermost touch by the same word
    context_state* home = nullptr;
    file_place before{};
    file_overlay* overlay = nullptr;  ///< of the outermost touch: what waits for the commit; null if nothing does
    std::size_t writes_before = 0;    ///< of the overlay, at the touch; valid if `moved`
    char* image = nullptr;            ///< of a stream in memory: its buffer as it was; from malloc
    std::size_t image_size = 0;

    void keep() noexcept override;
    void undo(descriptor& d) noexcept override;
    /// Writes what waits for the commit (settle_streams).
    void settle() noexcept override;
    /// In the child of a fork, whose parent's thread has the transaction: takes out of the stream's memory what is not
    /// committed. The place in the file is the parent's, which may still change it. REQUIRES: it is the outermost
    /// touch.
    void undo_in_child() const noexcept;

private:
    void give_back() noexcept;
};

// Of glibc's libio.h, which is not installed; is_known_layout() looks whether they mean what they are taken for.
enum file_flag : int {
    unbuffered = 0x0002,
    in_backup = 0x0100,
    line_buffered = 0x0200,
    not_readable = 0x0004,
    at_end = 0x0010,
    in_error = 0x0020,
    putting = 0x0800,
    appending = 0x1000,
    of_buffer = unbuffered | line_buffered | 0x0001,  // what allocating a buffer decides
};

/// Whether the innermost block owns `f` and has touched it last of all, so that its touch undoes what is done now, too.
inline bool touched_last(tx& t, const FILE* f) noexcept {
    const auto& d = static_cast<const descriptor&>(t);
    const auto* const s = static_cast<const context_state*>(d.c_library);
    if (s == nullptr || s->sequence != d.own_sequence || s->newest == nullptr || s->newest->file != f) return false;
    if (s->newest->final) return false;  // it may be one that is only touched
    return d.frame_->parent == nullptr || s->newest->index >= d.frame_->mark.deferred;
}

/// Of a stream of bytes with an ordinary buffer: what is between `from` and the end can be put there, or taken.
/// REQUIRES: touched_last.
inline std::size_t room_at_once(const FILE* f) noexcept {
    constexpr int asked = unbuffered | line_buffered | in_backup | putting;
    if ((f->_flags & asked) != putting || f->_mode >= 0) return 0;
    return static_cast<std::size_t>(f->_IO_write_end - f->_IO_write_ptr);
}
inline std::size_t available_at_once(const FILE* f) noexcept {
    if ((f->_flags & (putting | in_backup)) != 0 || f->_mode >= 0) return 0;
    return static_cast<std::size_t>(f->_IO_read_end - f->_IO_read_ptr);
}

/// What a transaction may do with a FILE.
class file {
public:
    /// Touches `f`. May wait, restart the block, or make it irrevocable.
    file(tx& t, FILE* f);
    ~file() {
        if (went_alone_) itm::own_nothing(static_cast<descriptor&>(t_));
    }
    file(const file&) = delete;
    file& operator=(const file&) = delete;

    /// Whether the end of the transaction gives something back for which the FILE has to be there.
    [[nodiscard]] bool is_touched() const noexcept;
    /// Whether it is one of open_memstream, which has no descriptor.
    [[nodiscard]] bool in_memory() const noexcept { return touch_ != nullptr && touch_->image != nullptr; }
    /// Whether the transaction owns it; else it is irrevocable, or runs alone, and calls glibc's ordinary functions.
    [[nodiscard]] bool owned() const noexcept { return touch_ != nullptr; }

    /// Makes room in the buffer for `size` bytes, or makes the transaction irrevocable. False, and errno says why: what
    /// others left in the buffer could not be written; it is lost, as it is in glibc, and the stream is in error.
    [[nodiscard]] bool before_output(const char* bytes, std::size_t size);
    /// How many bytes can be taken from the buffer.
    [[nodiscard]] std::size_t available() const noexcept;
    [[nodiscard]] const char* next() const noexcept { return f_->_IO_read_ptr; }
    void skip(std::size_t bytes) noexcept { f_->_IO_read_ptr += bytes; }
    /// Fills the empty buffer. False at the end of the file, and on an error.
    [[nodiscard]] bool fill();
    /// Before a flush. False: as for before_output.
    [[nodiscard]] bool before_flush();
    /// Bytes that glibc has not written yet.
    [[nodiscard]] std::size_t pending() const noexcept;
    [[nodiscard]] bool appends() const noexcept;

    /// Whether a seek stays in what has been read into the buffer, so that its pointers are all that changes.
    [[nodiscard]] bool has_buffered(off_t offset, int whence) const noexcept;
    /// Returns true if the transaction keeps output for the file outside of the stream's buffer. Then position() and
    /// seek() take the place of glibc's.
    [[nodiscard]] bool is_detached() const noexcept { return overlay() != nullptr; }
    /// As ftello. REQUIRES: is_detached().
    [[nodiscard]] off_t position() const noexcept;
    /// As fseeko. REQUIRES: is_detached(), after before_moving().
    [[nodiscard]] int seek(off_t offset, int whence) noexcept;
    /// As fflush behind input: what was read ahead is given back. REQUIRES: is_detached(), and nothing is pending.
    void forget_ahead() noexcept;
    /// Before a call that may make a system call which moves the position in the file: prepares to undo it, or makes
    /// the transaction irrevocable where that cannot be undone.
    void before_moving();
    /// Before a call that cannot be undone.
    void before_finality(const char* why, const char* instead = instead_in_general);

private:
    [[nodiscard]] bool has_room(const char* bytes, std::size_t size) noexcept;
    [[nodiscard]] bool is_regular() const noexcept;
    touch& outermost() const noexcept;
    std::size_t committed() const noexcept;
    bool write_committed() noexcept;
    [[nodiscard]] file_overlay* overlay() const noexcept;
    /// Empties the buffer, and moves the position to where the program is in what was read ahead.
    void give_back_input() noexcept;
    /// Has an overlay stand for the file. False: that cannot be.
    [[nodiscard]] bool detach() noexcept;
    /// Moves pending output to the overlay, or makes the transaction irrevocable where memory runs out. REQUIRES:
    /// overlay() is not null.
    void drain();

    tx& t_;
    FILE* f_;
    touch* touch_ = nullptr;
    bool went_alone_ = false;  ///< in this call, which goes on with glibc's unlocked functions
};

}  // namespace tutti::libc
