// Entries for a state machine without a group, and their results.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/replica/state_machine.hpp"

namespace tutti::cluster::replica::testing {

using backend::engine_status;
using backend::freshness;
using replica::applied_entry;
using replica::log_entry_builder;
using replica::state_machine;
using replica::version;
using checks = std::vector<backend::check>;
using writes = std::vector<backend::write>;
using keys = std::vector<backend::key>;

inline std::string commit_of(const checks& c, const writes& w) {
    log_entry_builder e;
    e.add_commit(c, w);
    return e.finish();
}

inline replica::operation_result commit(state_machine& m, const checks& c, const writes& w) {
    const applied_entry result = m.apply(commit_of(c, w));
    EXPECT_TRUE(result.is_readable) << result.why;
    return result.results.at(0);
}

inline std::vector<backend::record> read(const state_machine& m, const keys& wanted, version at = 0) {
    backend::read_snapshot of{at};
    std::vector<backend::record> found;
    EXPECT_EQ(m.get(of, at == 0 ? freshness::now : freshness::same, {}, wanted, found), engine_status::good);
    return found;
}

}  // namespace tutti::cluster::replica::testing
