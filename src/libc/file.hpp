// A FILE of glibc that a transaction owns.
//
// The transaction owns the FILE from its first use to the end of the transaction. So glibc's own unlocked functions may
// work on the FILE in place, and neither its fields nor its buffered bytes need barriers:
//
//   against other transactions   the first use acquires the FILE's conflict word (conflict_word.hpp)
//   against other threads        the first use acquires glibc's own lock of the FILE, and the end releases the lock
//
// Each block that can be rolled back on its own has an `owned_stream` for each FILE that it uses: a record of the FILE
// at the block's first use. A roll-back restores the FILE's pointers from this record. Bytes after the pointers need no
// undo, because glibc does not read them. Nothing else has to be undone, unless a system call was made. There are three
// reasons for a system call:
//
//   the buffer is full, or has to be flushed   output that earlier transactions left in the buffer is written, and this
//                                              is never undone; if this does not make room, the transaction becomes
//                                              irrevocable first ("late irrevocability", paper 004, III.C)
//   the buffer is empty                        a regular file is read; a roll-back empties the buffer and seeks back
//                                              to the program's position; for other files the transaction becomes
//                                              irrevocable first
//   the position changes                       as for an empty buffer
//
// Output of the transaction must not reach the file before the commit. If glibc would write that output for a seek or
// for input, an overlay of the file receives the output instead (file_overlay.hpp). The file must be a regular file.
// From then on the overlay replaces the file: the stream reads from the overlay, and positions refer to the overlay. A
// roll-back of the FILE's outermost record drops the overlay. A roll-back of an inner record removes what was written
// to the overlay since that record was made. The commit writes the overlay to the file. A call that makes the
// transaction irrevocable also writes the overlay to the file. A call that accesses the file by another stream, a
// descriptor or a name does the same.
//
// A stream of open_memstream makes no system call, but glibc moves its buffer when the buffer grows. Each record has an
// image of the stream's contents, and a roll-back copies the image into the current buffer. fflush and fclose store the
// address of the bytes in the program's variables. These calls make the transaction irrevocable, because they write the
// variables without barriers.
//
// Invariants ("record": an `owned_stream`)
//   FIL1  `newest` leads to the records of the running attempt, the latest first. The pointer is out of date if its
//         sequence is not that of the descriptor
//   FIL2  the outermost record of a FILE holds the FILE's lock and its conflict word. If two FILEs share a word, one of
//         their records holds the word for both. Lock and word are released by `release`, after the commit is decided,
//         or by `undo`
//   FIL3  a record whose index in the log of handlers is above the mark of the innermost block belongs to that block,
//         or to a block inside it that has been merged. So the record's roll-back undoes exactly what the block did
//   FIL4  a final record restores nothing, because bytes were written or read, which cannot be undone
//   FIL5  while there is an overlay, the outermost record of its FILE holds the overlay, each record of that FILE that
//         existed at the latest output to the overlay is `position_moved`, and glibc makes no system call for the FILE
//
// A call may make a block of the language continue alone, without the possibility of a roll-back. At the end of that
// call, the block releases its FILEs, because from then on the block calls glibc's own functions, which may close the
// FILEs.
//
// A transaction in a context that can be preempted owns no FILE. glibc's lock belongs to a thread, so the lock would
// admit another context of the same thread. In such a context, every use of a FILE makes the transaction irrevocable
// and calls glibc's ordinary function. The same happens if the running glibc has a different layout of FILE.
#pragma once

#include <cstdio>

#include "core/rollback/deferred.hpp"
#include "libc/conflict_word.hpp"
#include "libc/context_state.hpp"

namespace tutti::libc {

class file_overlay;

/// The fields of a FILE that a roll-back restores.
struct saved_file_state {
    int flags;
    int mode;
    char *read_ptr, *read_end, *read_base, *write_base, *write_ptr, *write_end;
    off64_t offset;
    char* buffer;  ///< the buffer's start, or null
};

/// The record of a FILE that a transaction owns, made at a block's first use of the FILE. The object belongs to a
/// context, which reuses the object.
struct owned_stream final : core::owned_resource {
    FILE* file = nullptr;
    std::size_t index = 0;          ///< index in the log of handlers
    bool position_moved = false;    ///< the kernel's position may have changed since the first use
    bool final = false;             ///< FIL4
    bool outermost = false;         ///< the first record of its FILE, which holds glibc's lock
    bool armed = false;             ///< a roll-back has something to undo
    conflict_word* word = nullptr;  ///< the word that this record releases, or null
    off64_t position = 0;           ///< the program's position in the file at the first use; valid if `position_moved`
    owned_stream* older = nullptr;
    owned_stream* next_with_word = nullptr;  ///< the outermost record of another FILE with the same word
    context_state* context = nullptr;
    saved_file_state saved_state{};
    file_overlay* overlay = nullptr;  ///< in the outermost record: output that waits for the commit, or null
    std::size_t writes_before = 0;    ///< the overlay's count of writes at the first use; valid if `position_moved`
    char* image = nullptr;            ///< for a stream in memory: its earlier contents, from malloc
    std::size_t image_size = 0;

    void release() noexcept override;
    void undo(descriptor& d) noexcept override;
    /// Writes the output that is deferred to the commit (write_deferred_output).
    void make_effective() noexcept override;
    /// Removes uncommitted output from the stream's memory in the child of a fork, for a transaction of a thread of the
    /// parent. Does not change the position in the file, because the parent shares the position and may still change
    /// it. REQUIRES: this is the outermost record.
    void undo_in_child() const noexcept;

private:
    void unlock() noexcept;
};

// Constants from glibc's libio.h, which is not installed. is_known_layout() checks that the values have the expected
// meaning.
enum file_flag : int {
    unbuffered = 0x0002,
    in_backup = 0x0100,
    line_buffered = 0x0200,
    not_readable = 0x0004,
    at_end = 0x0010,
    in_error = 0x0020,
    putting = 0x0800,
    appending = 0x1000,
    of_buffer = unbuffered | line_buffered | 0x0001,  // flags that are set when a buffer is allocated
};

/// Returns true if the innermost block owns `f` and its latest record is a record of `f`. In this case, that record
/// also undoes the changes that the block makes to `f` now.
inline bool is_latest_owned(tx& t, const FILE* f) noexcept {
    const auto& d = static_cast<const descriptor&>(t);
    const context_state* const s = state_of_attempt(d);
    if (s == nullptr || s->newest == nullptr || s->newest->file != f) return false;
    if (s->newest->final) return false;  // if the latest record is final, the transaction may not own the FILE
    return d.frame_->parent == nullptr || s->newest->index >= d.frame_->mark.deferred;
}

/// Return how many bytes can be put into, or taken from, the ordinary buffer of a byte stream in one step. Return 0 for
/// other streams. REQUIRES: is_latest_owned.
inline std::size_t room_at_once(const FILE* f) noexcept {
    constexpr int asked = unbuffered | line_buffered | in_backup | putting;
    if ((f->_flags & asked) != putting || f->_mode >= 0) return 0;
    return static_cast<std::size_t>(f->_IO_write_end - f->_IO_write_ptr);
}
inline std::size_t available_at_once(const FILE* f) noexcept {
    if ((f->_flags & (putting | in_backup)) != 0 || f->_mode >= 0) return 0;
    return static_cast<std::size_t>(f->_IO_read_end - f->_IO_read_ptr);
}

/// The operations of a transaction on a FILE.
class file {
public:
    /// Makes the transaction the owner of `f`. May wait, restart the block, or make the transaction irrevocable.
    file(tx& t, FILE* f);
    ~file() {
        if (became_serial_) itm::release_resources(static_cast<descriptor&>(t_));
    }
    file(const file&) = delete;
    file& operator=(const file&) = delete;

    /// Returns true if the FILE must exist until the end of the transaction, because the end releases a lock or a word
    /// of the FILE.
    [[nodiscard]] bool must_outlive_transaction() const noexcept;
    /// Returns true for a stream of open_memstream, which has no descriptor.
    [[nodiscard]] bool in_memory() const noexcept { return owned_ != nullptr && owned_->image != nullptr; }
    /// Returns true if the transaction owns the FILE. Otherwise the transaction is irrevocable or runs alone, and calls
    /// glibc's ordinary functions.
    [[nodiscard]] bool is_owned() const noexcept { return owned_ != nullptr; }

    /// Makes room in the buffer for `size` bytes, or makes the transaction irrevocable. Returns false and sets errno if
    /// output of earlier transactions could not be written. That output is lost, as it is in glibc, and the stream is
    /// in error.
    [[nodiscard]] bool before_output(const char* bytes, std::size_t size);
    /// Returns how many bytes can be taken from the buffer without a system call.
    [[nodiscard]] std::size_t available() const noexcept;
    [[nodiscard]] const char* next_bytes() const noexcept { return f_->_IO_read_ptr; }
    void skip(std::size_t bytes) noexcept { f_->_IO_read_ptr += bytes; }
    /// Fills the empty buffer. Returns false at the end of the file or on an error.
    [[nodiscard]] bool fill();
    /// Call this before a flush. Returns false in the same cases as before_output.
    [[nodiscard]] bool before_flush();
    /// Returns how many bytes in the buffer glibc has not written yet.
    [[nodiscard]] std::size_t pending() const noexcept;
    [[nodiscard]] bool appends() const noexcept;

    /// Returns true if a seek stays within the bytes in the buffer, so that only the FILE's pointers change.
    [[nodiscard]] bool has_buffered(off_t offset, int whence) const noexcept;
    /// Returns true if output of the transaction for the file is in an overlay, outside of the stream's buffer. Then
    /// position() and seek() replace glibc's functions.
    [[nodiscard]] bool is_detached() const noexcept { return overlay() != nullptr; }
    /// Like ftello. REQUIRES: is_detached().
    [[nodiscard]] off_t position() const noexcept;
    /// Seeks like fseeko. REQUIRES: is_detached(), and before_moving() was called.
    [[nodiscard]] int seek(off_t offset, int whence) noexcept;
    /// Discards bytes that were read ahead, as fflush does after input. REQUIRES: is_detached(), and no output is
    /// pending.
    void discard_read_ahead() noexcept;
    /// Call this before a call that may move the position in the file by a system call. Prepares to undo the call, or
    /// makes the transaction irrevocable if the call cannot be undone.
    void before_moving();
    /// Call this before a call that cannot be undone.
    void before_irreversible_call(const char* why, const char* advice = default_advice);

private:
    [[nodiscard]] bool has_room(const char* bytes, std::size_t size) noexcept;
    [[nodiscard]] bool is_regular() const noexcept;
    owned_stream& outermost() const noexcept;
    std::size_t committed() const noexcept;
    bool write_committed() noexcept;
    [[nodiscard]] file_overlay* overlay() const noexcept;
    /// Empties the buffer, and moves the file's position to the program's position.
    void unread_input() noexcept;
    /// Replaces the file by an overlay. Returns false if that is impossible.
    [[nodiscard]] bool detach() noexcept;
    /// Moves pending output to the overlay, or makes the transaction irrevocable if memory runs out. REQUIRES:
    /// overlay() is not null.
    void move_output_to_overlay();

    tx& t_;
    FILE* f_;
    owned_stream* owned_ = nullptr;
    bool became_serial_ = false;  ///< made serial by this call, which continues with glibc's unlocked functions
};

}  // namespace tutti::libc
