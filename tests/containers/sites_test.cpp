// A single call of a container is counted at the caller's line.
#include <gtest/gtest.h>

#include "tutti/containers/hash_set.hpp"
#include "tutti/containers/ordered_map.hpp"
#include "tutti/containers/priority_queue.hpp"
#include "tutti/containers/queue.hpp"
#include "tutti/containers/vector.hpp"
#include "tutti/tutti.hpp"

namespace tutti::containers {
namespace {

/// Returns the number of commits counted at a line of this file.
std::uint64_t commits_at(unsigned line) {
    std::uint64_t commits = 0;
    for (const site_statistics& s : statistics()) {
        if (s.line == line && s.file == std::source_location::current().file_name()) commits += s.commits;
    }
    return commits;
}

TEST(sites, count_single_calls_at_the_callers_line) {
    enable_statistics(true);
    queue<int> q;
    vector<std::string> v;
    hash_set<int> s;
    ordered_map<int, int> m;
    priority_queue<int> p;
    constexpr unsigned first = __LINE__ + 1;
    q.push(1);
    v.push_back("text");
    std::ignore = v.at(0);
    s.insert(1);
    m.insert_or_assign(1, 2);
    p.push(3);
    std::ignore = q.pop();
    constexpr unsigned last = __LINE__;
    for (unsigned line = first; line < last; ++line) EXPECT_EQ(commits_at(line), 1u) << "line " << line;
    enable_statistics(false);
}

}  // namespace
}  // namespace tutti::containers
