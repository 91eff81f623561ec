// The lines of a server's log. Catches
//   - a caller that waits for the reader of the lines, or for the end of the process
//   - lines that are lost silently, or losses that are reported while no line gets through
//   - lines out of order
#include "tutti/server/line_writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace tutti::server {
namespace {

using namespace std::chrono_literals;

constexpr auto long_enough = 1h;  // only the test's own time limit applies

std::string loss(std::uint64_t lines) { return std::to_string(lines) + " lost\n"; }

/// A pipe that accepts nothing until its reader has read its content.
class full_pipe {
public:
    full_pipe() {
        EXPECT_EQ(::pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0);
        const std::string some(4096, '.');
        while (::write(ends_[1], some.data(), some.size()) > 0) held_ += some.size();
        ::fcntl(ends_[1], F_SETFL, 0);
        ::fcntl(ends_[0], F_SETFL, 0);
    }
    ~full_pipe() {
        stop_reading();
        ::close(ends_[1]);
    }
    full_pipe(const full_pipe&) = delete;
    full_pipe& operator=(const full_pipe&) = delete;

    [[nodiscard]] int writer() const { return ends_[1]; }
    void make_room() { static_cast<void>(read(std::exchange(held_, 0))); }
    /// Reads until the text ends with `end`.
    std::string read_to(const std::string& end) {
        std::string all;
        while (!all.ends_with(end)) all += read(1);
        return all;
    }
    void stop_reading() {
        if (ends_[0] >= 0) ::close(std::exchange(ends_[0], -1));
    }

private:
    std::string read(std::size_t size) {
        std::string text(size, ' ');
        for (std::size_t at = 0; at < size;) {
            const ssize_t some = ::read(ends_[0], text.data() + at, size - at);
            if (some <= 0) throw std::runtime_error{"the pipe ends"};
            at += static_cast<std::size_t>(some);
        }
        return text;
    }
    int ends_[2] = {-1, -1};
    std::size_t held_ = 0;
};

TEST(line_writer, never_waits_for_a_reader_and_reports_losses) {
    full_pipe pipe;
    line_writer to{pipe.writer(), loss, 100};
    const std::string line = std::string(9, 'a') + '\n';
    for (int i = 0; i < 25; ++i) to.write(line);
    EXPECT_EQ(to.lost(), 15U);
    EXPECT_FALSE(to.flush(0ms));
    pipe.make_room();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(pipe.read_to("\n"), line);
    // The number of lines in one report depends on when the writer's thread looks.
    for (unsigned long told = 0; told < 15;) told += std::stoul(pipe.read_to(" lost\n"));
    EXPECT_TRUE(to.flush(long_enough));
    to.write("after\n");
    EXPECT_EQ(pipe.read_to("after\n"), "after\n") << "it is told once";
}

TEST(line_writer, ends_without_a_reader) {
    full_pipe pipe;
    line_writer{pipe.writer(), loss}.write("unread\n");
    pipe.make_room();
    EXPECT_EQ(pipe.read_to("unread\n"), "unread\n") << "its thread goes on";
}

TEST(line_writer, writes_pending_lines_before_it_ends) {
    const int file = ::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    std::string expected;
    {
        line_writer to{file, loss};
        for (int i = 0; i < 1000; ++i) {
            expected += std::to_string(i) + '\n';
            to.write(std::to_string(i) + '\n');
        }
    }
    std::string text(expected.size() + 1, ' ');
    const ssize_t size = ::pread(file, text.data(), text.size(), 0);
    EXPECT_EQ(text.substr(0, static_cast<std::size_t>(size)), expected);
    ::close(file);
}

// A full disk, and a pipe whose reader has gone.
TEST(line_writer, counts_failed_writes) {
    const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    ASSERT_GE(full, 0);
    line_writer to{full, loss};
    for (int i = 0; i < 3; ++i) to.write("no room\n");
    EXPECT_TRUE(to.flush(long_enough));
    EXPECT_EQ(to.lost(), 3U);
    full_pipe pipe;
    pipe.stop_reading();
    line_writer to_nobody{pipe.writer(), loss};
    to_nobody.write("nobody there\n");
    EXPECT_TRUE(to_nobody.flush(long_enough));
    EXPECT_EQ(to_nobody.lost(), 1U);
    ::close(full);
}

}  // namespace
}  // namespace tutti::server
