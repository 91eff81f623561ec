// Descriptors of files, as a transaction sees them.
//
// A descriptor that the transaction makes is made at once: the kernel hands its number to no other call, and a
// roll-back closes it. One that it closes stays open until the commit, because its number could not be had back for
// certain; until then every function of this folder takes it for closed.
//
// What two transactions conflict on is the file (its device and inode): descriptors that were duplicated share a
// position, and different ones of a file share its size. Paper 004, figure 3, has a conflict word for each descriptor.
// Here it is an abstract lock, since it has to be held until the call has been undone, and ownership of a word is given
// up before.
//
// Invariants
//   D1  `closing` of the context's state leads to the closes of the running attempt, the latest first
//   D2  a close that is not `live` was taken back: dup2 has made the number another descriptor since
#pragma once

#include <sys/stat.h>

#include "libc/context.hpp"

namespace tutti::libc {

/// A descriptor that the commit closes.
struct pending_close {
    int fd;
    bool live;
    dev_t device;  ///< of the file, so that what came to this number behind our back is not closed
    ino_t inode;
    pending_close* older;
};

/// Null: it stays open.
pending_close* find_closing(tx& t, int fd) noexcept;

/// False, and errno is EBADF: the transaction has closed it.
[[nodiscard]] bool usable(tx& t, int fd) noexcept;

/// Has the commit close it; `about` is what fstat says of it. False: there is no memory to remember it.
[[nodiscard]] bool close_at_commit(tx& t, int fd, const struct stat& about);

/// From here to the end of the transaction no other one moves a position in the file or changes its size, nor, unless
/// `shared`, looks at it by a call of this folder. As `hold` (effects.hpp).
[[nodiscard]] bool lock_file(tx& t, const struct stat& about, bool shared);

/// Before a call that looks at the file beside the stream by which this block writes to it: makes the transaction
/// irrevocable and writes that output. False: no output waits for the file (file_overlay.hpp).
bool settle_file(tx& t, const struct stat& about);

/// write() of private bytes.
ssize_t write_private(tx& t, int fd, const void* from, std::size_t count);

}  // namespace tutti::libc
