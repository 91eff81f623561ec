// Encodes numbers and words (byte strings) for records and for messages to followers. Numbers are in little-endian
// order. The length of a word, a number of 32 bits, precedes its bytes.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tutti::server::journal {

static_assert(std::endian::native == std::endian::little, "records are written as they lie in memory");

template <std::integral N>
void put(std::string& to, N value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void put(std::string& to, std::string_view bytes) {
    put(to, static_cast<std::uint32_t>(bytes.size()));
    to.append(bytes);
}

/// Removes `length` bytes from the front of `from` and returns them. @throws std::runtime_error  if `from` has fewer
/// bytes
inline std::string_view read_bytes(std::string_view& from, std::size_t length) {
    if (from.size() < length) throw std::runtime_error{"a record of the log ends too early"};
    const std::string_view bytes = from.substr(0, length);
    from.remove_prefix(length);
    return bytes;
}
template <std::integral N>
N read_number(std::string_view& from) {
    N value;
    std::memcpy(&value, read_bytes(from, sizeof value).data(), sizeof value);
    return value;
}
inline std::string_view read_word(std::string_view& from) { return read_bytes(from, read_number<std::uint32_t>(from)); }

}  // namespace tutti::server::journal
