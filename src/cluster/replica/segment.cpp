#include "cluster/replica/segment.hpp"

#include <array>
#include <cstring>
#include <optional>

#include "wire/bytes.hpp"

namespace tutti::cluster::replica {
namespace {

constexpr std::uint64_t format = 1;
constexpr std::size_t word = 8, sums = 8, entry_header = 16;
constexpr std::uint32_t polynomial = 0x04c1'1db7;

using table = std::array<std::array<std::uint32_t, 256>, 4>;

/// tables[k][b]: how byte b changes the checksum if k more bytes follow.
constexpr table tables = [] {
    table all{};
    for (std::uint32_t b = 0; b < 256; ++b) {
        std::uint32_t c = b << 24;
        for (int bit = 0; bit < 8; ++bit) c = (c << 1) ^ ((c >> 31) != 0 ? polynomial : 0);
        all[0][b] = c;
    }
    for (std::size_t k = 1; k < all.size(); ++k) {
        for (std::uint32_t b = 0; b < 256; ++b) all[k][b] = (all[k - 1][b] << 8) ^ all[0][all[k - 1][b] >> 24];
    }
    return all;
}();

std::uint64_t word_at(std::string_view bytes, std::size_t at) {
    std::uint64_t w = 0;
    std::memcpy(&w, bytes.data() + at, sizeof w);
    return w;
}

std::uint32_t half_open_at(std::string_view bytes, std::size_t at) {
    std::uint32_t w = 0;
    std::memcpy(&w, bytes.data() + at, sizeof w);
    return w;
}

struct batch {
    std::uint64_t entries = 0;
    std::size_t headers_at = 0, data_at = 0, end = 0;
};

/// Returns the batch at that offset, or nothing if no intact batch begins there.
std::optional<batch> batch_at(std::string_view bytes, std::size_t at) {
    if (bytes.size() < at + sums + word) return std::nullopt;
    batch b;
    b.entries = word_at(bytes, at + sums);
    if (b.entries == 0 || b.entries > (bytes.size() - at) / entry_header) return std::nullopt;
    b.headers_at = at + sums + word;
    b.data_at = b.headers_at + b.entries * entry_header;
    if (b.data_at > bytes.size()) return std::nullopt;
    std::uint64_t length = 0;
    // This check comes before that of the checksum, because it rejects nearly all bytes that are not a header.
    for (std::uint64_t i = 0; i < b.entries; ++i) {
        const std::size_t header = b.headers_at + i * entry_header;
        const auto type = static_cast<unsigned char>(bytes[header + 8]);
        const std::uint32_t one = half_open_at(bytes, header + 12);
        if (type < 1 || type > 3 || one % word != 0) return std::nullopt;
        length += one;
        if (length > bytes.size() - b.data_at) return std::nullopt;
    }
    b.end = b.data_at + length;
    if (crc_of(bytes.substr(at + sums, b.data_at - at - sums)) != half_open_at(bytes, at) ||
        crc_of(bytes.substr(b.data_at, length)) != half_open_at(bytes, at + 4))
        return std::nullopt;
    return b;
}

void tell(std::string_view bytes, std::size_t at, const batch& b, std::uint64_t run,
          const std::function<void(const logged_entry&)>& each) {
    std::size_t from = b.data_at;
    for (std::uint64_t i = 0; i < b.entries; ++i) {
        const std::size_t header = b.headers_at + i * entry_header;
        const std::uint32_t length = half_open_at(bytes, header + 12);
        each({word_at(bytes, header), static_cast<entry_type>(bytes[header + 8]), bytes.substr(from, length), at, run});
        from += length;
    }
}

}  // namespace

std::uint32_t crc_of(std::string_view bytes, std::uint32_t from) noexcept {
    std::uint32_t c = from;
    while (bytes.size() >= 4) {
        c ^= __builtin_bswap32(half_open_at(bytes, 0));
        c = tables[3][c >> 24] ^ tables[2][(c >> 16) & 255] ^ tables[1][(c >> 8) & 255] ^ tables[0][c & 255];
        bytes.remove_prefix(4);
    }
    for (const char b : bytes) c = (c << 8) ^ tables[0][(c >> 24) ^ static_cast<unsigned char>(b)];
    return c;
}

segment read_segment(std::string_view bytes, const std::function<void(const logged_entry&)>& each,
                     const std::function<void(const logged_entry&)>& later) {
    segment s;
    const std::size_t used = bytes.find_last_not_of('\0') + 1;  // 0 if all bytes are zeros
    if (used == 0) {
        s.is_blank = s.is_clean = true;
        return s;
    }
    const bool begins = bytes.size() >= word && word_at(bytes, 0) == format;
    std::size_t at = word;
    if (begins) {
        s.end = at;
        while (const std::optional<batch> b = batch_at(bytes, at)) {
            tell(bytes, at, *b, 0, each);
            s.entries += b->entries;
            s.end = at = b->end;
        }
    }
    // `used` may be less than `s.end`, because the last bytes of a batch may be zeros.
    s.is_clean = used <= s.end;
    if (s.is_clean) return s;
    std::uint64_t run = 0;
    bool follows = false;
    for (at = begins ? s.end : word; at < used;) {
        const std::optional<batch> b = batch_at(bytes, at);
        if (b) {
            if (!follows) ++run;
            s.later += b->entries;
            if (later) tell(bytes, at, *b, run, later);
        }
        follows = b.has_value();
        at = b ? b->end : at + word;
    }
    return s;
}

unsigned voters_of(std::string_view configuration) noexcept {
    constexpr std::uint8_t voter = 1;
    wire::reader in{configuration};
    std::uint8_t is = 0;
    std::uint64_t servers = 0;
    in(is);
    in(servers);
    unsigned voters = 0;
    for (std::uint64_t i = 0; i < servers && in.good(); ++i) {
        std::uint64_t id = 0;
        std::uint8_t role = 0;
        in(id);
        for (char c = 0; in(c), c != 0 && in.good();) {}
        in(role);
        if (in.good() && role == voter) ++voters;
    }
    return voters;
}

}  // namespace tutti::cluster::replica
