#include "exposition/web_request.hpp"

#include <algorithm>

namespace tutti::exposition {
namespace {

std::string_view reason_of(int status) noexcept {
    switch (status) {
        case 200: return "OK";
        case 400: return "Bad Request";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 431: return "Request Header Fields Too Large";
        case 503: return "Service Unavailable";
        default: return "Internal Server Error";
    }
}

/// Returns the path of a request target. A target is `/path?query`, or `http://host/path?query` if a proxy sends the
/// request.
std::string_view path_of(std::string_view target) noexcept {
    if (const std::size_t scheme = target.find("://"); !target.starts_with('/') && scheme != std::string_view::npos) {
        const std::size_t path = target.find('/', scheme + 3);
        target = path == std::string_view::npos ? std::string_view{"/"} : target.substr(path);
    }
    return target.substr(0, target.find_first_of("?#"));
}

}  // namespace

web_request read_request(std::string_view received) noexcept {
    using state = web_request::state;
    const std::size_t end = std::min(received.find("\r\n\r\n"), received.find("\n\n"));
    if (std::min(end, received.size()) > max_head_bytes) return {.is = state::too_long};
    if (end == std::string_view::npos) return {};
    std::string_view line = received.substr(0, received.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t first = line.find(' '), last = line.rfind(' ');
    // A request line with fewer than two blanks has no version.
    if (first == std::string_view::npos || first == 0 || last == first) return {.is = state::malformed};
    const std::string_view target = line.substr(first + 1, last - first - 1);
    if (!line.substr(last + 1).starts_with("HTTP/1.") || target.empty() || target.find(' ') != std::string_view::npos)
        return {.is = state::malformed};
    return {.is = state::complete, .method = line.substr(0, first), .path = path_of(target)};
}

std::string answer_of(const page& p, bool head_only) {
    std::string answer = "HTTP/1.1 " + std::to_string(p.status) + " ";
    answer.append(reason_of(p.status)).append("\r\nContent-Type: ").append(p.type);
    answer.append("\r\nContent-Length: ").append(std::to_string(p.text.size())).append("\r\n");
    if (p.status == 405) answer.append("Allow: GET, HEAD\r\n");
    answer.append("Cache-Control: no-store\r\nConnection: close\r\n\r\n");
    if (!head_only) answer.append(p.text);
    return answer;
}

}  // namespace tutti::exposition
