// Converts values to bytes and back. Numbers are little-endian, and a length precedes the data that it describes. Every
// read is checked against the available bytes.
//
// The schema of a type is a member function template `fields(visitor)` that names the fields in their order. `writer`
// and `reader` are the visitors of the same schema, so writing and reading cannot differ.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tutti/cluster/id.hpp"

namespace tutti::wire {

/// The largest number of elements of any list in a message.
inline constexpr std::uint32_t max_elements = 65536;

template <class T>
concept scalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <class T, class V>
concept structure = requires(T& t, V& v) { t.fields(v); };

static_assert(std::endian::native == std::endian::little, "tutti: messages are little-endian; swap them in bytes.hpp");

class writer {
public:
    explicit writer(std::string& to) noexcept : to_{to} {}

    template <scalar T>
    void operator()(const T& value) {
        const std::size_t at = to_.size();
        to_.resize(at + sizeof value);
        std::memcpy(to_.data() + at, &value, sizeof value);
    }
    /// REQUIRES: shorter than 4 GiB.
    void operator()(std::string_view bytes) {
        (*this)(static_cast<std::uint32_t>(bytes.size()));
        to_.append(bytes);
    }
    void operator()(const std::string& bytes) { (*this)(std::string_view{bytes}); }
    void operator()(const cluster::object_id& id) {
        (*this)(id.high);
        (*this)(id.low);
    }
    template <class T>
    void operator()(const std::vector<T>& values) {
        (*this)(static_cast<std::uint32_t>(values.size()));
        for (const T& value : values) (*this)(value);
    }
    template <structure<writer> T>
    void operator()(const T& value) {
        const_cast<T&>(value).fields(*this);  // reader::operator() calls the same `fields`; writer changes no field
    }

private:
    std::string& to_;
};

/// Reads values from bytes. Throws nothing but std::bad_alloc. If bytes are missing, all further values are zero, and
/// `is_valid` returns false.
class reader {
public:
    explicit reader(std::string_view from) noexcept : rest_{from} {}

    template <scalar T>
    void operator()(T& value) noexcept {
        if (!has(sizeof value)) {
            value = T{};
            return;
        }
        rest_.copy(reinterpret_cast<char*>(&value), sizeof value);
        rest_.remove_prefix(sizeof value);
        if constexpr (requires { last(value); }) {  // the enumeration defines its last value
            if (value <= last(value)) return;
            value = T{};
            refuse();
        }
    }
    /// Reads a bool. Any byte other than 0 and 1 is invalid.
    void operator()(bool& value) noexcept {
        std::uint8_t byte = 0;
        (*this)(byte);
        value = byte == 1;
        if (byte > 1) refuse();
    }
    void operator()(std::string& bytes) {
        std::string_view part;
        (*this)(part);
        bytes.assign(part);
    }
    /// Sets `bytes` to a part of the input. The input must outlive `bytes`.
    void operator()(std::string_view& bytes) noexcept {
        std::uint32_t length = 0;
        (*this)(length);
        if (!has(length)) length = 0;
        bytes = rest_.substr(0, length);
        rest_.remove_prefix(length);
    }
    void operator()(cluster::object_id& id) noexcept {
        (*this)(id.high);
        (*this)(id.low);
    }
    template <class T>
    void operator()(std::vector<T>& values) {
        std::uint32_t count = 0;
        (*this)(count);
        values.clear();
        if (count > max_elements) return refuse();
        // Every element has at least one byte, so a forged count cannot cause a large allocation.
        for (std::uint32_t i = 0; i < count && has(1); ++i) (*this)(values.emplace_back());
    }
    template <structure<reader> T>
    void operator()(T& value) {
        value.fields(*this);
    }

    /// Marks the input as invalid, as if bytes were missing.
    void refuse() noexcept {
        is_valid_ = false;
        rest_ = {};
    }
    /// Returns true if no bytes have been missing and no value has been invalid so far.
    [[nodiscard]] bool good() const noexcept { return is_valid_; }
    /// Returns true if more bytes follow. Returns false after bytes were missing.
    [[nodiscard]] bool has_more() const noexcept { return !rest_.empty(); }
    /// Returns true if all values were valid, and no bytes are left.
    [[nodiscard]] bool is_valid() const noexcept { return is_valid_ && rest_.empty(); }

private:
    bool has(std::size_t bytes) noexcept {
        if (bytes > rest_.size()) refuse();
        return is_valid_;
    }

    std::string_view rest_;
    bool is_valid_ = true;
};

template <class T>
[[nodiscard]] std::string encode(const T& message) {
    std::string bytes;
    writer{bytes}(message);
    return bytes;
}

/// Decodes one T. Returns false if `bytes` is not the encoding of exactly one T.
template <class T>
[[nodiscard]] bool decode(std::string_view bytes, T& message) {
    reader from{bytes};
    from(message);
    return from.is_valid();
}

}  // namespace tutti::wire
