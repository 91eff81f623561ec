// A socket to the server that never blocks: requests go out as it takes them, answers come in the order of requests.
#pragma once

#include <memory>
#include <string>

struct redisReader;
struct redisReply;

namespace tpcc::load {

using answer = std::unique_ptr<redisReply, void (*)(void*)>;

class connection {
public:
    /// @throws std::runtime_error  when the server cannot be reached
    connection(const std::string& host, const std::string& port);
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    [[nodiscard]] int descriptor() const noexcept { return socket_; }
    /// To append what is to be sent; `flush` takes it away as far as the socket does.
    [[nodiscard]] std::string& unsent() noexcept { return unsent_; }
    void flush();
    /// Reads what is there. @throws std::runtime_error  when the server has closed the connection
    void receive();
    /// The next whole answer, or null.
    [[nodiscard]] answer next();

private:
    int socket_ = -1;
    std::string unsent_;
    std::size_t sent_ = 0;  // of it
    bool full_ = false;     // the socket took no more; the server reads on when it has answered
    redisReader* reader_;
};

}  // namespace tpcc::load
