// Addresses for the nodes of a test.
#pragma once

#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

namespace tutti::cluster::testing {

/// Returns a Unix socket address that no living process uses. A killed process may have had this process's number, and
/// may have left its socket file; this function removes that file.
inline std::string fresh_address(const std::string& name) {
    const std::string path = ::testing::TempDir() + "tutti-" + std::to_string(::getpid()) + "-" + name;
    ::unlink(path.c_str());
    return "unix:" + path;
}

}  // namespace tutti::cluster::testing
