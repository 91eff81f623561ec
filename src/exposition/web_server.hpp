// Pages by HTTP for programs that monitor a server or a node. Answers GET and HEAD, one request per connection.
//
// A client cannot keep other clients from their pages, regardless of what it sends:
//   - One thread serves all sockets and waits for none of them. So a client that is silent, or reads nothing, costs a
//     socket and no thread, until it has made no progress for `timeout`.
//   - The number of connections is limited. At the limit, a new connection replaces one from the address that has the
//     most.
//   - Each page has its own thread, which makes the page once for all clients that wait for it. So a slow page does not
//     delay other pages, and any number of requests makes a page only once at a time.
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
    /// The pages by path. Each function is called by a thread of its own; the server answers 500 if it throws.
    using pages = std::map<std::string, std::function<page()>, std::less<>>;

    static constexpr std::size_t max_connections = 64;
    static constexpr std::chrono::milliseconds timeout{5000};

    /// Starts the server. `port` 0: the system chooses. @throws std::runtime_error if it cannot listen there,
    /// std::system_error
    web_server(const std::string& host, std::uint16_t port, pages all);
    /// Waits for the pages that are being made.
    ~web_server();
    web_server(const web_server&) = delete;
    web_server& operator=(const web_server&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace tutti::exposition
