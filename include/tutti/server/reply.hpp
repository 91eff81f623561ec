/// @file
/// The reply of a procedure, written in RESP, the protocol of Redis.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tutti/detail/config.hpp"

namespace tutti::server {

/// The protocol of the client: RESP2, or RESP3 after HELLO 3.
enum class protocol : std::uint8_t { resp2 = 2, resp3 = 3 };

/// Writes exactly one value, which may be a list of values. The server rejects a reply with any other number of values,
/// so that a wrong codec harms only its own caller.
///
/// Thread safety: none.
class reply {
public:
    /// Appends to `to`, which must outlive the reply.
    explicit reply(std::string& to, protocol spoken = protocol::resp2) noexcept : to_{&to}, spoken_{spoken} {}

    void integer(std::int64_t value) {
        to_->push_back(':');
        number(value);
        end();
    }
    void text(std::string_view bytes) {
        to_->push_back('$');
        number(bytes.size());
        to_->append("\r\n").append(bytes);
        end();
    }
    /// Writes a short word such as OK. Replaces carriage returns and line feeds by blanks.
    void status(std::string_view word) { line('+', word); }
    void real(double value) {
        char digits[32];
        if (std::isnan(value)) value = std::abs(value);  // RESP3 allows only nan without a sign
        const auto [last, failed] = std::to_chars(digits, digits + sizeof digits, value);
        const std::string_view shown{digits, static_cast<std::size_t>(last - digits)};
        if (spoken_ == protocol::resp2) return text(shown);
        to_->push_back(',');
        to_->append(shown);
        end();
    }
    void boolean(bool value) {
        if (spoken_ == protocol::resp2) return integer(value ? 1 : 0);
        to_->append(value ? "#t" : "#f");
        end();
    }
    void null() {
        to_->append(spoken_ == protocol::resp2 ? "$-1" : "_");
        end();
    }
    /// Begins a list: `size` values must follow.
    void list(std::size_t size) {
        to_->push_back('*');
        number(size);
        end();
        missing_ += static_cast<std::int64_t>(size);
    }
    /// Begins a map: `size` pairs of values must follow.
    void map(std::size_t size) {
        if (spoken_ == protocol::resp2) return list(2 * size);
        to_->push_back('%');
        number(size);
        end();
        missing_ += 2 * static_cast<std::int64_t>(size);
    }
    /// Writes an error. `code` is a word in capitals for programs, and `message` is a text for people.
    void error(std::string_view code, std::string_view message) {
        to_->push_back('-');
        to_->append(code);
        line(' ', message);
    }

    [[nodiscard]] protocol spoken() const noexcept { return spoken_; }
    /// Returns the string to which the reply appends.
    [[nodiscard]] std::string& target() const noexcept { return *to_; }
    /// Returns true if exactly one value has been written.
    [[nodiscard]] bool complete() const noexcept { return missing_ == 0 && !more_than_one_; }

private:
    template <class N>
    void number(N value) {
        char digits[24];
        to_->append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    }
    void line(char kind, std::string_view words) {
        to_->push_back(kind);
        for (const char c : words) to_->push_back(c == '\r' || c == '\n' ? ' ' : c);
        end();
    }
    void end() {
        to_->append("\r\n");
        // Without this flag, a second value that is a list would go unnoticed, because the list's elements would
        // restore the count.
        if (missing_ == 0) more_than_one_ = true;
        --missing_;
    }

    std::string* to_;
    protocol spoken_;
    std::int64_t missing_ = 1;
    bool more_than_one_ = false;
};

}  // namespace tutti::server
