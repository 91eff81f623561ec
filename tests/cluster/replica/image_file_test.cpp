// The file to which a member writes an image: its content at the end, error handling, and a loop that stays free during
// the writes.
#include "cluster/replica/image_file.hpp"

#include <sys/resource.h>

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/replica/checksummed.hpp"

namespace {

using namespace tutti::cluster::replica;

class image_file_test : public ::testing::Test {
protected:
    image_file_test() { EXPECT_EQ(::uv_loop_init(&loop_), 0); }
    ~image_file_test() override {
        ::uv_run(&loop_, UV_RUN_DEFAULT);
        EXPECT_EQ(::uv_loop_close(&loop_), 0);
    }
    /// Puts a piece, runs the loop, and returns the status that the store reports.
    int put(image_file& to, std::string piece, bool last) {
        int result = -1;
        to.put(std::move(piece), last, [&result](int status) { result = status; });
        EXPECT_EQ(result, -1);  // this thread does not do the disk's work
        ::uv_run(&loop_, UV_RUN_DEFAULT);
        return result;
    }
    uv_loop_t loop_{};
};

TEST_F(image_file_test, contains_all_pieces_and_their_checksum) {
    image_file file{loop_, ::testing::TempDir()};
    for (int round = 0; round < 2; ++round) {
        std::string all;
        for (int i = 0; i < 40; ++i) {
            const std::string piece(300'000u + static_cast<unsigned>(i), static_cast<char>('a' + i % 26));
            all += piece;
            ASSERT_EQ(put(file, piece, i == 39), 0);
        }
        finish_checksummed(all);
        const raft_buffer whole = file.complete_image();
        EXPECT_TRUE((std::string_view{static_cast<const char*>(whole.base), whole.len} == all));
        file.drop();
    }
    EXPECT_EQ(file.take_error(), "");
}

TEST_F(image_file_test, reports_write_errors_and_can_restart) {
    image_file nowhere{loop_, ::testing::TempDir() + "/is/not/there"};
    EXPECT_EQ(put(nowhere, "piece", true), RAFT_IOERR);
    EXPECT_EQ(nowhere.take_error(), "No such file or directory");
    EXPECT_EQ(nowhere.take_error(), "");
    nowhere.drop();

    image_file small{loop_, ::testing::TempDir()};
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit usual{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
    const rlimit little{100'000, usual.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
    const int first = put(small, std::string(60'000, 'x'), false), second = put(small, std::string(60'000, 'x'), false);
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &usual), 0);
    std::signal(SIGXFSZ, before);
    EXPECT_EQ(first, 0);
    EXPECT_EQ(second, RAFT_IOERR);
    EXPECT_EQ(small.take_error(), "File too large");
    small.drop();
    EXPECT_EQ(put(small, "piece", true), 0);
    EXPECT_EQ(small.complete_image().len, 5 + checksum_bytes);
    small.drop();
}

TEST_F(image_file_test, reports_no_error_of_a_dropped_image) {
    bool called = false;
    {
        image_file file{loop_, ::testing::TempDir()};
        file.put(std::string(1'000'000, 'x'), false, [&called](int) { called = true; });
        file.drop();
        EXPECT_EQ(put(file, "piece", true), 0);
        EXPECT_EQ(file.complete_image().len, 5 + checksum_bytes);
        file.put("piece", true, [&called](int) { called = true; });
    }
    ::uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_FALSE(called);
}

}  // namespace
