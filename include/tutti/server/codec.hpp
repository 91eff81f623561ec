/// @file
/// Converts C++ values to and from the form that travels between a client and a procedure.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/detail/config.hpp"
#include "tutti/server/reply.hpp"

namespace tutti::server {

/// Thrown if an argument does not have the form that its parameter needs. The client gets the error code ARGUMENT.
class TUTTI_EXPORT bad_argument : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Converts values of type T. Specialize this template for a type of your own:
///
///     template <> struct tutti::server::codec<money> {
///         static money decode(std::string_view from);              // as a parameter; throws bad_argument
///         static void encode(reply& to, const money& value);       // as a result: writes one value
///     };
///
/// You can omit `decode` or `encode` if you do not use it.
template <class T>
struct codec;

template <class T>
    requires(std::integral<T> && !std::same_as<T, bool>)
struct codec<T> {
    static T decode(std::string_view from) {
        T value{};
        const auto [last, failed] = std::from_chars(from.data(), from.data() + from.size(), value);
        if (failed == std::errc::result_out_of_range)
            throw bad_argument{"'" + std::string{from} + "' is beyond the range of its parameter"};
        if (failed != std::errc{} || last != from.data() + from.size())
            throw bad_argument{"'" + std::string{from} + "' is not a whole number"};
        return value;
    }
    static void encode(reply& to, T value) {
        if (std::in_range<std::int64_t>(value)) to.integer(static_cast<std::int64_t>(value));
        else to.text(std::to_string(value));
    }
};

template <std::floating_point T>
struct codec<T> {
    static T decode(std::string_view from) {
        T value{};
        const auto [last, failed] = std::from_chars(from.data(), from.data() + from.size(), value);
        if (failed != std::errc{} || last != from.data() + from.size())
            throw bad_argument{"'" + std::string{from} + "' is not a number"};
        return value;
    }
    static void encode(reply& to, T value) { to.real(static_cast<double>(value)); }
};

template <>
struct codec<bool> {
    static bool decode(std::string_view from) {
        if (from == "1" || from == "true") return true;
        if (from == "0" || from == "false") return false;
        throw bad_argument{"'" + std::string{from} + "' is not 0, 1, false or true"};
    }
    static void encode(reply& to, bool value) { to.boolean(value); }
};

template <>
struct codec<std::string> {
    static std::string decode(std::string_view from) { return std::string{from}; }
    static void encode(reply& to, const std::string& value) { to.text(value); }
};

/// As a parameter, the value is valid until the procedure returns.
template <>
struct codec<std::string_view> {
    static std::string_view decode(std::string_view from) { return from; }
    static void encode(reply& to, std::string_view value) { to.text(value); }
};

/// A parameter of this type is optional. A client that omits its argument must also omit all later arguments.
template <class T>
struct codec<std::optional<T>> {
    static std::optional<T> decode(std::string_view from) { return codec<T>::decode(from); }
    static void encode(reply& to, const std::optional<T>& value) {
        if (value) codec<T>::encode(to, *value);
        else to.null();
    }
};

/// As the last parameter, the vector takes all remaining arguments.
template <class T>
struct codec<std::vector<T>> {
    static void encode(reply& to, const std::vector<T>& values) {
        to.list(values.size());
        for (const T& value : values) codec<T>::encode(to, value);
    }
};

template <class... T>
struct codec<std::tuple<T...>> {
    static void encode(reply& to, const std::tuple<T...>& values) {
        to.list(sizeof...(T));
        std::apply([&](const T&... value) { (codec<T>::encode(to, value), ...); }, values);
    }
};

template <class A, class B>
struct codec<std::pair<A, B>> {
    static void encode(reply& to, const std::pair<A, B>& values) {
        to.list(2);
        codec<A>::encode(to, values.first);
        codec<B>::encode(to, values.second);
    }
};

}  // namespace tutti::server
