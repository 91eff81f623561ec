#include "exposition/web_server.hpp"

#include <civetweb.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

namespace tutti::exposition {
namespace {

// One may wait for threads that do not answer, one may be making the metrics, and one is left for who asks meanwhile.
constexpr const char* threads = "3";
constexpr const char* patience_ms = "5000";

void send(mg_connection* to, const page& p) {
    const bool head = std::string_view{mg_get_request_info(to)->request_method} == "HEAD";
    ::mg_printf(to, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s", p.status,
                ::mg_get_response_code_text(to, p.status), p.type.c_str(), p.text.size(),
                p.status == 405 ? "Allow: GET, HEAD\r\n" : "");
    ::mg_printf(to, "Cache-Control: no-store\r\nConnection: close\r\n\r\n");
    if (!head) ::mg_write(to, p.text.data(), p.text.size());
}

}  // namespace

page web_server::page_at(const mg_connection* to) const {
    const mg_request_info& asked = *::mg_get_request_info(to);
    const std::string_view method = asked.request_method;
    const auto found = pages_.find(std::string_view{asked.local_uri == nullptr ? "" : asked.local_uri});
    if (found == pages_.end()) {
        page nothing{.status = 404, .text = "there is no such page; there are"};
        for (const auto& [path, make] : pages_) nothing.text += " " + path;
        nothing.text += '\n';
        return nothing;
    }
    if (method != "GET" && method != "HEAD") return {.status = 405, .text = "this is for GET and HEAD\n"};
    return found->second();
}

int web_server::answer(mg_connection* to) noexcept {
    constexpr int answered = 1;
    const auto* const self = static_cast<const web_server*>(::mg_get_user_data(::mg_get_context(to)));
    try {
        send(to, self->page_at(to));
    } catch (const std::exception& e) {
        // Without memory: nothing here may need any.
        ::mg_printf(to, "HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n\r\n%s\n", e.what());
    }
    return answered;
}

web_server::web_server(const std::string& host, std::uint16_t port, pages all)
    : pages_{std::move(all)}, host_{host}, http_{nullptr, ::mg_stop} {
    const bool bare_v6 = host.find(':') != std::string::npos && !host.starts_with('[');
    const std::string address = (bare_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
    std::array options{"listening_ports",
                       address.c_str(),
                       "num_threads",
                       threads,
                       "request_timeout_ms",
                       patience_ms,
                       static_cast<const char*>(nullptr)};
    mg_callbacks callbacks{};
    callbacks.begin_request = answer;
    errno = 0;
    http_.reset(::mg_start(&callbacks, this, options.data()));
    if (http_ == nullptr) {
        const std::string why = errno == 0 ? "" : ": " + std::generic_category().message(errno);
        throw std::runtime_error{"cannot listen on " + address + " for metrics" + why};
    }
    mg_server_port listens{};
    if (::mg_get_server_ports(http_.get(), 1, &listens) == 1) port_ = static_cast<std::uint16_t>(listens.port);
}

// CivetWeb's thread that accepts looks only every two seconds whether it is to end, unless somebody comes.
web_server::~web_server() {
    if (http_ == nullptr) return;
    std::atomic<bool> ended{false};
    std::thread knocks;
    try {
        knocks = std::thread{[&] {
            while (!ended) {
                std::array<char, 256> why;
                if (mg_connection* const c = ::mg_connect_client(host_.c_str(), port_, 0, why.data(), why.size()))
                    ::mg_close_connection(c);
                std::this_thread::sleep_for(std::chrono::milliseconds{5});
            }
        }};
    } catch (const std::system_error&) {
        // Then it takes those two seconds.
    }
    http_.reset();
    ended = true;
    if (knocks.joinable()) knocks.join();
}

}  // namespace tutti::exposition
