#include "server/journal/write_ahead_log.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

namespace tutti::server::journal {
namespace {

constexpr std::size_t header_bytes = 32, frame_header_bytes = 24;
constexpr std::uint32_t magic = 0x377f0682;  // the lowest bit says that checksums use big-endian words
constexpr std::uint32_t version = 3007000;

using bytes = std::span<const unsigned char>;

std::uint32_t big_endian(bytes from, std::size_t at) {
    return (std::uint32_t{from[at]} << 24) | (std::uint32_t{from[at + 1]} << 16) | (std::uint32_t{from[at + 2]} << 8) |
           from[at + 3];
}

struct sums {
    std::uint32_t first = 0, second = 0;
    friend bool operator==(const sums&, const sums&) = default;
};

sums read_sums(bytes from, std::size_t at) { return {big_endian(from, at), big_endian(from, at + 4)}; }

/// Continues the checksum `s` over the bytes `over`, which are complete pairs of words.
sums add(sums s, bytes over, bool words_are_big_endian) {
    const bool swaps = words_are_big_endian == (std::endian::native == std::endian::little);
    for (std::size_t at = 0; at < over.size(); at += 8) {
        std::uint32_t pair[2];
        std::memcpy(pair, over.data() + at, sizeof pair);
        if (swaps) {
            pair[0] = __builtin_bswap32(pair[0]);
            pair[1] = __builtin_bswap32(pair[1]);
        }
        s.first += pair[0] + s.second;
        s.second += pair[1] + s.first;
    }
    return s;
}

struct header {
    bool is_whole = false;
    std::optional<bool> words_are_big_endian{};  // unset: unknown
    std::uint32_t page_bytes = 0;
    std::uint64_t salts = 0;  // the salts as they are in the file
    sums own{};
};

std::uint64_t salts_at(bytes from, std::size_t at) {
    std::uint64_t both;
    std::memcpy(&both, from.data() + at, sizeof both);
    return both;
}

header read_header(bytes from) {
    header h;
    const std::uint32_t m = big_endian(from, 0);
    if ((m & ~1U) == magic) h.words_are_big_endian = (m & 1) != 0;
    h.page_bytes = big_endian(from, 8);
    h.salts = salts_at(from, 16);
    h.own = read_sums(from, 24);
    h.is_whole = h.words_are_big_endian && big_endian(from, 4) == version &&
                 add({}, from.first(24), *h.words_are_big_endian) == h.own;
    return h;
}

/// One frame, as it is in the file.
class frame {
public:
    explicit frame(std::uint32_t page_bytes) : all_(frame_header_bytes + page_bytes) {}
    /// Returns false if the file ends before the frame, or within it.
    bool read(std::ifstream& from) {
        from.read(reinterpret_cast<char*>(all_.data()), static_cast<long>(all_.size()));
        bytes_ = static_cast<std::size_t>(from.gcount());
        return bytes_ == all_.size();
    }
    [[nodiscard]] std::size_t length() const { return bytes_; }
    [[nodiscard]] bool has_salts() const { return bytes_ >= 16; }
    [[nodiscard]] std::uint64_t salts() const { return salts_at(all_, 8); }
    [[nodiscard]] sums own() const { return read_sums(all_, 16); }
    [[nodiscard]] bool ends_transaction() const { return big_endian(all_, 4) != 0; }
    [[nodiscard]] bool follows(sums before, bool words_are_big_endian) const {
        const bytes of{all_};
        return add(add(before, of.first(8), words_are_big_endian), of.subspan(frame_header_bytes),
                   words_are_big_endian) == own();
    }

private:
    std::vector<unsigned char> all_;
    std::size_t bytes_ = 0;  // number of bytes that were read
};

}  // namespace

write_ahead_log read_write_ahead_log(const std::string& file, std::uint32_t page_bytes) {
    write_ahead_log found;
    std::ifstream from{file, std::ios::binary};
    if (!from) {
        if (errno == ENOENT) return found;
        throw std::system_error{errno, std::generic_category(), file};
    }
    unsigned char head[header_bytes];
    if (!from.read(reinterpret_cast<char*>(head), sizeof head)) return found;  // SQLite had not started the log
    const header h = read_header(head);
    found.header_is_bad = !h.is_whole;
    if (h.is_whole) found.salts = h.salts;
    frame f{h.is_whole ? h.page_bytes : page_bytes};
    std::optional<std::uint64_t> salts;
    if (h.is_whole) salts = h.salts;
    sums before = h.own;
    bool is_gapless = h.is_whole, has_ended = false;
    std::uint64_t at = header_bytes, number = 1;
    for (; f.read(from); at = static_cast<std::uint64_t>(from.tellg()), ++number) {
        if (!salts) salts = f.salts();  // the header's salts cannot be trusted
        const bool is_of_turn = f.salts() == *salts;
        const bool big = h.words_are_big_endian.value_or(false);
        const bool is_whole =
            is_of_turn && (f.follows(before, big) || (found.header_is_bad && f.follows(before, !big)));
        before = f.own();
        if (is_of_turn) found.frames = number;
        if (is_gapless && is_whole) {
            if (f.ends_transaction()) found.complete = number;
            continue;
        }
        if (is_gapless) found.first_bad = at;
        is_gapless = false;
        if (is_whole && (has_ended || found.header_is_bad)) ++found.later;
        if (is_of_turn && f.ends_transaction()) has_ended = true;
    }
    // The file ends within a frame. The frame counts only if it belongs to the current generation of the WAL. The
    // remains of an earlier generation show nothing about the current generation. A frame that is too short to contain
    // salts belongs to the current generation if the previous frame does.
    const bool is_of_turn = f.has_salts() ? f.salts() == salts.value_or(f.salts()) : found.frames + 1 == number;
    if (f.length() != 0 && is_of_turn) {
        found.frames = number;
        if (is_gapless) found.first_bad = at;
    }
    return found;
}

bool may_come_after(std::uint64_t salts, std::uint64_t later) noexcept {
    // The -end file stores the salts, and is synced only once a second. So after a crash of the machine, that file may
    // contain the salts of an older generation.
    constexpr std::uint32_t max_restarts = 10'000;
    const auto count_of = [](std::uint64_t salts) {
        unsigned char all[sizeof salts];
        std::memcpy(all, &salts, sizeof salts);
        return big_endian(all, 0);
    };
    return later == salts || count_of(later) - count_of(salts) - 1 < max_restarts;
}

}  // namespace tutti::server::journal
