#include "server/journal/record.hpp"

#include <concepts>

#include "server/journal/byte_encoding.hpp"

namespace tutti::server::journal {
namespace {

// The bits of one byte: whether the call was EXEC, and which kind of checksum its answer has.
constexpr std::uint8_t is_together = 1;
constexpr unsigned kind_of_checksum = 1;  // position of the kind in that byte

/// Writes values into memory that must have enough room for them.
class writer {
public:
    explicit writer(char* to) noexcept : to_{to} {}
    template <std::integral N>
    void put(N value) noexcept {
        std::memcpy(to_, &value, sizeof value);
        to_ += sizeof value;
    }
    void put(std::string_view bytes) noexcept {
        put(static_cast<std::uint32_t>(bytes.size()));
        bytes.copy(to_, bytes.size());
        to_ += bytes.size();
    }

private:
    char* to_;
};

}  // namespace

std::size_t encoded_size(std::span<const recorded_call> parts, std::span<const std::string_view> arguments) noexcept {
    constexpr std::size_t of_all = 4 * sizeof(std::uint64_t) + 3 + sizeof(std::uint32_t);
    constexpr std::size_t of_word = sizeof(std::uint32_t);
    std::size_t bytes = of_all;
    for (const recorded_call& p : parts) bytes += of_word + p.procedure.size() + sizeof(std::uint32_t);
    for (const std::string_view a : arguments) bytes += of_word + a.size();
    return bytes;
}

void encode(const call_circumstances& of, std::span<const recorded_call> parts,
            std::span<const std::string_view> arguments, char* to) noexcept {
    writer w{to};
    w.put(of.position);
    w.put(of.time);
    w.put(of.seed);
    w.put(of.answer);
    w.put(static_cast<std::uint8_t>(of.priority));
    w.put(static_cast<std::uint8_t>(of.protocol));
    w.put(static_cast<std::uint8_t>((of.is_exec ? is_together : 0) | static_cast<unsigned>(of.answer_by)
                                                                         << kind_of_checksum));
    w.put(static_cast<std::uint32_t>(parts.size()));
    for (const recorded_call& p : parts) {
        w.put(p.procedure);
        w.put(static_cast<std::uint32_t>(p.arguments));
    }
    for (const std::string_view a : arguments) w.put(a);
}

record decode(std::string_view& group) {
    record r;
    r.position = read_number<std::uint64_t>(group);
    r.time = read_number<std::int64_t>(group);
    r.seed = read_number<std::uint64_t>(group);
    r.answer = read_number<std::uint64_t>(group);
    r.priority = read_number<std::uint8_t>(group);
    r.protocol = read_number<std::uint8_t>(group);
    const auto how = read_number<std::uint8_t>(group);
    r.is_exec = (how & is_together) != 0;
    r.answer_by = static_cast<checksum_kind>(how >> kind_of_checksum);
    std::size_t arguments = 0;
    for (auto left = read_number<std::uint32_t>(group); left != 0; --left) {
        const std::string_view name = read_word(group);
        r.calls.push_back({name, read_number<std::uint32_t>(group)});
        arguments += r.calls.back().arguments;
    }
    for (; arguments != 0; --arguments) r.arguments.push_back(read_word(group));
    return r;
}

}  // namespace tutti::server::journal
