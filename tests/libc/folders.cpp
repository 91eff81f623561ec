// File names, temporary files, folders, descriptor flags, and transfers in parts: their effects in a block, and
// unchanged state after a roll-back.
#include <sys/uio.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <set>

#include "libc/blocks.hpp"
#include "libc/files.hpp"

namespace {

std::string link_of(const char* path) {
    char text[256];
    const ssize_t n = ::readlink(path, text, sizeof text);
    return n < 0 ? "(none)" : std::string(text, static_cast<std::size_t>(n));
}

mode_t mode_of(const char* path) {
    struct stat about;
    return ::stat(path, &about) == 0 ? about.st_mode & 07777 : 0;
}

void names() {
    for (const ending e : every_ending) {
        const folder here;
        fill("old", "text");
        const int at = ::open(".", O_RDONLY | O_DIRECTORY);
        const std::string before = open_descriptors();
        int result = -2;
        ssize_t size = -2;
        char target[16] = "###############";
        char exact[4] = "###";
        struct stat about{};
        run(e, [&] {
            result = CALL(link, "old", "hard") + CALL(linkat, at, "old", at, "hard2", 0) +
                     CALL(symlink, "old", "soft") + CALL(symlinkat, "hard", at, "soft2") + CALL(mkfifo, "fifo", 0600) +
                     CALL(mkfifoat, at, "fifo2", 0600) + CALL(mkdirat, at, "folder", 0700) +
                     CALL(renameat, at, "old", at, "folder/new") + CALL(chmod, "hard", 0640) +
                     CALL(faccessat, at, "hard", R_OK, 0) + CALL(eaccess, "hard", R_OK) +
                     CALL(euidaccess, "hard", R_OK) + CALL(fstatat, at, "hard", &about, 0);
            size = CALL(readlink, "soft2", target, sizeof target);
            CALL(readlinkat, at, "soft2", exact, 2);
        });
        EXPECT(open_descriptors() == before);
        if (e == ending::cancel) {
            EXPECT(contents("old") == "text" && mode_of("old") == 0600 && target[0] == '#');
            for (const char* const path : {"hard", "hard2", "soft", "soft2", "fifo", "fifo2", "folder"}) {
                EXPECT(!exists(path));
            }
        } else {
            EXPECT(result == 0 && !exists("old") && contents("folder/new") == "text" && contents("hard2") == "text");
            EXPECT(mode_of("hard2") == 0640 && (about.st_mode & 0777) == 0640);
            EXPECT(link_of("soft") == "old" && link_of("soft2") == "hard" && exists("fifo") && exists("fifo2"));
            EXPECT(size == 4 && std::string(target, 5) == "hard#" && std::string(exact) == "ha#");
        }
        ::close(at);
    }
}

void descriptors_mode() {
    for (const ending e : every_ending) {
        const folder here;
        fill("file", "text");
        const int fd = ::open("file", O_RDONLY);
        int result = -2;
        run(e, [&] { result = CALL(fchmod, fd, 0444); });
        EXPECT(mode_of("file") == (e == ending::cancel ? 0600 : 0444));
        ::close(fd);
    }
}

/// Calls that cannot be undone.
void removals() {
    const folder here;
    const int at = ::open(".", O_RDONLY | O_DIRECTORY);
    fill("a", "a");
    fill("b", "b");
    EXPECT(::mkdir("empty", 0700) == 0 && ::mkdir("folder", 0700) == 0);
    int result = -2;
    run(ending::commit, [&] { result = CALL(remove, "a"); });
    EXPECT(result == 0 && !exists("a"));
    run(ending::commit, [&] { result = CALL(remove, "empty"); });
    EXPECT(result == 0 && !exists("empty"));
    run(ending::commit, [&] { result = CALL(unlinkat, at, "b", 0); });
    EXPECT(result == 0 && !exists("b"));
    mode_t mask = 0;
    run(ending::commit, [&] { mask = CALL(umask, 077); });
    EXPECT(::umask(mask) == 077);
    run(ending::commit, [&] { result = CALL(chdir, "folder"); });
    EXPECT(result == 0 && exists("../folder"));
    run(ending::commit, [&] { result = CALL(fchdir, at); });
    EXPECT(result == 0 && exists("folder"));
    fill("x", "x");
    fill("y", "y");
    run(ending::commit, [&] { result = CALL(renameat2, at, "x", at, "y", RENAME_EXCHANGE); });
    EXPECT(result == 0 && contents("x") == "y" && contents("y") == "x");
    ::close(at);
}

void whole_paths() {
    for (const ending e : every_ending) {
        const folder here;
        fill("file", "text");
        EXPECT(::symlink("file", "soft") == 0);
        char* const right = ::realpath("soft", nullptr);
        char* const where = ::getcwd(nullptr, 0);
        char buffers[3][PATH_MAX]{};
        char* made[4]{};
        long limits[2]{};
        run(e, [&] {
            CALL(realpath, "soft", buffers[0]);
            CALL(getcwd, buffers[1], sizeof buffers[1]);
            made[0] = CALL(realpath, "soft", nullptr);
            made[1] = CALL(canonicalize_file_name, "soft");
            made[2] = CALL(getcwd, nullptr, 0);
            made[3] = CALL(get_current_dir_name);
            limits[0] = CALL(pathconf, ".", _PC_NAME_MAX);
            limits[1] = CALL(fpathconf, 0, _PC_NAME_MAX);
        });
        if (e == ending::cancel) {
            EXPECT(buffers[0][0] == 0 && buffers[1][0] == 0);
        } else {
            EXPECT(std::strcmp(buffers[0], right) == 0 && std::strcmp(buffers[1], where) == 0);
            EXPECT(std::strcmp(made[0], right) == 0 && std::strcmp(made[1], right) == 0);
            EXPECT(std::strcmp(made[2], where) == 0 && std::strcmp(made[3], where) == 0);
            EXPECT(limits[0] == ::pathconf(".", _PC_NAME_MAX) && limits[1] == ::fpathconf(0, _PC_NAME_MAX));
            for (char* const m : made) std::free(m);
        }
        std::free(right);
        std::free(where);
    }
}

void files_for_a_time() {
    for (const ending e : every_ending) {
        const folder here;
        const std::string before = open_descriptors();
        char paths[5][16] = {"a-XXXXXX", "b-XXXXXX", "c-XXXXXX.txt", "d-XXXXXX.txt", "f-XXXXXX"};
        int fds[4] = {-1, -1, -1, -1};
        char* made = nullptr;
        run(e, [&] {
            fds[0] = CALL(mkstemp, paths[0]);
            fds[1] = CALL(mkostemp, paths[1], O_APPEND);
            fds[2] = CALL(mkstemps, paths[2], 4);
            fds[3] = CALL(mkostemps, paths[3], 4, O_CLOEXEC);
            made = CALL(mkdtemp, paths[4]);
        });
        if (e == ending::cancel) {
            for (auto& path : paths) EXPECT(std::strncmp(path + 1, "-XXXXXX", 7) == 0);
            EXPECT(std::filesystem::is_empty("."));
        } else {
            EXPECT(made == paths[4] && mode_of(paths[4]) == 0700);
            for (int i = 0; i != 4; ++i) EXPECT(fds[i] >= 0 && mode_of(paths[i]) == 0600 && ::close(fds[i]) == 0);
            EXPECT(std::strcmp(paths[2] + 8, ".txt") == 0);
            EXPECT(std::distance(std::filesystem::directory_iterator("."), {}) == 5);
        }
        EXPECT(open_descriptors() == before);
    }
}

char first_letter(const dirent* entry) {
#ifdef TUTTI_TEST_LIBRARY
    return tutti::load(*tutti::detail::current_transaction, &entry->d_name[0]);
#else
    return entry->d_name[0];
#endif
}

using names_found = std::set<std::string>;

names_found rest_of(DIR* d) {
    names_found all;
    while (const dirent* const entry = ::readdir(d)) all.insert(entry->d_name);
    return all;
}

void folders_that_are_open() {
    for (const ending e : every_ending) {
        const folder here;
        for (const char* const name : {"a", "b", "c", "d"}) fill(name, name);
        const std::string before = open_descriptors();
        const auto count = [](DIR* d) {
            int n = 0;
            while (const dirent* const entry = CALL(readdir, d)) n += first_letter(entry) != '.' ? 1 : 100;
            return n;
        };
        // Opens, reads and closes a folder in the block.
        int n = -2;
        int again = -2;
        int fd = -2;
        run(e, [&] {
            DIR* const d = CALL(opendir, ".");
            fd = CALL(dirfd, d);
            n = count(d);
            CALL(rewinddir, d);
            again = count(d);
            CALL(closedir, d);
        });
        if (e != ending::cancel) EXPECT(n == 204 && again == 204 && fd >= 0);
        EXPECT(open_descriptors() == before);
        // The position of an open folder.
        DIR* const d = ::opendir(".");
        const std::string first = ::readdir(d)->d_name;
        const long position = ::telldir(d);
        long seen = -2;
        run(e, [&] {
            CALL(readdir, d);
            CALL(readdir, d);
            seen = CALL(telldir, d);
        });
        names_found left = rest_of(d);
        EXPECT(left.size() == (e == ending::cancel ? 5 : 3) && left.count(first) == 0);
        ::seekdir(d, position);
        run(e, [&] {
            count(d);
            CALL(seekdir, d, position);
            CALL(readdir, d);
        });
        EXPECT(rest_of(d).size() == (e == ending::cancel ? 5 : 4));
        // A closed folder stays open until the commit.
        run(e, [&] { CALL(closedir, d); });
        EXPECT((open_descriptors() == before) == (e != ending::cancel));
        if (e == ending::cancel) ::closedir(d);
    }
    DIR* d = nullptr;
    run(ending::commit, [&] { d = CALL(fdopendir, CALL(open, "/", O_RDONLY | O_DIRECTORY, 0)); });
    EXPECT(d != nullptr && ::readdir(d) != nullptr && ::closedir(d) == 0);
}

void flags() {
    for (const ending e : every_ending) {
        const folder here;
        fill("file", "text");
        const int fd = ::open("file", O_RDWR);
        const std::string before = open_descriptors();
        int copies[2] = {-1, -1};
        int seen[2] = {-1, -1};
        struct flock lock{};
        lock.l_type = F_WRLCK;
        run(e, [&] {
            CALL(fcntl, fd, F_SETFD, FD_CLOEXEC);
            CALL(fcntl, fd, F_SETFL, O_APPEND);
            seen[0] = CALL(fcntl, fd, F_GETFD, 0);
            seen[1] = CALL(fcntl, fd, F_GETFL, 0) & O_APPEND;
            copies[0] = CALL(fcntl, fd, F_DUPFD, 100);
            copies[1] = CALL(fcntl, fd, F_DUPFD_CLOEXEC, 100);
            CALL(fcntl, fd, F_GETLK, reinterpret_cast<std::intptr_t>(&lock));
        });
        if (e == ending::cancel) {
            EXPECT(open_descriptors() == before && (::fcntl(fd, F_GETFL) & O_APPEND) == 0);
            EXPECT(lock.l_type == F_WRLCK);
        } else {
            EXPECT(seen[0] == FD_CLOEXEC && seen[1] == O_APPEND && lock.l_type == F_UNLCK);
            EXPECT(::fcntl(fd, F_GETFD) == FD_CLOEXEC && (::fcntl(fd, F_GETFL) & O_APPEND) != 0);
            EXPECT(copies[0] == 100 && copies[1] == 101 && ::fcntl(101, F_GETFD) == FD_CLOEXEC);
            ::close(100);
            ::close(101);
        }
        ::close(fd);
    }
}

void parts() {
    for (const ending e : every_ending) {
        const folder here;
        fill("file", "0123456789");
        const int fd = ::open("file", O_RDONLY);
        char a[4] = "###";
        char b[8] = "#######";
        char c[8] = "#######";
        iovec two[] = {{a, 3}, {b, 7}};
        iovec some[] = {{nullptr, 0}, {c, 4}};
        ssize_t n = -2;
        ssize_t m = -2;
        ::lseek(fd, 2, SEEK_SET);
        run(e, [&] {
            n = CALL(readv, fd, two, 2);
            m = CALL(preadv, fd, some, 2, 1);
        });
        if (e == ending::cancel) {
            EXPECT(::lseek(fd, 0, SEEK_CUR) == 2 && a[0] == '#' && b[0] == '#' && c[0] == '#');
        } else {
            EXPECT(n == 8 && std::string(a) == "234" && std::string(b) == "56789##");
            EXPECT(m == 4 && std::string(c) == "1234###" && ::lseek(fd, 0, SEEK_CUR) == 10);
        }
        ::close(fd);
    }
    const folder here;
    fill("file", "");
    const int fd = ::open("file", O_RDWR);
    char a[] = "abc";
    char b[] = "defg";
    iovec two[] = {{a, 3}, {b, 4}};
    ssize_t n = -2;
    run(ending::commit, [&] { n = CALL(writev, fd, two, 2); });
    EXPECT(n == 7 && contents("file") == "abcdefg");
    run(ending::commit, [&] { n = CALL(pwritev, fd, two, 2, 1); });
    EXPECT(n == 7 && contents("file") == "aabcdefg");
    int ends[2];
    EXPECT(::pipe(ends) == 0 && ::write(ends[1], "12345", 5) == 5);
    run(ending::commit, [&] { n = CALL(readv, ends[0], two, 2); });
    EXPECT(n == 5 && std::string(a) == "123" && std::string(b) == "45fg");
    ::close(ends[0]);
    ::close(ends[1]);
    ::close(fd);
}

void errors() {
    const folder here;
    fill("file", "text");
    const int fd = ::open("file", O_RDONLY);
    char few[4];
    iovec one[] = {{few, 1}};
    static int negative = -1;  // hidden from the compiler, which sees through a constant
    static int too_many = IOV_MAX + 1;
    static const char* no_path = nullptr;
    asm("" : "+m"(negative), "+m"(too_many), "+m"(no_path));
    iovec far[] = {{few, 1}, {few, SIZE_MAX}};
    FAILS(ENOENT, remove, "none");
    FAILS(ENOENT, unlinkat, AT_FDCWD, "none", 0);
    FAILS(EBADF, unlinkat, 999, "none", 0);
    FAILS(ENOENT, link, "none", "new");
    FAILS(EEXIST, link, "file", "file");
    FAILS(EEXIST, symlink, "text", "file");
    FAILS(EEXIST, mkfifo, "file", 0600);
    FAILS(EBADF, mkdirat, 999, "new", 0700);
    FAILS(ENOENT, renameat, AT_FDCWD, "none", AT_FDCWD, "new");
    FAILS(EEXIST, renameat2, AT_FDCWD, "file", AT_FDCWD, "file", RENAME_NOREPLACE);
    FAILS(EINVAL, readlink, "file", few, sizeof few);
    FAILS(ENOENT, readlink, "none", few, sizeof few);
    FAILS_IN_BLOCK(EFAULT, unlinkat, AT_FDCWD, no_path, 0);
    FAILS_IN_BLOCK(EFAULT, link, no_path, "new");
    FAILS_IN_BLOCK(EFAULT, renameat, AT_FDCWD, "file", AT_FDCWD, no_path);
    FAILS_IN_BLOCK(EFAULT, readlink, no_path, few, sizeof few);
    FAILS_IN_BLOCK(EFAULT, chmod, no_path, 0600);
    FAILS_IN_BLOCK(EFAULT, mkdirat, AT_FDCWD, no_path, 0700);
    FAILS(ENOENT, chmod, "none", 0600);
    FAILS(EBADF, fchmod, 999, 0600);
    FAILS(ENOENT, chdir, "none");
    FAILS(ENOTDIR, fchdir, fd);
    FAILS(EBADF, fcntl, 999, F_GETFD, 0);
    FAILS(EINVAL, fcntl, fd, F_DUPFD, -1);
    FAILS(EINVAL, fcntl, fd, 12345, 0);
    FAILS(EBADF, readv, 999, one, 1);
    FAILS(EINVAL, readv, fd, one, negative);
    FAILS(EINVAL, readv, fd, one, too_many);
    FAILS(EINVAL, readv, fd, far, 2);
    FAILS(EBADF, writev, fd, one, 1);
    const int out = ::open("file", O_WRONLY);
    FAILS(EINVAL, writev, out, one, negative);
    ::close(out);
    char wrong[] = "no pattern";
    FAILS(EINVAL, mkstemp, wrong);
    const auto null = [](const void* result) { return result == nullptr ? -1L : 0L; };
    for (const int error : {ENOENT, ERANGE, EINVAL}) {
        long result = 0;
        errno = 0;
        run(ending::commit, [&] {
            result = error == ENOENT   ? null(CALL(opendir, "none"))
                     : error == ERANGE ? null(CALL(getcwd, few, 2))
                                       : null(CALL(mkdtemp, wrong));
        });
        EXPECT(result == -1 && errno == error);
    }
    ::close(fd);
}

}  // namespace

int main() {
    names();
    descriptors_mode();
    removals();
    whole_paths();
    files_for_a_time();
    folders_that_are_open();
    flags();
    parts();
    errors();
}
