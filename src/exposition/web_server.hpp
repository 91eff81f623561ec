// Pages by HTTP for programs that look after a server or a node. It answers GET and HEAD, one request a connection.
//
// Clients cannot keep others from their pages, whatever they send or leave out:
//   - One thread serves all sockets and waits for none of them. So a client that is silent, or reads nothing, costs a
//     socket and no thread, until it has made no progress for `patience`.
//   - Connections have a bound. Beyond it, a new one takes the place of one from the address that has the most.
//   - Each page has a thread of its own, which makes the page once for all who wait for it. So pages that take their
//     time do not delay other pages, and any number of requests costs no more than one of them at a time.
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
    /// By path. Each is called by a thread of its own; the server answers 500 if it throws.
    using pages = std::map<std::string, std::function<page()>, std::less<>>;

    static constexpr std::size_t most_connections = 64;
    static constexpr std::chrono::milliseconds patience{5000};

    /// `port` 0: the system chooses. @throws std::runtime_error  if it cannot listen there, std::system_error
    web_server(const std::string& host, std::uint16_t port, pages all);
    /// Waits for the pages that are being made.
    ~web_server();
    web_server(const web_server&) = delete;
    web_server& operator=(const web_server&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;

private:
    class body;
    std::unique_ptr<body> body_;
};

}  // namespace tutti::exposition
