#include "connection.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <stdexcept>

namespace tutti::tools {

connection::connection(const server_address& to)
    : context_{to.unix_socket.empty() ? ::redisConnect(to.host.c_str(), to.port)
                                      : ::redisConnectUnix(to.unix_socket.c_str()),
               ::redisFree} {
    if (context_ == nullptr || context_->err != 0)
        throw std::runtime_error{
            fmt::format("the server cannot be reached: {}", context_ ? context_->errstr : "no memory")};
    if (!to.password.empty()) static_cast<void>(ask("AUTH", to.password));
}

std::string connection::ask(const char* name, const std::string& argument) {
    const char* words[] = {name, argument.data()};
    const std::size_t sizes[] = {std::string_view{name}.size(), argument.size()};
    const std::unique_ptr<redisReply, void (*)(void*)> reply{
        static_cast<redisReply*>(::redisCommandArgv(context_.get(), argument.empty() ? 1 : 2, words, sizes)),
        ::freeReplyObject};
    if (reply == nullptr) throw std::runtime_error{fmt::format("the server went away: {}", context_->errstr)};
    std::string text{reply->str, static_cast<std::size_t>(reply->len)};
    if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error{"the server refuses: " + text};
    return text;
}

}  // namespace tutti::tools
