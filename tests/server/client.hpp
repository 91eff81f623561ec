// Clients for tests: a whole one, hiredis, and a bare socket for what no client library would send.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;

namespace tutti::server {

/// One connection of hiredis. Answers are turned into text: errors with a minus before them, elements of lists between
/// parentheses, "nil".
class client {
public:
    explicit client(std::uint16_t port);
    explicit client(const std::string& unix_path);
    ~client();

    std::string operator()(const std::vector<std::string>& words);
    void send(const std::vector<std::string>& words);
    /// "closed" when the connection has ended.
    std::string receive();

private:
    redisContext* context_;
};

/// A blocking socket.
class bare_socket {
public:
    explicit bare_socket(std::uint16_t port, int receive_buffer = 0);
    ~bare_socket();
    bare_socket(const bare_socket&) = delete;
    bare_socket& operator=(const bare_socket&) = delete;

    /// False when the other side has gone.
    bool send(std::string_view bytes);
    /// Without waiting; how many were taken.
    std::size_t send_some(std::string_view bytes);
    void half_close();
    /// Sends a reset instead of an orderly end.
    void reset();
    /// What comes up to the end of the connection.
    std::string receive_all();
    /// At least that much, unless the connection ends.
    std::string receive(std::size_t bytes);
    /// Until so many lines have come, or the connection ends. REQUIRES: no more than that are on their way.
    std::string receive_lines(std::ptrdiff_t lines);

private:
    int socket_;
};

/// A request as clients send it.
[[nodiscard]] std::string wire(const std::vector<std::string>& words);

/// The answer of HTTP to a GET, whole: "" if nobody listens.
[[nodiscard]] std::string http_get(std::uint16_t port, const std::string& path, const std::string& method = "GET");

/// What INFO says of `key`; zero if it does not name it.
[[nodiscard]] std::size_t number_of(const std::string& info, const std::string& key);

}  // namespace tutti::server
