// The lag that a leader reports for a follower. Catches
//   - a figure that differs from the size of the log after a position
//   - a query whose cost grows with that size
#include <gtest/gtest.h>

#include <random>

#include "server/durability/faulty_disk.hpp"
#include "server/durability/log_folder.hpp"
#include "server/journal/log_store.hpp"

namespace tutti::server {
namespace {

using lag = log_folder;

journal::group group_of(std::uint64_t at, std::size_t bytes) {
    return {.first = at, .last = at, .records = std::string(bytes, 'x')};
}

TEST_F(lag, counts_the_bytes_not_yet_replicated) {
    journal::log_store log{file()};
    std::mt19937 chance{7};
    std::vector<journal::group> all;  // the groups that are in the log
    std::uint64_t at = 1;
    const auto write_some = [&] {
        for (int i = 0; i < 40; ++i) {
            all.push_back(group_of(at, 1 + chance() % 200'000));
            log.add({&all.back(), 1}, false);
            at += 1 + chance() % 3;
        }
    };
    const auto is_right = [&] {
        for (std::uint64_t from = 1; from <= at + 1; ++from) {
            std::uint64_t bytes = 0;
            for (const journal::group& g : all) bytes += g.first >= from ? g.records.size() : 0;
            ASSERT_EQ(log.bytes_from(from), bytes) << from;
        }
    };
    write_some();
    is_right();
    write_some();
    is_right();
    log.append({}, {}, at, 0, false);
    log.append(std::vector{group_of(at, 12'345)}, {}, at + 1, 0, false);
    all.push_back(group_of(at++, 12'345));
    is_right();
    log.replace_snapshot({.position = at, .parts = {"all"}}, 3'000'000);
    std::erase_if(all, [&](const journal::group& g) { return g.first < log.first_stored_position(); });
    ASSERT_GT(all.size(), 3U);
    is_right();
    write_some();
    is_right();
    log.replace_by({.position = at}, {});
    all.clear();
    is_right();
}

TEST_F(lag, is_computed_without_a_scan_of_the_log) {
    journal::log_store log{file()};
    constexpr std::uint64_t groups = 4000;
    for (std::uint64_t i = 1; i <= groups; ++i) log.add(std::vector{group_of(i, 8000)}, false);
    EXPECT_EQ(log.bytes_from(1), groups * 8000);
    const int before = faulty_disk::reads;
    EXPECT_EQ(log.bytes_from(10), (groups - 9) * 8000);
    const int after_the_first = faulty_disk::reads;
    EXPECT_EQ(log.bytes_from(2000), (groups - 1999) * 8000);
    EXPECT_LT(after_the_first - before, 500) << "pages, of which the log has some thousands";
    EXPECT_LT(faulty_disk::reads - after_the_first, 500);
}

}  // namespace
}  // namespace tutti::server
