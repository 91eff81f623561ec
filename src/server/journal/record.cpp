#include "server/journal/record.hpp"

#include "server/journal/bytes.hpp"

namespace tutti::server::journal {

std::uint64_t checksum(std::string_view bytes) noexcept {
    std::uint64_t sum = 0xcbf29ce484222325;
    for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return sum;
}

std::string encode(const record& r) {
    std::size_t bytes = 64;
    for (const part& p : r.parts) bytes += p.procedure.size() + 8;
    for (const std::string_view a : r.arguments) bytes += a.size() + 4;
    std::string to;
    to.reserve(bytes);
    put(to, r.position);
    put(to, r.time);
    put(to, r.seed);
    put(to, r.answer);
    put(to, static_cast<std::uint8_t>(r.priority));
    put(to, static_cast<std::uint8_t>(r.protocol));
    put(to, static_cast<std::uint8_t>(r.together));
    put(to, static_cast<std::uint32_t>(r.parts.size()));
    for (const part& p : r.parts) {
        put(to, p.procedure);
        put(to, static_cast<std::uint32_t>(p.arguments));
    }
    for (const std::string_view a : r.arguments) put(to, a);
    return to;
}

void set_position(std::string& encoded, std::uint64_t position) noexcept {
    std::memcpy(encoded.data(), &position, sizeof position);
}

record decode(std::string_view& group) {
    record r;
    r.position = take<std::uint64_t>(group);
    r.time = take<std::int64_t>(group);
    r.seed = take<std::uint64_t>(group);
    r.answer = take<std::uint64_t>(group);
    r.priority = take<std::uint8_t>(group);
    r.protocol = take<std::uint8_t>(group);
    r.together = take<std::uint8_t>(group) != 0;
    std::size_t arguments = 0;
    for (auto left = take<std::uint32_t>(group); left != 0; --left) {
        const std::string_view name = take_word(group);
        r.parts.push_back({name, take<std::uint32_t>(group)});
        arguments += r.parts.back().arguments;
    }
    for (; arguments != 0; --arguments) r.arguments.push_back(take_word(group));
    return r;
}

}  // namespace tutti::server::journal
