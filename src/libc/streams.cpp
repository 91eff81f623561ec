// Opens and closes streams. A stream that the transaction opens exists immediately. A roll-back closes the stream, and
// removes the file if the call created it. A stream that the transaction closes is closed at the commit. See
// opening.hpp for the effects of opening a file, and file.hpp for the undo of earlier uses of a stream.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "libc/descriptor_table.hpp"
#include "libc/effects.hpp"
#include "libc/file.hpp"
#include "libc/file_layout.hpp"
#include "libc/memory.hpp"
#include "libc/opening.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

struct close_stream {
    FILE* file;
    created_file created;
    void operator()() const noexcept {
        if (created.path != nullptr) created.remove();
        std::fclose(file);
    }
};

/// Frees the stream and keeps its descriptor open.
struct forget_stream {
    FILE* file;
    int fd;
    int flags;  ///< status flags of the open file before the call; "a" changes them
    void operator()() const noexcept {
        file->_fileno = -1;
        std::fclose(file);
        ::fcntl(fd, F_SETFL, flags);
    }
};

struct unlock_stream {
    FILE* file;
    void operator()() const noexcept { ::funlockfile(file); }
};

/// Returns the flags of open for a mode of fopen, or -1 if glibc rejects the mode.
int flags_of(const char* mode) noexcept {
    int flags = 0;
    switch (*mode) {
        case 'r': flags = O_RDONLY; break;
        case 'w': flags = O_WRONLY | O_CREAT | O_TRUNC; break;
        case 'a': flags = O_WRONLY | O_CREAT | O_APPEND; break;
        default: return -1;
    }
    // glibc reads six characters after the first one.
    for (int i = 1; i != 7 && mode[i] != 0 && mode[i] != ','; ++i) {
        if (mode[i] == '+') flags = (flags & ~O_ACCMODE) | O_RDWR;
        if (mode[i] == 'x') flags |= O_EXCL;
    }
    return flags;
}

FILE* opened(tx& t, const char* path, const char* mode) {
    auto* const undo = prepare_undo<close_stream>(t);
    if (undo == nullptr) return nullptr;
    FILE* const f = std::fopen(path, mode);
    if (f != nullptr) undo->arm({f, {}});
    return f;
}

/// Returns null and sets errno to EEXIST if another program has created the file meanwhile.
FILE* created(tx& t, const char* path, std::size_t size, const char* mode) {
    auto* const kept = static_cast<char*>(private_memory(t, size + 1));
    auto* const undo = kept != nullptr ? prepare_undo<close_stream>(t) : nullptr;
    if (undo == nullptr) return nullptr;
    std::memcpy(kept, path, size + 1);
    // The new mode consists of the first character of the mode, an x, and as much of the rest as glibc reads.
    char exclusive[10] = {*mode, 'x'};
    std::strncat(exclusive, mode + 1, 5);
    FILE* const f = std::fopen(kept, exclusive);
    struct stat about;
    if (f != nullptr && ::fstat(::fileno(f), &about) == 0) undo->arm({f, {AT_FDCWD, kept, about.st_dev, about.st_ino}});
    return f;
}

}  // namespace

FILE* fopen(tx& t, const char* path, const char* mode) {
    const int error = errno;
    char path_room[512], mode_room[32];
    std::size_t size = 0;
    std::size_t mode_size = 0;
    const char* const p = private_path(t, path, path_room, size);
    const char* const m = p != nullptr ? private_string(t, mode, mode_room, mode_size) : nullptr;
    if (m == nullptr) return nullptr;
    const int flags = flags_of(m);
    if (flags < 0) return std::fopen(p, m);  // fails
    open_effect what = effect_of_open(AT_FDCWD, p, flags);
    // No x is added to a mode with an encoding, or to a mode with so many letters that glibc would no longer read the
    // last letters.
    if (what == open_effect::creates && (std::strchr(m, ',') != nullptr || mode_size > 6)) what = open_effect::final;
    FILE* f = nullptr;
    if (what == open_effect::creates) {
        f = created(t, p, size, m);
        if (f == nullptr && errno == EEXIST && (flags & O_EXCL) == 0) what = open_effect::final;
    }
    if (what == open_effect::final)
        become_irrevocable(t, "a file that is not empty, or a device, is opened to be overwritten",
                           "open it before the block, or append to it");
    if (what != open_effect::creates) f = opened(t, p, m);
    if (f != nullptr) errno = error;
    return f;
}

FILE* tmpfile(tx& t) {
    auto* const undo = prepare_undo<close_stream>(t);
    if (undo == nullptr) return nullptr;
    FILE* const f = std::tmpfile();
    if (f != nullptr) undo->arm({f, {}});
    return f;
}

FILE* fdopen(tx& t, int fd, const char* mode) {
    char room[32];
    std::size_t size = 0;
    const char* const m = private_string(t, mode, room, size);
    if (m == nullptr || !is_usable(t, fd)) return nullptr;
    if (!is_known_layout()) become_irrevocable(t, "fdopen");
    auto* const undo = prepare_undo<forget_stream>(t);
    if (undo == nullptr) return nullptr;
    const int flags = ::fcntl(fd, F_GETFL);
    FILE* const f = ::fdopen(fd, m);
    if (f != nullptr && is_known_layout()) undo->arm({f, fd, flags});
    return f;
}

FILE* freopen(tx& t, const char* path, const char* mode, FILE* f) {
    char path_room[512], mode_room[32];
    std::size_t size = 0;
    const char* const p = path != nullptr ? private_string(t, path, path_room, size) : nullptr;
    const char* const m = private_string(t, mode, mode_room, size);
    if (m == nullptr || (path != nullptr && p == nullptr)) return nullptr;
    file of{t, f};
    if (of.is_owned()) of.before_irreversible_call("freopen");
    return std::freopen(p, m, f);
}

int fclose(tx& t, FILE* f) {
    file of{t, f};
    if (!of.must_outlive_transaction()) return std::fclose(f);
    if (of.in_memory()) of.before_irreversible_call("fclose of a stream in memory", "close the stream after the block");
    const bool flushes = !of.is_owned() || of.in_memory();
    const bool written =
        !flushes ? of.before_flush() && (of.pending() == 0 || ::fflush_unlocked(f) == 0) : std::fflush(f) == 0;
    const int error = errno;
    if (!defer(t, detail::handler_point::at_commit, [f] { std::fclose(f); })) {
        of.before_irreversible_call("fclose, without memory to defer it");
        // The stream must stay in existence, because the end of the transaction unlocks it.
        return std::fflush(f);
    }
    if (written) return 0;
    errno = error;
    return EOF;
}

int setvbuf(tx& t, FILE* f, char* buffer, int mode, std::size_t size) {
    file of{t, f};
    if (of.is_owned()) of.before_irreversible_call("setvbuf");
    return std::setvbuf(f, buffer, mode, size);
}
void setbuf(tx& t, FILE* f, char* buffer) { libc::setvbuf(t, f, buffer, buffer != nullptr ? _IOFBF : _IONBF, BUFSIZ); }

void setbuffer(tx& t, FILE* f, char* buffer, std::size_t size) {
    libc::setvbuf(t, f, buffer, buffer != nullptr ? _IOFBF : _IONBF, size);
}
void setlinebuf(tx& t, FILE* f) { libc::setvbuf(t, f, nullptr, _IOLBF, 0); }

int getw(tx& t, FILE* f) {
    auto* const word = static_cast<int*>(private_memory(t, sizeof(int)));
    return word != nullptr && libc::fread(t, word, sizeof *word, 1, f) == 1 ? libc::read(t, word) : EOF;
}
int putw(tx& t, int word, FILE* f) {
    auto* const place = static_cast<int*>(private_memory(t, sizeof word));
    if (place == nullptr) return EOF;
    write(t, place, word);
    return libc::fwrite(t, place, sizeof word, 1, f) == 1 ? 0 : EOF;
}

// The transaction owns the stream by glibc's lock, which has a counter. The program's flockfile increments the counter
// immediately, so that the stream stays locked after the commit. A roll-back decrements the counter again.
void flockfile(tx& t, FILE* f) {
    const file of{t, f};
    auto* const undo = of.is_owned() ? prepare_undo<unlock_stream>(t) : nullptr;
    if (of.is_owned() && undo == nullptr) become_irrevocable(t, "flockfile, without memory to undo it");
    ::flockfile(f);
    if (undo != nullptr) undo->arm({f});
}
int ftrylockfile(tx& t, FILE* f) {
    const file of{t, f};
    if (!of.is_owned()) return ::ftrylockfile(f);
    libc::flockfile(t, f);
    return 0;
}
void funlockfile(tx& t, FILE* f) {
    const file of{t, f};
    if (of.is_owned() && defer(t, detail::handler_point::at_commit, unlock_stream{f})) return;
    if (of.is_owned()) become_irrevocable(t, "funlockfile, without memory to defer it");
    ::funlockfile(f);
}

void perror(tx& t, const char* s) {
    const int error = errno;
    char room[512];
    std::size_t size = 0;
    const char* const text = s != nullptr ? private_string(t, s, room, size) : nullptr;
    become_irrevocable(t, "perror");
    errno = error;
    std::perror(text);
}

}  // namespace tutti::libc
