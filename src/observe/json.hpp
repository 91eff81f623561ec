// Writes JSON (RFC 8259) piece by piece. The caller keeps the pieces in a meaningful order; commas are put here.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace tutti::observe {

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
    json_writer& value(const char* text) { return value(std::string_view{text}); }
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
    /// File names are any bytes: those that are no ASCII are written as Latin-1 would have them, so the text is valid.
    void put(std::string_view text) {
        text_ += '"';
        for (const char c : text) {
            const auto byte = static_cast<unsigned char>(c);
            if (c == '"' || c == '\\') {
                text_ += '\\';
                text_ += c;
            } else if (byte < 0x20 || byte >= 0x7f) {
                char escaped[8];
                std::snprintf(escaped, sizeof escaped, "\\u%04x", byte);
                text_ += escaped;
            } else {
                text_ += c;
            }
        }
        text_ += '"';
    }

    std::string text_;
    bool first_ = true;
};

}  // namespace tutti::observe
