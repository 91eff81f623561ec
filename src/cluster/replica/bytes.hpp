// Numbers and texts in a row of bytes, as entries of the log and snapshots hold them: least significant byte first, a
// text behind its length. The reader takes nothing for granted of what it reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::cluster::replica {

class writer {
public:
    void number8(std::uint8_t n) { out_.push_back(static_cast<char>(n)); }
    void number32(std::uint32_t n) { number(n, 4); }
    void number64(std::uint64_t n) { number(n, 8); }
    /// REQUIRES: shorter than 4 GiB.
    void text(std::string_view t) {
        number32(static_cast<std::uint32_t>(t.size()));
        out_.append(t);
    }
    [[nodiscard]] std::size_t size() const noexcept { return out_.size(); }
    [[nodiscard]] const std::string& written() const noexcept { return out_; }
    [[nodiscard]] std::string take() noexcept { return std::move(out_); }

private:
    void number(std::uint64_t n, unsigned bytes) {
        for (unsigned i = 0; i < bytes; ++i) out_.push_back(static_cast<char>(n >> (8 * i)));
    }
    std::string out_;
};

/// After the first thing that is not there, `good` is false and all that is read is 0 or empty. Texts are views of what
/// is read.
class reader {
public:
    explicit reader(std::string_view from) noexcept : left_{from} {}
    [[nodiscard]] std::uint8_t number8() noexcept { return static_cast<std::uint8_t>(number(1)); }
    [[nodiscard]] std::uint32_t number32() noexcept { return static_cast<std::uint32_t>(number(4)); }
    [[nodiscard]] std::uint64_t number64() noexcept { return number(8); }
    [[nodiscard]] std::string_view text() noexcept { return bytes(number32()); }
    /// How many things follow, each of which takes at least `least` bytes: so nobody allocates for more than were sent.
    [[nodiscard]] std::uint32_t count(std::size_t least) noexcept {
        const std::uint32_t n = number32();
        if (n > left_.size() / least) fail();
        return good_ ? n : 0;
    }
    [[nodiscard]] bool good() const noexcept { return good_; }
    [[nodiscard]] bool at_end() const noexcept { return good_ && left_.empty(); }
    [[nodiscard]] std::size_t left() const noexcept { return left_.size(); }
    void fail() noexcept {
        good_ = false;
        left_ = {};
    }

private:
    [[nodiscard]] std::string_view bytes(std::size_t n) noexcept {
        if (n > left_.size()) {
            fail();
            return {};
        }
        const std::string_view got = left_.substr(0, n);
        left_.remove_prefix(n);
        return got;
    }
    [[nodiscard]] std::uint64_t number(unsigned n) noexcept {
        std::uint64_t all = 0;
        unsigned shift = 0;
        for (const char c : bytes(n)) {
            all |= std::uint64_t{static_cast<unsigned char>(c)} << shift;
            shift += 8;
        }
        return all;
    }
    std::string_view left_;
    bool good_ = true;
};

/// FNV-1a, 64 bits: against mistakes and decay, not against intent.
[[nodiscard]] constexpr std::uint64_t checksum(std::string_view of) noexcept {
    std::uint64_t sum = 0xcbf29ce484222325ULL;
    for (const char c : of) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return sum;
}

}  // namespace tutti::cluster::replica
