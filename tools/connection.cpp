#include "connection.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <stdexcept>
#include <vector>

namespace tutti::tools {

connection::connection(const server_address& to)
    : context_{to.unix_socket.empty() ? ::redisConnect(to.host.c_str(), to.port)
                                      : ::redisConnectUnix(to.unix_socket.c_str()),
               ::redisFree} {
    if (context_ == nullptr || context_->err != 0)
        throw std::runtime_error{
            fmt::format("the server cannot be reached: {}", context_ ? context_->errstr : "no memory")};
    if (!to.user.empty()) static_cast<void>(ask({"AUTH", to.user, to.password}));
    else if (!to.password.empty()) static_cast<void>(ask({"AUTH", to.password}));
}

std::string connection::ask(std::initializer_list<std::string_view> words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string_view w : words) {
        texts.push_back(w.data());
        sizes.push_back(w.size());
    }
    const std::unique_ptr<redisReply, void (*)(void*)> reply{
        static_cast<redisReply*>(
            ::redisCommandArgv(context_.get(), static_cast<int>(texts.size()), texts.data(), sizes.data())),
        ::freeReplyObject};
    if (reply == nullptr) throw std::runtime_error{fmt::format("the server went away: {}", context_->errstr)};
    std::string text{reply->str, static_cast<std::size_t>(reply->len)};
    if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error{"the server refuses: " + text};
    return text;
}

}  // namespace tutti::tools
