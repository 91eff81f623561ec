// Pages for programs that look after a server or a node: an HTTP server of CivetWeb, with threads of its own. It
// answers GET and HEAD, one request a connection, and gives up a client that sends nothing for some seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

struct mg_connection;
struct mg_context;

namespace tutti::exposition {

struct page {
    int status = 200;  ///< of HTTP
    std::string text{};
    std::string type = "text/plain; charset=utf-8";
};

class web_server {
public:
    /// By path. Called by any of its threads, several at once; what one throws is answered by 500.
    using pages = std::map<std::string, std::function<page()>, std::less<>>;

    /// `port` 0: the system chooses. @throws std::runtime_error  when it cannot be listened on
    web_server(const std::string& host, std::uint16_t port, pages all);
    /// Waits for the pages that are being made.
    ~web_server();
    web_server(const web_server&) = delete;
    web_server& operator=(const web_server&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
    static int answer(mg_connection* to) noexcept;
    [[nodiscard]] page page_at(const mg_connection* to) const;

    const pages pages_;
    const std::string host_;
    std::unique_ptr<mg_context, void (*)(mg_context*)> http_;
    std::uint16_t port_ = 0;
};

}  // namespace tutti::exposition
