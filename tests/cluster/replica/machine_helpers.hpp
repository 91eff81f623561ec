// Entries for a state machine without a group, and the machine's answers.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/replica/machine.hpp"

namespace tutti::cluster::replica::testing {

using backend::freshness;
using backend::verdict;
using replica::applied;
using replica::entry;
using replica::machine;
using replica::version;
using checks = std::vector<backend::check>;
using writes = std::vector<backend::write>;
using keys = std::vector<backend::key>;

inline std::string commit_of(const checks& c, const writes& w) {
    entry e;
    e.add_commit(c, w);
    return e.finish();
}

inline replica::outcome commit(machine& m, const checks& c, const writes& w) {
    const applied said = m.apply(commit_of(c, w));
    EXPECT_TRUE(said.readable) << said.why;
    return said.outcomes.at(0);
}

inline std::vector<backend::record> read(const machine& m, const keys& wanted, version at = 0) {
    backend::snapshot of{at};
    std::vector<backend::record> found;
    EXPECT_EQ(m.get(of, at == 0 ? freshness::now : freshness::same, {}, wanted, found), verdict::good);
    return found;
}

}  // namespace tutti::cluster::replica::testing
