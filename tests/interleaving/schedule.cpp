#include "schedule.hpp"

#include <charconv>
#include <stdexcept>

namespace interleaving {

std::string to_string(const schedule& decisions) {
    if (decisions.empty()) return "-";
    std::string text;
    for (const decision& d : decisions) {
        if (!text.empty()) text += ',';
        text += std::to_string(d.point) + '@' + std::to_string(d.thread);
    }
    return text;
}

schedule parse_schedule(std::string_view text) {
    schedule decisions;
    if (text == "-") return decisions;
    const char* at = text.data();
    const char* const end = at + text.size();
    for (;;) {
        decision d{};
        const auto point = std::from_chars(at, end, d.point);
        if (point.ec != std::errc{} || point.ptr == end || *point.ptr != '@') break;
        const auto thread = std::from_chars(point.ptr + 1, end, d.thread);
        if (thread.ec != std::errc{}) break;
        decisions.push_back(d);
        at = thread.ptr;
        if (at == end) return decisions;
        if (*at++ != ',') break;
    }
    throw std::invalid_argument{"a schedule looks like 12@1,40@0 and not like '" + std::string{text} + "'"};
}

}  // namespace interleaving
