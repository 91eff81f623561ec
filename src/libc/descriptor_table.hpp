// File descriptors in a transaction.
//
// A descriptor that the transaction creates exists immediately. The kernel does not give its number to other calls, and
// a roll-back closes the descriptor. A descriptor that the transaction closes stays open until the commit, because a
// roll-back might not get its number back. Until then, every function in this folder treats the descriptor as closed.
//
// Two transactions conflict on the file (its device and inode), because duplicated descriptors share a position, and
// all descriptors of one file share its size. Paper 004, figure 3, has a conflict word for each descriptor. This
// library uses an abstract lock instead, because the lock has to be held until the call has been undone. A transaction
// releases its conflict words earlier.
//
// Invariants
//   FDT1  `closing` of the context's state leads to the recorded closes of the running attempt, the latest first
//   FDT2  a recorded close that is not `live` was cancelled, because dup2 has made the number another descriptor
#pragma once

#include <sys/stat.h>

#include "libc/context.hpp"

namespace tutti::libc {

/// A descriptor that the commit closes.
struct pending_close {
    int fd;
    bool live;
    dev_t device;  ///< device of the file; prevents the close of another file that was reopened under this number
    ino_t inode;
    pending_close* older;
};

/// Returns the recorded close of `fd`, or null if the transaction does not close the descriptor.
pending_close* find_closing(tx& t, int fd) noexcept;

/// Returns false and sets errno to EBADF if the transaction has closed the descriptor.
[[nodiscard]] bool is_usable(tx& t, int fd) noexcept;

/// Makes the commit close `fd`. `about` is the result of fstat. Returns false if there is no memory to record the
/// close.
[[nodiscard]] bool close_at_commit(tx& t, int fd, const struct stat& about);

/// Locks the file until the transaction ends. Other transactions cannot move a position in the file or change the
/// file's size. Unless `shared`, other transactions cannot read position and size by a call in this folder either.
/// Fails like `hold_until_end` (effects.hpp).
[[nodiscard]] bool lock_file(tx& t, const struct stat& about, bool shared);

/// Call this before a call that reads the file by other means than the stream to which this block writes. Makes the
/// transaction irrevocable and writes the block's deferred output. Returns false if no output is deferred for the file
/// (file_overlay.hpp).
bool write_deferred_output_to(tx& t, const struct stat& about);

/// Writes bytes of private memory, like write().
ssize_t write_private(tx& t, int fd, const void* from, std::size_t count);

}  // namespace tutti::libc
