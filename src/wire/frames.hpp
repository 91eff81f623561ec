// Splits a stream of bytes into frames.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "wire/bytes.hpp"
#include "wire/message.hpp"

namespace tutti::wire {

/// Passes the complete frames to `receive(header, body)`, and removes them from `input`. Returns false if a frame is
/// invalid, is too large, or names a sender other than `from`, or if `receive` has returned false.
template <class F>
[[nodiscard]] bool split_frames(std::string& input, node_number from, std::size_t max_bytes, F&& receive) {
    std::string_view rest{input};
    while (rest.size() >= header::size) {
        header h;
        if (!decode(rest.substr(0, header::size), h) || h.version != protocol_version || h.from != from ||
            h.length > max_bytes)
            return false;
        if (rest.size() < header::size + h.length) break;
        if (!receive(h, rest.substr(header::size, h.length))) return false;
        rest.remove_prefix(header::size + h.length);
    }
    input.erase(0, input.size() - rest.size());
    return true;
}

}  // namespace tutti::wire
