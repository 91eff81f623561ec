// Writes JSON (RFC 8259) piece by piece. The caller writes the pieces in a valid order, and the writer adds the commas.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>

namespace tutti::observe {

/// Returns the length in bytes of the UTF-8 character (RFC 3629) with which `text` begins. Returns 0 if `text` does not
/// begin with a valid character. REQUIRES: `text` is not empty.
inline std::size_t utf8_length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    // Rejects overlong forms, surrogates, and values beyond U+10FFFF.
    const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < low || byte(1) > high) return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    return length;
}

class json_writer {
public:
    json_writer& begin_object() { return open('{'); }
    json_writer& end_object() { return close('}'); }
    json_writer& begin_array() { return open('['); }
    json_writer& end_array() { return close(']'); }
    json_writer& key(std::string_view name) {
        separate();
        put(name);
        text_ += ':';
        first_ = true;
        return *this;
    }
    json_writer& value(std::uint64_t number) {
        separate();
        text_ += std::to_string(number);
        return *this;
    }
    /// Writes a number with three decimals, independently of the program's locale. REQUIRES: the number is finite.
    json_writer& value(double number) {
        char text[320];  // room for the largest number, with 309 digits before the point
        char* const end = std::to_chars(std::begin(text), std::end(text), number, std::chars_format::fixed, 3).ptr;
        separate();
        text_.append(std::begin(text), end);
        return *this;
    }
    json_writer& value(bool truth) {
        separate();
        text_ += truth ? "true" : "false";
        return *this;
    }
    json_writer& value(std::string_view text) {
        separate();
        put(text);
        return *this;
    }
    json_writer& value(const std::string& text) { return value(std::string_view{text}); }
    json_writer& value(const char* text) { return value(std::string_view{text}); }
    /// Begins a new line for the next value of an array.
    json_writer& line() {
        if (!first_) text_ += ',';
        first_ = true;
        text_ += '\n';
        return *this;
    }
    json_writer& null() {
        separate();
        text_ += "null";
        return *this;
    }
    template <class T>
    json_writer& field(std::string_view name, const T& what) {
        return key(name).value(what);
    }

    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    json_writer& open(char bracket) {
        separate();
        text_ += bracket;
        first_ = true;
        return *this;
    }
    json_writer& close(char bracket) {
        text_ += bracket;
        first_ = false;
        return *this;
    }
    void separate() {
        if (!first_) text_ += ',';
        first_ = false;
    }
    /// Writes a string. The text may contain any bytes, for example in file names. Bytes that are not UTF-8 are written
    /// as Latin-1, so the JSON text is valid.
    void put(std::string_view text) {
        text_ += '"';
        while (!text.empty()) {
            const std::size_t length = utf8_length(text);
            const auto byte = static_cast<unsigned char>(text.front());
            if (byte == '"' || byte == '\\') text_ += '\\';
            if (length == 0 || byte < 0x20 || byte == 0x7f) {
                char escaped[8];
                std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
                text_ += escaped;
            } else {
                text_ += text.substr(0, length);
            }
            text.remove_prefix(length == 0 ? 1 : length);
        }
        text_ += '"';
    }

    std::string text_;
    bool first_ = true;
};

}  // namespace tutti::observe
