// File descriptors in transactions: the kernel's results and errors, and no effect of a rolled-back block.
#include <sys/time.h>

#include <cerrno>
#include <csignal>

#include <cstring>
#include <thread>

#include "libc/blocks.hpp"
#include "libc/files.hpp"

namespace {

off_t position(int fd) { return ::lseek(fd, 0, SEEK_CUR); }

void opening() {
    for (const ending e : every_ending) {
        const folder here;
        fill("full", "text");
        fill("empty", "");
        const std::string before = open_descriptors();
        const bool stays = e != ending::cancel;
        const auto leaves = [&](int flags, const char* path) {
            int fd = -2;
            run(e, [&] { fd = CALL(open, path, flags, 0640); });
            if (stays) {
                EXPECT(fd >= 0);
                EXPECT(::fcntl(fd, F_GETFD) == ((flags & O_CLOEXEC) != 0 ? FD_CLOEXEC : 0));
                ::close(fd);
            }
            EXPECT(open_descriptors() == before);
        };
        leaves(O_RDONLY, "full");
        leaves(O_RDONLY | O_CLOEXEC, "full");
        leaves(O_WRONLY | O_APPEND | O_CREAT, "full");
        leaves(O_WRONLY | O_TRUNC, "empty");
        leaves(O_WRONLY | O_TRUNC, "/dev/null");
        leaves(O_RDONLY | O_DIRECTORY, ".");
        EXPECT(contents("full") == "text");
        leaves(O_WRONLY | O_CREAT, "new");
        EXPECT(exists("new") == stays);
        leaves(O_WRONLY | O_CREAT | O_EXCL, "new2");
        EXPECT(exists("new2") == stays);
        int fd = -2;
        run(e, [&] { fd = CALL(creat, "new3", 0600); });
        EXPECT(exists("new3") == stays);
        if (stays) ::close(fd);
        run(e, [&] { fd = CALL(openat, AT_FDCWD, "new4", O_CREAT | O_RDWR, 0600); });
        EXPECT(exists("new4") == stays);
        if (stays) ::close(fd);
        EXPECT(open_descriptors() == before);
    }
}

void opening_fails() {
    const folder here;
    fill("file", "text");
    const std::string before = open_descriptors();
    const auto fails = [&](const char* path, int flags, int error) {
        int fd = 0;
        int found = 0;
        errno = 0;
        run(ending::commit, [&] { fd = CALL(open, path, flags, 0600); });
        found = errno;
        EXPECT(fd == -1 && found == error);
        EXPECT(::open(path, flags, 0600) == -1 && errno == error);
        EXPECT(open_descriptors() == before);
    };
    fails("none", O_RDONLY, ENOENT);
    fails("none/new", O_CREAT | O_WRONLY, ENOENT);
    fails("file/new", O_CREAT | O_WRONLY, ENOTDIR);
    fails("file", O_CREAT | O_EXCL | O_WRONLY, EEXIST);
    fails(".", O_WRONLY, EISDIR);
    fails(".", O_RDONLY | O_CREAT, EISDIR);
    fails("file", O_RDONLY | O_DIRECTORY, ENOTDIR);
    // A successful call does not change errno.
    int fd = -1;
    errno = 77;
    run(ending::commit, [&] { fd = CALL(open, "new", O_CREAT | O_RDWR, 0600); });
    EXPECT(fd >= 0 && errno == 77);
    ::close(fd);
}

/// Calls that cannot be undone, and so make the block irrevocable.
void opening_finally() {
    const folder here;
    fill("full", "text");
    int fd = -1;
    run(ending::commit, [&] { fd = CALL(open, "full", O_WRONLY | O_TRUNC, 0); });
    EXPECT(fd >= 0 && contents("full").empty());
    ::close(fd);
    EXPECT(::symlink("target", "nowhere") == 0);
    run(ending::commit, [&] { fd = CALL(open, "nowhere", O_WRONLY | O_CREAT, 0600); });
    EXPECT(fd >= 0 && exists("target"));
    ::close(fd);
}

void closing() {
    for (const ending e : every_ending) {
        const folder here;
        fill("file", "text");
        const std::string none = open_descriptors();
        const int fd = ::open("file", O_RDONLY);
        const std::string one = open_descriptors();
        int result = -2;
        int again = -2;
        int error = 0;
        ssize_t in = -2;
        char c = 0;
        run(e, [&] {
            result = CALL(close, fd);
            again = CALL(close, fd);
            in = CALL(read, fd, &c, 1);
        });
        error = errno;
        EXPECT(open_descriptors() == (e == ending::cancel ? one : none));
        if (e == ending::cancel) ::close(fd);
        else EXPECT(result == 0 && again == -1 && in == -1 && error == EBADF);
    }
    int result = 0;
    errno = 0;
    run(ending::commit, [&] { result = CALL(close, 999); });
    EXPECT(result == -1 && errno == EBADF);
}

/// A descriptor of the transaction itself is closed at the end, however the block ends.
void opened_and_closed() {
    for (const ending e : every_ending) {
        const folder here;
        const std::string before = open_descriptors();
        run(e, [&] { CALL(close, CALL(open, "file", O_CREAT | O_RDWR, 0600)); });
        EXPECT(open_descriptors() == before);
        EXPECT(exists("file") == (e != ending::cancel));
    }
}

void duplicates() {
    for (const ending e : every_ending) {
        const folder here;
        fill("a", "a");
        fill("b", "b");
        const std::string none = open_descriptors();
        const int a = ::open("a", O_RDONLY);
        const int b = ::open("b", O_RDONLY | O_CLOEXEC);
        const std::string both = open_descriptors();
        int made = -1;
        run(e, [&] { made = CALL(dup, a); });
        if (e != ending::cancel) EXPECT(made >= 0 && ::close(made) == 0);
        EXPECT(open_descriptors() == both);
        run(e, [&] { made = CALL(dup2, a, 200); });
        if (e != ending::cancel) EXPECT(made == 200 && ::close(200) == 0);
        EXPECT(open_descriptors() == both);
        const auto is_a = [a](int fd) {
            struct stat x, y;
            return ::fstat(a, &x) == 0 && ::fstat(fd, &y) == 0 && x.st_ino == y.st_ino;
        };
        run(e, [&] { made = CALL(dup2, a, b); });
        if (e == ending::cancel) EXPECT(open_descriptors() == both);
        else EXPECT(made == b && is_a(b) && ::fcntl(b, F_GETFD) == 0);
        // As a shell does: dup3 reopens a closed descriptor number.
        run(e, [&] {
            CALL(close, b);
            made = CALL(dup3, a, b, O_CLOEXEC);
        });
        if (e == ending::cancel) EXPECT(open_descriptors() == both);
        else EXPECT(made == b && is_a(b) && ::fcntl(b, F_GETFD) == FD_CLOEXEC);
        // The call that replaces a closed descriptor is cancelled, so the descriptor stays closed.
        const auto replaces = [&] { CALL(dup2, a, b); };
        run(e, [&] {
            CALL(close, b);
            cancelled_within(replaces);
        });
        EXPECT((::fcntl(b, F_GETFD) >= 0) == (e == ending::cancel));
        if (e != ending::cancel) EXPECT(::dup2(a, b) == b);
        run(e, [&] {
            CALL(dup2, a, b);
            CALL(close, b);
        });
        ::close(a);
        if (e == ending::cancel) ::close(b);
        EXPECT(open_descriptors() == none);
    }
}

void pipes() {
    for (const ending e : every_ending) {
        const std::string before = open_descriptors();
        int ends[2] = {-1, -1};
        int result = -2;
        run(e, [&] { result = CALL(pipe2, ends, O_CLOEXEC); });
        if (e == ending::cancel) {
            EXPECT(ends[0] == -1 && ends[1] == -1);
        } else {
            EXPECT(result == 0 && ::fcntl(ends[0], F_GETFD) == FD_CLOEXEC);
            ::close(ends[0]);
            ::close(ends[1]);
        }
        run(e, [&] { result = CALL(pipe, ends); });
        if (e != ending::cancel) {
            EXPECT(::write(ends[1], "x", 1) == 1);
            ::close(ends[0]);
            ::close(ends[1]);
        }
        EXPECT(open_descriptors() == before);
    }
}

void reading() {
    for (const ending e : every_ending) {
        const folder here;
        std::string text;
        for (int i = 0; i != 100'000; ++i) text += static_cast<char>('a' + i % 26);
        fill("file", text);
        const int fd = ::open("file", O_RDONLY);
        static char all[200'000];
        std::memset(all, '#', sizeof all);
        char few[10] = "#########";
        ssize_t n = -2;
        ssize_t m = -2;
        off_t at = -2;
        ::lseek(fd, 7, SEEK_SET);
        run(e, [&] {
            at = CALL(lseek, fd, 3, SEEK_CUR);
            n = CALL(read, fd, all, sizeof all);
            m = CALL(pread, fd, few, 9, 26);
        });
        if (e == ending::cancel) {
            EXPECT(position(fd) == 7 && all[0] == '#' && few[0] == '#');
        } else {
            EXPECT(at == 10 && n == 99'990 && position(fd) == 100'000);
            EXPECT(std::memcmp(all, text.data() + 10, 99'990) == 0 && all[99'990] == '#');
            EXPECT(m == 9 && std::memcmp(few, "abcdefghi", 10) == 0);
        }
        ::close(fd);
    }
}

void sizes() {
    for (const ending e : every_ending) {
        const folder here;
        fill("file", "text");
        const int fd = ::open("file", O_RDWR);
        int grown = -2;
        struct stat about{};
        run(e, [&] {
            grown = CALL(ftruncate, fd, 100) + CALL(truncate, "file", 200) + CALL(fsync, fd) + CALL(fdatasync, fd);
            CALL(fstat, fd, &about);
        });
        if (e == ending::cancel) EXPECT(contents("file") == "text" && about.st_size == 0);
        else EXPECT(grown == 0 && contents("file").size() == 200 && about.st_size == 200);
        ::close(fd);
    }
    const folder here;
    fill("file", "text");
    const int fd = ::open("file", O_RDWR);
    int result = -2;
    run(ending::commit, [&] { result = CALL(ftruncate, fd, 2); });
    EXPECT(result == 0 && contents("file") == std::string("text", 2));
    run(ending::commit, [&] { result = CALL(truncate, "file", 1); });
    EXPECT(result == 0 && contents("file") == "t");
    ::close(fd);
}

void names() {
    for (const ending e : every_ending) {
        const folder here;
        fill("old", "text");
        struct stat about{};
        int result = -2;
        int missing = -2;
        run(e, [&] {
            result = CALL(mkdir, "folder", 0700) + CALL(rename, "old", "folder/new") +
                     CALL(stat, "folder/new", &about) + CALL(lstat, "folder", &about) + CALL(access, "folder", X_OK);
            missing = CALL(access, "old", F_OK);
        });
        if (e == ending::cancel) {
            EXPECT(contents("old") == "text" && !exists("folder"));
        } else {
            EXPECT(result == 0 && missing == -1 && contents("folder/new") == "text" && !exists("old"));
            EXPECT(S_ISDIR(about.st_mode));
        }
    }
    const folder here;
    fill("a", "a");
    fill("b", "b");
    int result = -2;
    run(ending::commit, [&] { result = CALL(rename, "a", "b"); });
    EXPECT(result == 0 && contents("b") == "a" && !exists("a"));
    run(ending::commit, [&] { result = CALL(unlink, "b"); });
    EXPECT(result == 0 && !exists("b"));
    EXPECT(::mkdir("folder", 0700) == 0);
    run(ending::commit, [&] { result = CALL(rmdir, "folder"); });
    EXPECT(result == 0 && !exists("folder"));
}

void errors() {
    const folder here;
    fill("file", "text");
    const int in = ::open("file", O_RDONLY);
    const int out = ::open("file", O_WRONLY);
    const int full = ::open("/dev/full", O_WRONLY);
    int ends[2];
    EXPECT(::pipe(ends) == 0);
    std::signal(SIGPIPE, SIG_IGN);
    static char bytes[100];
    struct stat about;
    const std::string before = open_descriptors();
    FAILS(EBADF, read, 999, bytes, 1);
    FAILS(EBADF, read, out, bytes, 1);
    FAILS(EBADF, write, in, bytes, 1);
    FAILS(EBADF, write, 999, bytes, 1);
    FAILS(EBADF, pwrite, in, bytes, 1, 0);
    FAILS(EBADF, pread, out, bytes, 1, 0);
    FAILS(ESPIPE, pread, ends[0], bytes, 1, 0);
    FAILS(ESPIPE, pwrite, ends[1], bytes, 1, 0);
    FAILS(ESPIPE, lseek, ends[0], 0, SEEK_SET);
    FAILS(EINVAL, lseek, in, -1, SEEK_SET);
    FAILS(EINVAL, lseek, in, 0, 99);
    FAILS(EBADF, lseek, 999, 0, SEEK_SET);
    FAILS(EINVAL, ftruncate, in, 10);
    FAILS(EINVAL, ftruncate, in, 1);
    FAILS(EINVAL, ftruncate, out, -1);
    FAILS(EINVAL, ftruncate, ends[1], 0);
    FAILS(EBADF, fsync, 999);
    FAILS(EINVAL, fsync, ends[0]);
    FAILS(EBADF, fdatasync, 999);
    FAILS(EBADF, dup, 999);
    FAILS(EBADF, dup2, 999, in);
    FAILS(EBADF, dup2, 999, 999);
    FAILS(EBADF, dup2, in, -1);
    FAILS(EINVAL, dup3, in, in, 0);
    FAILS(EINVAL, dup3, in, out, 12345);
    FAILS(EINVAL, pipe2, ends, 12345);
    FAILS(EBADF, fstat, 999, &about);
    FAILS(ENOENT, stat, "none", &about);
    FAILS(ENOENT, lstat, "none", &about);
    FAILS(ENOENT, access, "none", F_OK);
    FAILS(ENOENT, unlink, "none");
    FAILS(EISDIR, unlink, ".");
    FAILS(ENOENT, rmdir, "none");
    FAILS(ENOTDIR, rmdir, "file");
    FAILS(EEXIST, mkdir, "file", 0700);
    FAILS(ENOENT, mkdir, "none/new", 0700);
    FAILS(ENOENT, rename, "none", "new");
    FAILS(ENOENT, truncate, "none", 0);
    FAILS(EISDIR, truncate, ".", 0);
    FAILS(ENOSPC, write, full, bytes, 1);
    const int memory_fd = ::open("/proc/self/mem", O_RDONLY);  // the first page is not mapped
    FAILS(EIO, read, memory_fd, bytes, 1);
    ::close(memory_fd);
    const int folder_fd = ::open(".", O_RDONLY);
    FAILS(EISDIR, read, folder_fd, bytes, 1);
    ::close(folder_fd);
    ::close(ends[0]);
    FAILS(EPIPE, write, ends[1], bytes, 1);
    ::close(ends[1]);
    int zero = -2;
    errno = 0;
    run(ending::commit, [&] { zero = CALL(isatty, in); });
    EXPECT(zero == 0 && errno == ENOTTY);
    EXPECT(contents("file") == "text");
    ::close(in);
    ::close(out);
    ::close(full);
}

/// A full pipe accepts a part of the bytes, and an interrupted call reports the part.
void short_transfers() {
    int ends[2];
    EXPECT(::pipe2(ends, O_NONBLOCK) == 0);
    static char bytes[1 << 20];
    ssize_t n = -2;
    run(ending::commit, [&] { n = CALL(write, ends[1], bytes, sizeof bytes); });
    EXPECT(n == ::fcntl(ends[1], F_GETPIPE_SZ));
    run(ending::commit, [&] { n = CALL(write, ends[1], bytes, 1); });
    EXPECT(n == -1 && errno == EAGAIN);
    std::size_t all = 0;
    for (;;) {
        run(ending::commit, [&] { n = CALL(read, ends[0], bytes, sizeof bytes); });
        if (n < 0) break;
        all += static_cast<std::size_t>(n);
    }
    EXPECT(errno == EAGAIN && all == static_cast<std::size_t>(::fcntl(ends[1], F_GETPIPE_SZ)));
    // A repeated signal, so that one arrives while the call waits.
    ::fcntl(ends[0], F_SETFL, 0);
    struct sigaction act{};
    act.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &act, nullptr);
    const timeval often{0, 1000};
    const itimerval timer{often, often};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
    run(ending::commit, [&] { n = CALL(read, ends[0], bytes, 1); });
    EXPECT(n == -1 && errno == EINTR);
    const itimerval off{};
    ::setitimer(ITIMER_REAL, &off, nullptr);
    ::close(ends[0]);
    ::close(ends[1]);
}

/// Threads seek and read by one descriptor, each in a transaction. Their positions must not interfere.
void crowd() {
    const folder here;
    std::string text;
    for (int i = 0; i != 1000; ++i) text += std::to_string(1000 + i);
    fill("file", text);
    const int fd = ::open("file", O_RDONLY);
    const auto work = [fd](unsigned first) {
        for (unsigned i = 0; i != 1000; ++i) {
            const unsigned at = (first + 37 * i) % 999;
            // Only sometimes: if other programs compute, each yield lasts as long as the kernel lets them run.
            const bool yields = i % 100 == 0;
            char four[5] = "";
            char next[5] = "";
            run(i % 5 == 0 ? ending::restarts : ending::commit, [&] {
                CALL(lseek, fd, 4 * at, SEEK_SET);
                if (yields) let_others_run();
                CALL(read, fd, four, 4);
                if (yields) let_others_run();
                CALL(read, fd, next, 4);
            });
            EXPECT(std::atoi(four) == static_cast<int>(1000 + at) && std::atoi(next) == static_cast<int>(1001 + at));
        }
    };
    std::thread other{work, 500};
    work(0);
    other.join();
    ::close(fd);
}

}  // namespace

int main() {
    opening();
    opening_fails();
    opening_finally();
    closing();
    opened_and_closed();
    duplicates();
    pipes();
    reading();
    sizes();
    names();
    errors();
    short_transfers();
    crowd();
}
