// Threads that share a stream. Lines are never torn, and their order is the commit order of their transactions. Beside
// blocks of the library, the output of a thread outside of transactions stays whole between the lines. A block of the
// language may run without barriers. Its calls are then glibc's own, and another thread's call may come between two of
// them.
//
// Catches a stream that is released before the commit, and one whose lock a transaction does not acquire. Catches a
// restart that undoes the stream although the transaction does not own it yet.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "support/effort.hpp"
#include "support/worker_group.hpp"
#include "writers.hpp"

namespace {

using namespace streams;

struct written {
    std::vector<long> numbers;
    std::size_t outsiders = 0;
    std::size_t torn = 0;
};

written read_back(FILE* f) {
    std::fflush(f);
    std::rewind(f);
    written w;
    char line[256];
    long number = 0;
    int writer = 0;
    while (std::fgets(line, sizeof line, f) != nullptr) {
        int end = 0;
        if (std::sscanf(line, "%ld %d a line of some length, so that buffers end inside of one%n", &number, &writer,
                        &end) == 2 &&
            end != 0 && line[end] == '\n') {
            w.numbers.push_back(number);
        } else if (std::string_view{line} == "from outside, in one call\n") {
            ++w.outsiders;
        } else {
            ++w.torn;
        }
    }
    return w;
}

void run(void (*write_line)(FILE*, int), int buffering, bool has_outsider) {
    constexpr unsigned threads = 8;
    const std::size_t lines = tutti::support::rounds(buffering == _IOFBF ? 2000 : 400);
    FILE* const f = std::tmpfile();
    std::setvbuf(f, nullptr, buffering, BUFSIZ);
    line_number = 0;
    tutti::support::run_threads(threads, [=](unsigned t) {
        for (std::size_t i = 0; i != lines; ++i) {
            if (t == 0 && has_outsider) std::fprintf(f, "from outside, in %s call\n", "one");
            else write_line(f, static_cast<int>(t));
        }
    });
    const written w = read_back(f);
    EXPECT_EQ(w.torn, 0U);
    EXPECT_EQ(w.outsiders, has_outsider ? lines : 0);
    ASSERT_EQ(w.numbers.size(), lines * (threads - (has_outsider ? 1 : 0)));
    for (std::size_t i = 0; i != w.numbers.size(); ++i) ASSERT_EQ(w.numbers[i], static_cast<long>(i));
    std::fclose(f);
}

TEST(writers, share_a_stream_in_library_blocks) { run(write_line_in_library, _IOFBF, true); }
// Line ends are written irrevocably, after a conflict over the stream.
TEST(writers, share_a_line_buffered_stream_in_library_blocks) { run(write_line_in_library, _IOLBF, true); }
#if defined(TUTTI_TESTS_LANGUAGE)
TEST(writers, share_a_stream_in_language_blocks) { run(write_line_in_language, _IOFBF, false); }
TEST(writers, share_a_line_buffered_stream_in_language_blocks) { run(write_line_in_language, _IOLBF, false); }
#endif

}  // namespace
