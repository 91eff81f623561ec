// An HTTP server for the pages that monitoring programs read about a server or a node. Answers GET and HEAD, one
// request per connection.
//
// A client cannot keep other clients from their pages, regardless of what the client sends:
// - One thread serves all sockets and never blocks on one of them. So a client that is silent or reads nothing occupies
//   a socket, but no thread. The client is closed when it has made no progress for `progress_timeout`.
// - The number of connections is limited. At the limit, a new connection replaces one from the address that has the
//   most connections.
// - Each page has its own thread, which makes the page once for all clients that wait for the page. So a slow page does
//   not delay other pages, and never runs more than once at a time.
//
// Thread safety: `port` may be called by any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "exposition/page.hpp"

namespace tutti::exposition {

class web_server {
public:
    /// Maps each path to the function that makes its page. Each function runs on a thread of its own. If a function
    /// throws, the server answers with status 500.
    using pages = std::map<std::string, std::function<page()>, std::less<>>;

    static constexpr std::size_t max_connections = 64;
    static constexpr std::chrono::milliseconds progress_timeout{5000};

    /// Starts the server. If `port` is 0, the system chooses the port. @throws std::runtime_error if the server cannot
    /// listen at the address, std::system_error
    web_server(const std::string& host, std::uint16_t port, pages all);
    /// Waits for the pages in progress, then ends the server.
    ~web_server();
    web_server(const web_server&) = delete;
    web_server& operator=(const web_server&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace tutti::exposition
