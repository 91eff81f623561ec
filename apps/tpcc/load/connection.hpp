// A non-blocking socket to the server. The connection sends requests as fast as the socket accepts them. Replies come
// in the order of requests.
#pragma once

#include <memory>
#include <string>

struct redisReader;
struct redisReply;

namespace tpcc::load {

using answer = std::unique_ptr<redisReply, void (*)(void*)>;

class connection {
public:
    /// @throws std::runtime_error  if the server cannot be reached
    connection(const std::string& host, const std::string& port);
    ~connection();
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    [[nodiscard]] int descriptor() const noexcept { return socket_; }
    /// Returns the buffer to append requests to. `flush` sends as much as the socket accepts.
    [[nodiscard]] std::string& unsent() noexcept { return unsent_; }
    void flush();
    /// Reads the available bytes. @throws std::runtime_error  if the server has closed the connection
    void receive();
    /// Returns the next complete reply, or null.
    [[nodiscard]] answer next();

private:
    int socket_ = -1;
    std::string unsent_;
    std::size_t sent_ = 0;  // bytes of unsent_ that were sent
    bool full_ = false;     // the socket accepted no more; the server reads more after it has replied
    redisReader* reader_;
};

}  // namespace tpcc::load
