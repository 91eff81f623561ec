// Creating, duplicating and closing descriptors. See descriptor_table.hpp.
#include <fcntl.h>
#include <unistd.h>

#include "libc/descriptor_table.hpp"
#include "libc/effects.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

struct close_one {
    int fd;
    void operator()() const noexcept { ::close(fd); }
};
struct close_both {
    int first, second;
    void operator()() const noexcept {
        ::close(first);
        ::close(second);
    }
};

/// Undoes F_SETFD and F_SETFL.
struct restore_flags {
    int fd, command, flags;
    void operator()() const noexcept { ::fcntl(fd, command, flags); }
};

/// Undoes a dup2 that has replaced an open descriptor.
struct restore_descriptor {
    int saved, number, flags;
    pending_close* closed;  ///< the transaction's earlier close of that number, or null
    void operator()() const noexcept {
        ::dup3(saved, number, (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
        ::close(saved);
        if (closed != nullptr) closed->live = true;
    }
};

/// Runs a call that creates one descriptor.
template <class Call>
int made(tx& t, Call call) {
    auto* const undo = prepare_undo<close_one>(t);
    if (undo == nullptr) return -1;
    const int fd = call();
    if (fd >= 0) undo->arm({fd});
    return fd;
}

/// Runs dup3 with the number of an open descriptor as target. `flags_before` are the flags of that descriptor.
int replace(tx& t, int from, int to, int flags, int flags_before) {
    auto* const undo = prepare_undo<restore_descriptor>(t);
    // The saved number is in memory of the transaction, because the commit action runs before the undo action is
    // deleted.
    struct saved_descriptor {
        int saved = -1;
    };
    auto* const kept =
        undo != nullptr ? static_cast<saved_descriptor*>(private_memory(t, sizeof(saved_descriptor))) : nullptr;
    if (kept == nullptr) return -1;
    kept->saved = -1;
    const auto forget = [kept] {
        if (kept->saved >= 0) ::close(kept->saved);
    };
    if (!defer(t, detail::handler_point::at_commit, forget)) return -1;
    const int saved = ::fcntl(to, F_DUPFD_CLOEXEC, 0);
    if (saved < 0) {  // there is no free number for a copy of the descriptor
        become_irrevocable(t, "dup2 onto an open descriptor, with no descriptor left to save it");
        return ::dup3(from, to, flags);
    }
    if (::dup3(from, to, flags) < 0) {
        const errno_guard saved_errno;
        ::close(saved);
        return -1;
    }
    pending_close* const closed = find_closing(t, to);
    if (closed != nullptr) closed->live = false;
    kept->saved = saved;
    undo->arm({saved, to, flags_before, closed});
    return to;
}

}  // namespace

int close(tx& t, int fd) {
    const int error = errno;
    struct stat about;
    if (!is_usable(t, fd) || ::fstat(fd, &about) != 0) return -1;
    if (!close_at_commit(t, fd, about)) {
        become_irrevocable(t, "close, without memory to defer it");
        return ::close(fd);
    }
    errno = error;
    return 0;
}

int dup(tx& t, int fd) {
    if (!is_usable(t, fd)) return -1;
    return made(t, [fd] { return ::dup(fd); });
}

int dup3(tx& t, int from, int to, int flags) {
    const int error = errno;
    if (!is_usable(t, from)) return -1;
    const int before = from != to ? ::fcntl(to, F_GETFD) : -1;
    const int result =
        before < 0 ? made(t, [=] { return ::dup3(from, to, flags); }) : replace(t, from, to, flags, before);
    if (result >= 0) errno = error;
    return result;
}

int dup2(tx& t, int from, int to) {
    if (from != to) return libc::dup3(t, from, to, 0);
    return is_usable(t, from) ? ::dup2(from, to) : -1;
}

int fcntl(tx& t, int fd, int command, std::intptr_t argument) {
    if (!is_usable(t, fd)) return -1;
    const auto call = [&] { return ::fcntl(fd, command, argument); };
    switch (command) {
        case F_GETFD:
        case F_GETFL:
        case F_GETOWN:
        case F_GETSIG:
        case F_GETLEASE:
        case F_GETPIPE_SZ:
        case F_GET_SEALS: return call();
        case F_DUPFD:
        case F_DUPFD_CLOEXEC: return made(t, call);
        case F_SETFD:
        case F_SETFL: {
            struct stat about;
            if (::fstat(fd, &about) != 0 || !lock_file(t, about, false)) return -1;
            auto* const undo = prepare_undo<restore_flags>(t);
            const int before = undo != nullptr ? ::fcntl(fd, command == F_SETFD ? F_GETFD : F_GETFL) : -1;
            if (before < 0) return -1;
            const int result = call();
            if (result == 0) undo->arm({fd, command, before});
            return result;
        }
        default: break;
    }
    const bool of_lock = command == F_GETLK || command == F_SETLK || command == F_SETLKW || command == F_OFD_GETLK ||
                         command == F_OFD_SETLK || command == F_OFD_SETLKW;
    const bool asks = command == F_GETLK || command == F_OFD_GETLK;
    auto* const place = reinterpret_cast<struct flock*>(argument);
    struct flock lock{};
    if (of_lock) lock = libc::read(t, place);
    if (!asks) become_irrevocable(t, "fcntl with a command that cannot be undone");
    if (!of_lock) return call();
    const int result = ::fcntl(fd, command, &lock);
    if (asks && result == 0) write(t, place, lock);
    return result;
}

int pipe2(tx& t, int* ends, int flags) {
    auto* const undo = prepare_undo<close_both>(t);
    if (undo == nullptr) return -1;
    int both[2];
    const int result = ::pipe2(both, flags);
    if (result != 0) return result;
    undo->arm({both[0], both[1]});
    copy_out(t, ends, both, sizeof both);
    return 0;
}
int pipe(tx& t, int* ends) { return libc::pipe2(t, ends, 0); }

int fstat(tx& t, int fd, struct stat* to) {
    struct stat about;
    if (!is_usable(t, fd) || ::fstat(fd, &about) != 0) return -1;
    if (write_deferred_output_to(t, about) && ::fstat(fd, &about) != 0) return -1;
    write(t, to, about);
    return 0;
}

int isatty(tx& t, int fd) { return is_usable(t, fd) ? ::isatty(fd) : 0; }

}  // namespace tutti::libc
