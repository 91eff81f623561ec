// Streams that come and go in transactions.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "libc/blocks.hpp"
#include "libc/files.hpp"

namespace {

void opening() {
    for (const ending e : every_ending) {
        const folder here;
        fill("full", "text");
        fill("empty", "");
        const std::string before = open_descriptors();
        const bool stays = e != ending::cancel;
        const auto leaves = [&](const char* path, const char* mode) {
            FILE* f = nullptr;
            errno = 77;
            run(e, [&] { f = CALL(fopen, path, mode); });
            if (stays) EXPECT(f != nullptr && errno == 77 && std::fclose(f) == 0);
            EXPECT(open_descriptors() == before);
        };
        leaves("full", "r");
        leaves("full", "r+e");
        leaves("full", "a");
        leaves("empty", "w");
        leaves("/dev/null", "w");
        EXPECT(contents("full") == "text");
        leaves("new", "w");
        EXPECT(exists("new") == stays);
        leaves("new2", "a+");
        EXPECT(exists("new2") == stays);
        leaves("new3", "wx");
        EXPECT(exists("new3") == stays);
        FILE* f = nullptr;
        run(e, [&] { f = CALL(tmpfile); });
        if (stays) std::fclose(f);
        EXPECT(open_descriptors() == before);
    }
    const folder here;
    fill("full", "text");
    FILE* f = nullptr;
    const auto fails = [&](const char* path, const char* mode, int error) {
        errno = 0;
        run(ending::commit, [&] { f = CALL(fopen, path, mode); });
        EXPECT(f == nullptr && errno == error);
        EXPECT(std::fopen(path, mode) == nullptr && errno == error);
    };
    fails("none", "r", ENOENT);
    fails("none/new", "w", ENOENT);
    fails("full", "wx", EEXIST);
    fails("full", "?", EINVAL);
    fails(".", "w", EISDIR);
    run(ending::commit, [&] { f = CALL(fopen, "full", "w"); });
    EXPECT(f != nullptr && contents("full").empty());
    run(ending::commit, [&] { f = CALL(freopen, "other", "w", f); });
    EXPECT(f != nullptr && std::fputs("x", f) >= 0 && std::fclose(f) == 0 && contents("other") == "x");
}

/// What is opened, used and closed in one transaction.
void a_whole_life() {
    for (const ending e : every_ending) {
        const folder here;
        fill("in", "12 words\nmore\n");
        const std::string before = open_descriptors();
        char line[40] = "";
        int n = 0;
        int c = 0;
        run(e, [&] {
            FILE* const f = CALL(fopen, "in", "r");
            CALL(fscanf, f, "%d", &n);
            c = CALL(getc_unlocked, f);
            CALL(fgets_unlocked, line, 40, f);
            CALL(fclose, f);
        });
        if (e != ending::cancel) EXPECT(n == 12 && c == ' ' && std::strcmp(line, "words\n") == 0);
        else EXPECT(line[0] == 0);
        EXPECT(open_descriptors() == before);
        FILE* f = nullptr;
        run(e, [&] {
            f = CALL(fopen, "out", "w");
            CALL(fputs_unlocked, "tak", f);
            CALL(putc_unlocked, 'e', f);
            CALL(fputc_unlocked, 'n', f);
            CALL(fwrite_unlocked, "!!", 1, 2, f);
        });
        EXPECT(exists("out") == (e != ending::cancel));
        if (e != ending::cancel) EXPECT(std::fclose(f) == 0 && contents("out") == "taken!!");
        EXPECT(open_descriptors() == before);
    }
}

void closing() {
    for (const ending e : every_ending) {
        const folder here;
        const std::string before = open_descriptors();
        FILE* const f = std::fopen("out", "w");
        std::fputs("pending", f);
        int result = -2;
        run(e, [&] { result = CALL(fclose, f); });
        if (e == ending::cancel) EXPECT(std::fclose(f) == 0);
        else EXPECT(result == 0);
        EXPECT(contents("out") == "pending" && open_descriptors() == before);
    }
    // Of the transaction's own, and there is no room for it: the result says so.
    FILE* const full = std::fopen("/dev/full", "w");
    int result = 0;
    run(ending::commit, [&] {
        CALL(fputs, "own", full);
        result = CALL(fclose, full);
    });
    EXPECT(result == EOF && errno == ENOSPC);
}

/// An error of the device's is what the calls say, and stays with the stream as in glibc; a cancelled block takes it
/// back.
void failing_input() {
    for (const ending e : every_ending) {
        FILE* const f = std::fopen("/proc/self/mem", "r");  // nothing is mapped at its begin
        char line[8];
        int c = 0;
        std::size_t n = 1;
        char* got = line;
        errno = 0;
        run(e, [&] {
            c = CALL(fgetc, f);
            n = CALL(fread, line, 1, sizeof line, f);
            got = CALL(fgets, line, sizeof line, f);
        });
        const int error = errno;
        if (e == ending::cancel) EXPECT(std::ferror(f) == 0 && std::feof(f) == 0);
        else EXPECT(c == EOF && n == 0 && got == nullptr && error == EIO && std::ferror(f) != 0);
        std::fclose(f);
    }
}

void from_descriptors() {
    for (const ending e : every_ending) {
        const folder here;
        fill("file", "text");
        const int fd = ::open("file", O_RDWR);
        const std::string before = open_descriptors();
        FILE* f = nullptr;
        run(e, [&] { f = CALL(fdopen, fd, "a+"); });
        EXPECT(open_descriptors() == before);
        if (e != ending::cancel) {
            EXPECT((::fcntl(fd, F_GETFL) & O_APPEND) != 0 && std::fgetc(f) == 't' && std::fclose(f) == 0);
            continue;
        }
        EXPECT((::fcntl(fd, F_GETFL) & O_APPEND) == 0);
        run(e, [&] { CALL(fgetc, CALL(fdopen, fd, "r+")); });
        EXPECT(open_descriptors() == before && ::lseek(fd, 0, SEEK_CUR) == 0 && ::close(fd) == 0);
    }
    FILE* f = nullptr;
    errno = 0;
    run(ending::commit, [&] { f = CALL(fdopen, 999, "r"); });
    EXPECT(f == nullptr && errno == EBADF);
}

void formats() {
    for (const ending e : every_ending) {
        char* text = nullptr;
        int n = -2;
        run(e, [&] { n = CALL(asprintf, &text, "%d-%s-%0600d", 7, "x", 1); });
        if (e == ending::cancel) {
            EXPECT(text == nullptr);
            continue;
        }
        EXPECT(n == 604 && std::strlen(text) == 604 && std::strncmp(text, "7-x-000", 7) == 0);
        std::free(text);
    }
    const folder here;
    const int fd = ::open("out", O_CREAT | O_RDWR, 0600);
    int n = -2;
    run(ending::commit, [&] { n = CALL(dprintf, fd, "%s %d", "line", 5); });
    EXPECT(n == 6 && contents("out") == "line 5");
    ::close(fd);
    errno = 0;
    run(ending::commit, [&] { n = CALL(dprintf, fd, "%s", "lost"); });
    EXPECT(n == -1 && errno == EBADF);
}

void buffers() {
    const folder here;
    FILE* const f = std::fopen("out", "w");
    int result = -2;
    run(ending::commit, [&] { result = CALL(setvbuf, f, nullptr, _IONBF, 0); });
    EXPECT(result == 0 && std::fputs("at once", f) >= 0 && contents("out") == "at once");
    std::fclose(f);
}

}  // namespace

int main() {
    opening();
    a_whole_life();
    closing();
    failing_input();
    from_descriptors();
    formats();
    buffers();
}
