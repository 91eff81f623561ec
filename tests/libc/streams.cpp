// Streams that are opened and closed in transactions.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

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

/// A stream that is opened, used and closed in one transaction.
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
    // The transaction's own output finds no space: fclose reports that.
    FILE* const full = std::fopen("/dev/full", "w");
    int result = 0;
    run(ending::commit, [&] {
        CALL(fputs, "own", full);
        result = CALL(fclose, full);
    });
    EXPECT(result == EOF && errno == ENOSPC);
}

/// The calls report a device error, and the stream keeps the error as in glibc. A cancelled block restores the error
/// state.
void failing_input() {
    for (const ending e : every_ending) {
        FILE* const f = std::fopen("/proc/self/mem", "r");  // the first page is not mapped
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

/// A device that fails in the middle of a read. Every function gives the data before the failure, the error and the
/// position as in glibc.
void input_that_ends_by_an_error() {
    const long size = ::sysconf(_SC_PAGESIZE);
    auto* const two = static_cast<char*>(::mmap(nullptr, static_cast<std::size_t>(2 * size), PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT(two != MAP_FAILED && ::munmap(two + size, static_cast<std::size_t>(size)) == 0);
    for (const char* const text : {"abcd", "12  ", "  -", "ab\ncd", ""}) {
        const std::size_t length = std::strlen(text);
        std::memcpy(two + size - length, text, length);
        for (int what = 0; what != 6; ++what) {
            long results[3];
            std::string seen[3];
            for (int how = 0; how != 3; ++how) {
                FILE* const f = std::fopen("/proc/self/mem", "r");
                EXPECT(::fseeko(f, reinterpret_cast<off_t>(two) + size - static_cast<off_t>(length), SEEK_SET) == 0);
                char got[64] = "";
                char* line = nullptr;
                std::size_t room = 0;
                int number = -77;
                long result = -77;
#define EACH(name, ...) (how == 0 ? ::name(__VA_ARGS__) : CALL(name, __VA_ARGS__))
                const auto body = [&] {
                    if (what == 0) result = EACH(fgets, got, 64, f) != nullptr;
                    if (what == 1) result = EACH(getline, &line, &room, f);
                    if (what == 2) result = static_cast<long>(EACH(fread, got, 3, 20, f));
                    if (what == 3) result = EACH(fscanf, f, "%d", &number);
                    if (what == 4) result = EACH(fscanf, f, "ab%*s");
                    if (what == 5) result = EACH(fscanf, f, "%60[a-z]%d", got, &number);
                };
#undef EACH
                errno = 7;
                if (how == 0) body();
                else run(how == 1 ? ending::commit : ending::nested, body);
                const int error = errno;
                results[how] = result;
                seen[how] = std::string{got} + '/' + (result > 0 && line != nullptr ? line : "") + '/' +
                            std::to_string(number) + '/' + std::to_string(error) + '/' + std::to_string(::ftello(f)) +
                            '/' + std::to_string(std::ferror(f) != 0) + std::to_string(std::feof(f) != 0);
                std::free(line);
                std::fclose(f);
            }
            EXPECT(results[1] == results[0] && results[2] == results[0]);
            EXPECT(seen[1] == seen[0] && seen[2] == seen[0]);
        }
    }
    ::munmap(two, static_cast<std::size_t>(size));
}

/// The stream keeps the error of an earlier call, and later calls do not report it. Only getline fails then, as in
/// glibc.
void errors_of_earlier_calls() {
    const folder here;
    fill("file", "last line");
    FILE* const f = std::fopen("file", "r");
    EXPECT(std::fputc('x', f) == EOF);
    char line[64] = "";
    char* got = nullptr;
    run(ending::restarts, [&] { got = CALL(fgets, line, 64, f); });
    EXPECT(got == line && std::strcmp(line, "last line") == 0 && std::ferror(f) != 0);
    std::rewind(f);
    EXPECT(std::fputc('x', f) == EOF);
    char* all = nullptr;
    std::size_t room = 0;
    ssize_t size = 0;
    run(ending::restarts, [&] { size = CALL(getline, &all, &room, f); });
    EXPECT(size == -1 && std::feof(f) == 0 && all == nullptr);
    std::clearerr(f);
    run(ending::restarts, [&] { size = CALL(getline, &all, &room, f); });
    EXPECT(size == 9);
    std::free(all);
    // A format without output is an error as well if the stream cannot be written.
    int n = 0;
    std::clearerr(f);
    errno = 0;
    run(ending::restarts, [&] { n = CALL(fprintf, f, "%s", ""); });
    EXPECT(n == -1 && errno == EBADF && std::ferror(f) != 0);
    std::fclose(f);
}

/// Streams that no transaction can own: memory streams, and streams with characters put back.
void unowned() {
    char memory[] = "line one\nline two\n12 34\nabc";
    FILE* f = ::fmemopen(memory, sizeof memory - 1, "r+");
    char first[16] = "";
    char second[16] = "";
    int a = 0;
    int b = 0;
    int n = 0;
    int closed = -2;
    char* line = nullptr;
    std::size_t room = 0;
    run(ending::commit, [&] {
        CALL(fgets, first, 16, f);
        CALL(fgets, second, 16, f);
        n = CALL(fscanf, f, "%d%d", &a, &b);
        CALL(fgetc, f);
        CALL(getline, &line, &room, f);
        closed = CALL(fclose, f);
    });
    EXPECT(std::strcmp(first, "line one\n") == 0 && std::strcmp(second, "line two\n") == 0);
    EXPECT(n == 2 && a == 12 && b == 34 && std::strcmp(line, "abc") == 0 && closed == 0);
    std::free(line);
    const folder here;
    fill("file", "text\n");
    f = std::fopen("file", "r");
    std::size_t size = 0;
    run(ending::commit, [&] {
        CALL(ungetc, 'n', f);
        CALL(fgets, first, 3, f);
        size = CALL(fread, second, 1, 16, f);
    });
    EXPECT(std::strcmp(first, "nt") == 0 && size == 4 && std::memcmp(second, "ext\n", 4) == 0);
    std::fclose(f);
}

#ifndef TUTTI_TEST_LIBRARY
// A relaxed block calls this for a function pointer that may have no clone.
extern "C" [[gnu::transaction_pure]] void* _ITM_getTMCloneOrIrrevocable(void*);
[[gnu::transaction_safe]] void call_anything(void (*f)()) { _ITM_getTMCloneOrIrrevocable(reinterpret_cast<void*>(f)); }
#endif

/// A block uses a stream, continues alone and closes the stream. At its end the block does not touch the stream's
/// memory.
void closed_alone() {
    const folder here;
    enum class switch_by { unlink, flush, unsafe };
#ifdef TUTTI_TEST_LIBRARY
    constexpr switch_by all[] = {switch_by::unlink, switch_by::flush};
#else
    constexpr switch_by all[] = {switch_by::unlink, switch_by::flush, switch_by::unsafe};
#endif
    for (const switch_by by : all) {
        fill("other", "");
        FILE* const f = std::fopen("file", "w");
        // As large as a FILE followed by glibc's data. An allocation of this size gets the memory that fclose has
        // freed, if that memory is free now.
        constexpr std::size_t size = 472;
        unsigned char* memory = nullptr;
        run(ending::commit, [&] {
            CALL(fputs, "text", f);
            if (by == switch_by::unlink) CALL(unlink, "other");
            if (by == switch_by::flush) CALL(fflush, f);
#ifndef TUTTI_TEST_LIBRARY
            if (by == switch_by::unsafe) call_anything(std::abort);  // abort has no clone
#endif
            CALL(fclose, f);
            memory = static_cast<unsigned char*>(CALL(malloc, size));
#ifdef TUTTI_TEST_LIBRARY
            tutti::libc::memset(*tutti::detail::current_transaction, memory, 0x55, size);
#else
            std::memset(memory, 0x55, size);
#endif
        });
        for (std::size_t i = 0; i != size; ++i) EXPECT(memory[i] == 0x55);
        std::free(memory);
        EXPECT(contents("file") == "text");
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

/// A memory stream has no descriptor, so descriptor 0 keeps its position. A roll-back undoes growth of its buffer.
void in_memory() {
    const folder here;
    fill("input", "0123456789");
    const int input = ::dup(STDIN_FILENO);
    const int fd = ::open("input", O_RDONLY);
    EXPECT(::dup2(fd, STDIN_FILENO) == STDIN_FILENO && ::lseek(STDIN_FILENO, 4, SEEK_SET) == 4);
    const std::string more(20'000, 'm');
    for (const ending e : every_ending) {
        char* bytes[2]{};
        std::size_t sizes[2]{};
        FILE* const f = ::open_memstream(&bytes[0], &sizes[0]);
        FILE* const twin = ::open_memstream(&bytes[1], &sizes[1]);
        std::fputs("hello ", f);
        std::fputs("hello ", twin);
        run(e, [&] {
            CALL(fseek, f, 2, SEEK_SET);
            CALL(fputc, 'L', f);
            CALL(fputs, more.c_str(), f);
        });
        if (e != ending::cancel) {
            std::fseek(twin, 2, SEEK_SET);
            std::fputc('L', twin);
            std::fputs(more.c_str(), twin);
        }
        EXPECT(::lseek(STDIN_FILENO, 0, SEEK_CUR) == 4);
        for (FILE* const each : {f, twin}) EXPECT(std::fputs("end", each) >= 0 && std::fclose(each) == 0);
        EXPECT(std::string(bytes[0], sizes[0]) == std::string(bytes[1], sizes[1]));
        for (char* const each : bytes) std::free(each);
    }
    // The stream is closed in the block, and the block's own code then reads the bytes.
    char* bytes = nullptr;
    std::size_t size = 0;
    FILE* const f = ::open_memstream(&bytes, &size);
    int closed = -2;
    run(ending::commit, [&] {
        CALL(fputs, "text", f);
        closed = CALL(fclose, f);
    });
    EXPECT(closed == 0 && std::string(bytes, size) == "text");
    std::free(bytes);
    EXPECT(::dup2(input, STDIN_FILENO) == STDIN_FILENO && ::close(input) == 0 && ::close(fd) == 0);
}

/// Returns the contents as another process sees them.
#ifndef TUTTI_TEST_LIBRARY
[[gnu::transaction_pure, gnu::noinline]]
#endif
bool holds(const char* path, const char* text) {
    return contents(path) == text;
}

/// Output, and then a seek and input, in one block. The block reads its own output, the file gets the output only at
/// the commit, and a roll-back restores the stream's position.
void output_before_input() {
    struct {
        const char* mode;
        const char* seen;   // by the block, from the beginning on
        const char* after;  // in the file
        long position;
    } constexpr kinds[] = {{"r+", "0ab34567XY", "0ab34567XY", 10}, {"a+", "0123456789abXY", "0123456789abXY", 14}};
    for (const auto& kind : kinds) {
        for (const ending e : every_ending) {
            const folder here;
            fill("file", "0123456789");
            FILE* const f = std::fopen("file", kind.mode);
            EXPECT(std::fgetc(f) == '0');
            char seen[64] = "";
            long position = 0;
            bool waits = true;
            run(e, [&] {
                CALL(fseek, f, 0, SEEK_CUR);
                CALL(fputs, "ab", f);
                CALL(fseek, f, -2, SEEK_END);
                waits = waits && holds("file", "0123456789");
                CALL(fputs, "XY", f);
                position = CALL(ftell, f);
                CALL(rewind, f);
                CALL(fgets, seen, 64, f);
                waits = waits && holds("file", "0123456789");
            });
            EXPECT(waits);
            if (e == ending::cancel) {
                EXPECT(std::ftell(f) == 1 && std::feof(f) == 0 && std::fgetc(f) == '1');
                EXPECT(std::fclose(f) == 0 && contents("file") == "0123456789");
                continue;
            }
            EXPECT(std::strcmp(seen, kind.seen) == 0 && position == kind.position);
            EXPECT(std::ftell(f) == static_cast<long>(std::strlen(kind.after)) && std::feof(f) != 0);
            EXPECT(contents("file") == kind.after && std::fclose(f) == 0);
        }
    }
}

/// The same for a new file, with a hole of more than a page past its end, and with more data than a buffer.
void output_before_input_of_a_new_file() {
    for (const ending e : every_ending) {
        const folder here;
        FILE* const f = std::fopen("file", "w+");
        static char part[3000];
        std::memset(part, 'p', sizeof part);
        static char got[3000];
        std::size_t n = 0;
        int between = -2;
        run(e, [&] {
            for (long i = 0; i != 4; ++i) {
                CALL(fseek, f, 5000 * i, SEEK_SET);
                CALL(fwrite, part, 1, sizeof part, f);
            }
            CALL(fseek, f, 10'000, SEEK_SET);
            n = CALL(fread, got, 1, sizeof got, f);
            between = CALL(fgetc, f);
        });
        std::string all;
        if (e != ending::cancel) {
            EXPECT(n == sizeof got && std::memcmp(got, part, sizeof part) == 0 && between == 0);
            for (int i = 0; i != 4; ++i) all += std::string(sizeof part, 'p') + std::string(i != 3 ? 2000 : 0, '\0');
        }
        EXPECT(std::ftell(f) == (e != ending::cancel ? 13'001 : 0));
        EXPECT(std::fclose(f) == 0 && contents("file") == all);
    }
}

/// Accesses that bypass the stream find in the file the output that glibc would have written by then.
void output_that_others_look_at() {
    for (int by = 0; by != 7; ++by) {
        const folder here;
        fill("file", "0123456789");
        FILE* const f = std::fopen("file", "r+");
        FILE* const other = std::fopen("file", "r+");
        const int fd = ::open("file", O_RDWR);
        char seen[16] = "";
        struct stat about{};
        run(ending::commit, [&] {
            CALL(fseek, f, 0, SEEK_END);
            CALL(fputs, "new", f);
            CALL(fseek, f, 0, SEEK_SET);
            if (by == 0) CALL(fread, seen, 1, 13, other);
            if (by == 1) CALL(read, fd, seen, 13);
            if (by == 2) CALL(pread, fd, seen, 13, 0);
            if (by == 3) CALL(fstat, fd, &about);
            if (by == 4) CALL(stat, "file", &about);
            if (by == 5) about.st_size = CALL(lseek, fd, 0, SEEK_END);
            if (by == 6) {
                FILE* const third = CALL(fopen, "file", "r");
                CALL(fgets, seen, 16, third);
                CALL(fclose, third);
            }
        });
        if (by <= 2 || by == 6) EXPECT(std::strcmp(seen, "0123456789new") == 0);
        else EXPECT(about.st_size == 13);
        EXPECT(std::fclose(f) == 0 && std::fclose(other) == 0 && ::close(fd) == 0);
        EXPECT(contents("file") == "0123456789new");
    }
}

/// Two streams of one file: the output that reached the file first is overwritten by the later one.
void output_by_two_streams() {
    const folder here;
    fill("file", "0123456789");
    FILE* const f = std::fopen("file", "r+");
    FILE* const other = std::fopen("file", "r+");
    run(ending::commit, [&] {
        CALL(fputs, "aaaa", f);
        CALL(fputs, "bb", other);
        CALL(fseek, f, 0, SEEK_SET);
        CALL(fseek, other, 0, SEEK_SET);
        CALL(fputs, "c", f);
    });
    EXPECT(std::fclose(f) == 0 && std::fclose(other) == 0);
    EXPECT(contents("file") == "cbaa456789");
}

#ifdef TUTTI_TEST_LIBRARY
/// An irrevocable block has written its waiting output. A cancelled block inside it undoes only its own output.
void output_before_input_in_an_irrevocable_block() {
    for (const bool is_flushed : {false, true}) {
        const folder here;
        fill("file", "0123456789");
        FILE* const f = std::fopen("file", "r+");
        run(ending::commit, [&] {
            CALL(fputs, "AB", f);
            CALL(rewind, f);
            if (is_flushed) CALL(fflush, f);
            else tutti::detail::current_transaction->become_irrevocable("the test wants it");
            CALL(fputs, "c", f);
            cancelled_within([&] {
                CALL(fseek, f, 0, SEEK_CUR);
                CALL(fputs, "QQ", f);
                CALL(rewind, f);
                CALL(fgetc, f);
            });
            CALL(fputs, "d", f);
        });
        EXPECT(std::ftell(f) == 2 && std::fclose(f) == 0 && contents("file") == "cd23456789");
    }
}
#endif

/// Waiting output finds no space at the commit: the stream has an error, as after any late write.
void output_without_room() {
    const folder here;
    const pid_t child = ::fork();
    EXPECT(child >= 0);
    if (child == 0) {
        fill("file", "0123456789");
        FILE* const f = std::fopen("file", "r+");
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit small{10, 10};
        EXPECT(::setrlimit(RLIMIT_FSIZE, &small) == 0);
        run(ending::commit, [&] {
            CALL(fseek, f, 0, SEEK_END);
            CALL(fputs, "new", f);
            CALL(fseek, f, 0, SEEK_SET);
        });
        EXPECT(std::ferror(f) != 0 && contents("file") == "0123456789");
        ::_exit(0);
    }
    int status = -1;
    EXPECT(::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
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
    input_that_ends_by_an_error();
    errors_of_earlier_calls();
    unowned();
    closed_alone();
    from_descriptors();
    formats();
    in_memory();
    output_before_input();
    output_before_input_of_a_new_file();
    output_that_others_look_at();
    output_by_two_streams();
#ifdef TUTTI_TEST_LIBRARY
    output_before_input_in_an_irrevocable_block();
#endif
    output_without_room();
    buffers();
}
