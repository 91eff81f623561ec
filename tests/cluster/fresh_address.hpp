// Where the nodes of a test listen.
#pragma once

#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

namespace tutti::cluster::testing {

/// Of a Unix socket that no living process has: another one with this process's number may have been killed, and have
/// left its file.
inline std::string fresh_address(const std::string& name) {
    const std::string path = ::testing::TempDir() + "tutti-" + std::to_string(::getpid()) + "-" + name;
    ::unlink(path.c_str());
    return "unix:" + path;
}

}  // namespace tutti::cluster::testing
