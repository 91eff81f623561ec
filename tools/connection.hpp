// A connection of the commands that ask a running server.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "command_line.hpp"

struct redisContext;

namespace tutti::tools {

class connection {
public:
    /// Connects, and authenticates if there is a password. @throws std::runtime_error
    explicit connection(const server_address& to);

    /// The text of the answer. @throws std::runtime_error  when the server refuses or goes away
    std::string ask(std::initializer_list<std::string_view> words);

private:
    std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
};

}  // namespace tutti::tools
