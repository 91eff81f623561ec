// A temporary folder for a test, and the contents of files and the open descriptors.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "language/expect.hpp"

class folder {
public:
    folder() {
        EXPECT(::mkdtemp(path_) != nullptr);
        EXPECT(::chdir(path_) == 0);
    }
    ~folder() { std::filesystem::remove_all(path_); }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;

private:
    char path_[32] = "/tmp/tutti-libc-XXXXXX";
};

inline void fill(const char* path, const std::string& text) {
    const int fd = ::open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    EXPECT(fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(fd);
}

/// Returns the file's contents, or "(none)" if the file does not exist.
inline std::string contents(const char* path) {
    const int fd = ::open(path, O_RDONLY);
    if (fd < 0) return "(none)";
    std::string text;
    char part[4096];
    for (ssize_t n = 0; (n = ::read(fd, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(n));
    ::close(fd);
    return text;
}

inline bool exists(const char* path) {
    struct stat about;
    return ::lstat(path, &about) == 0;
}

/// Returns the open descriptors and their close-on-exec flags, except the descriptor used to read the list.
inline std::string open_descriptors() {
    std::string all;
    DIR* const d = ::opendir("/proc/self/fd");
    EXPECT(d != nullptr);
    while (const dirent* const e = ::readdir(d)) {
        const int fd = std::atoi(e->d_name);
        if (e->d_name[0] == '.' || fd == ::dirfd(d)) continue;
        struct stat about;
        EXPECT(::fstat(fd, &about) == 0);
        all +=
            std::to_string(fd) + ":" + std::to_string(::fcntl(fd, F_GETFD)) + ":" + std::to_string(about.st_ino) + " ";
    }
    ::closedir(d);
    return all;
}

/// Expects the error only in the transaction: outside, arguments that the C library excludes are undefined behaviour.
#define FAILS_IN_BLOCK(error, function, ...)                                       \
    do {                                                                           \
        long result_ = 0;                                                          \
        errno = 0;                                                                 \
        run(ending::commit, [&] { result_ = (long)CALL(function, __VA_ARGS__); }); \
        EXPECT(result_ == -1 && errno == (error));                                 \
    } while (false)

/// Expects the same error in the transaction (blocks.hpp) and outside.
#define FAILS(error, function, ...)                                      \
    do {                                                                 \
        FAILS_IN_BLOCK(error, function, __VA_ARGS__);                    \
        errno = 0;                                                       \
        EXPECT((long)::function(__VA_ARGS__) == -1 && errno == (error)); \
    } while (false)
