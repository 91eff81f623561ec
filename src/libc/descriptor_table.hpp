// Descriptors of files, as a transaction sees them.
//
// A descriptor that the transaction creates exists at once: the kernel gives its number to no other call, and a
// roll-back closes it. A descriptor that the transaction closes stays open until the commit, because a roll-back could
// not be sure to get its number back. Until then, every function of this folder treats it as closed.
//
// Two transactions conflict on the file (its device and inode): duplicated descriptors share a position, and different
// descriptors of one file share its size. Paper 004, figure 3, has a conflict word for each descriptor. Here an
// abstract lock is used, because it has to be held until the call has been undone. A transaction loses a conflict word
// before that.
//
// Invariants
//   FDT1  `closing` of the context's state leads to the closes of the running attempt, the latest first
//   FDT2  a close that is not `live` was cancelled: dup2 has since made the number another descriptor
#pragma once

#include <sys/stat.h>

#include "libc/context.hpp"

namespace tutti::libc {

/// A descriptor that the commit closes.
struct pending_close {
    int fd;
    bool live;
    dev_t device;  ///< of the file, so that a descriptor reopened by other code under this number is not closed
    ino_t inode;
    pending_close* older;
};

/// Returns the close of `fd`, or null if the descriptor stays open.
pending_close* find_closing(tx& t, int fd) noexcept;

/// Returns false and sets errno to EBADF if the transaction has closed the descriptor.
[[nodiscard]] bool is_usable(tx& t, int fd) noexcept;

/// Makes the commit close `fd`. `about` is its fstat. Returns false if there is no memory to record this.
[[nodiscard]] bool close_at_commit(tx& t, int fd, const struct stat& about);

/// Locks the file until the transaction ends. Other transactions cannot move a position in the file or change its size.
/// Unless `shared`, they cannot read them by a call of this folder either. Fails like `hold_until_end` (effects.hpp).
[[nodiscard]] bool lock_file(tx& t, const struct stat& about, bool shared);

/// To be called before a call that reads the file by another way than the stream to which this block writes. Makes the
/// transaction irrevocable and writes that output. Returns false if no output waits for the file (file_overlay.hpp).
bool write_deferred_output_to(tx& t, const struct stat& about);

/// Writes private bytes, as write().
ssize_t write_private(tx& t, int fd, const void* from, std::size_t count);

}  // namespace tutti::libc
