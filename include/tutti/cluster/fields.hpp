/// @file
/// Visits the fields of an aggregate in order, so that the aggregate can be serialized without a `serialize` of its
/// own.
#pragma once

// This header comes first, because its error messages are clearer than those of the headers below.
#include "tutti/detail/config.hpp"

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <cereal/archives/binary.hpp>

namespace tutti::cluster::detail {

/// A value that converts to the type of any field of T. The conversion is never called. The conversion is defined only
/// because Clang requires a definition if T is a local type.
template <class T>
struct any_field {
    template <class U>
        requires(!std::same_as<U, T>)
    operator U() const noexcept {
        __builtin_unreachable();
    }
};

/// Returns true if T can be initialized from this many values. One field gets an initializer list of its own, with the
/// values of `inner`.
template <class T, std::size_t... before, std::size_t... inner, std::size_t... after>
[[nodiscard]] consteval bool is_initializable_from(std::index_sequence<before...>, std::index_sequence<inner...>,
                                                   std::index_sequence<after...>) noexcept {
    const auto a = [](std::size_t) { return any_field<T>{}; };
    if constexpr (sizeof...(inner) == 0) return requires { T{a(before)..., a(after)...}; };
    else return requires { T{a(before)..., {a(inner)...}, a(after)...}; };
}
template <class T, std::size_t before, std::size_t inner = 0, std::size_t after = 0>
inline constexpr bool is_initializable = is_initializable_from<T>(
    std::make_index_sequence<before>{}, std::make_index_sequence<inner>{}, std::make_index_sequence<after>{});

inline constexpr std::size_t max_fields = 24;
/// The largest number of initializers that is tried. Each element of an array counts as one initializer.
inline constexpr std::size_t max_values = 64;

/// Returns the largest number of values from which T can be initialized. Fewer values would also work, because omitted
/// fields get their defaults.
template <class T, std::size_t n = max_values>
[[nodiscard]] consteval std::size_t value_count() noexcept {
    if constexpr (n == 0 || is_initializable<T, n>) return n;
    else return value_count<T, n - 1>();
}

/// Returns the number of values, out of `all`, that belong to the field at `first`. The result exceeds 1 only for an
/// array. A class can be initialized from several values in braces, but counts as one value.
template <class T, std::size_t all, std::size_t first, std::size_t n = all - first>
[[nodiscard]] consteval std::size_t value_count_of_field() noexcept {
    if constexpr (n <= 1) return 1;
    else if constexpr (is_initializable<T, first, n, all - first - n> &&
                       !is_initializable<T, first, n, all - first - n + 1>)
        return n;
    else return value_count_of_field<T, all, first, n - 1>();
}
template <class T, std::size_t all, std::size_t first = 0>
[[nodiscard]] consteval std::size_t field_count_from() noexcept {
    if constexpr (first >= all) return 0;
    else return 1 + field_count_from<T, all, first + value_count_of_field<T, all, first>()>();
}
template <class T>
inline constexpr std::size_t field_count = field_count_from<T, value_count<T>()>();

/// Calls f(field, field, …).
template <class T, class F>
void for_fields(T& of, F&& f) {
    constexpr std::size_t n = field_count<std::remove_const_t<T>>;
    static_assert(n <= max_fields, "give this type a serialize(archive&): it has more fields than are looked for");
    if constexpr (n == 0) return;
    else if constexpr (n == 1) {
        auto& [a] = of;
        f(a);
    } else if constexpr (n == 2) {
        auto& [a, b] = of;
        f(a, b);
    } else if constexpr (n == 3) {
        auto& [a, b, c] = of;
        f(a, b, c);
    } else if constexpr (n == 4) {
        auto& [a, b, c, d] = of;
        f(a, b, c, d);
    } else if constexpr (n == 5) {
        auto& [a, b, c, d, e] = of;
        f(a, b, c, d, e);
    } else if constexpr (n == 6) {
        auto& [a, b, c, d, e, g] = of;
        f(a, b, c, d, e, g);
    } else if constexpr (n == 7) {
        auto& [a, b, c, d, e, g, h] = of;
        f(a, b, c, d, e, g, h);
    } else if constexpr (n == 8) {
        auto& [a, b, c, d, e, g, h, i] = of;
        f(a, b, c, d, e, g, h, i);
    } else if constexpr (n == 9) {
        auto& [a, b, c, d, e, g, h, i, j] = of;
        f(a, b, c, d, e, g, h, i, j);
    } else if constexpr (n == 10) {
        auto& [a, b, c, d, e, g, h, i, j, k] = of;
        f(a, b, c, d, e, g, h, i, j, k);
    } else if constexpr (n == 11) {
        auto& [a, b, c, d, e, g, h, i, j, k, l] = of;
        f(a, b, c, d, e, g, h, i, j, k, l);
    } else if constexpr (n == 12) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m);
    } else if constexpr (n == 13) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m, o] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m, o);
    } else if constexpr (n == 14) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m, o, p);
    } else if constexpr (n == 15) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q);
    } else if constexpr (n == 16) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r);
    } else if constexpr (n == 17) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s);
    } else if constexpr (n == 18) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t);
    } else if constexpr (n == 19) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u);
    } else if constexpr (n == 20) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v);
    } else if constexpr (n == 21) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w);
    } else if constexpr (n == 22) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x);
    } else if constexpr (n == 23) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y);
    } else if constexpr (n == 24) {
        auto& [a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y, z] = of;
        f(a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y, z);
    }
}

/// True if T defines its own serialization in one of cereal's ways. The concept need not check for a free
/// `serialize(archive, T&)`, because overload resolution prefers that function to the one below.
template <class T>
concept has_own_serialization =
    cereal::traits::has_member_serialize<T, cereal::BinaryOutputArchive>::value ||
    cereal::traits::has_member_versioned_serialize<T, cereal::BinaryOutputArchive>::value ||
    cereal::traits::has_member_save<T, cereal::BinaryOutputArchive>::value ||
    cereal::traits::has_member_versioned_save<T, cereal::BinaryOutputArchive>::value ||
    cereal::traits::has_member_save_minimal<T, cereal::BinaryOutputArchive>::value ||
    cereal::traits::has_member_versioned_save_minimal<T, cereal::BinaryOutputArchive>::value ||
    cereal::traits::has_non_member_versioned_serialize<T, cereal::BinaryOutputArchive>::value ||
    cereal::traits::has_non_member_save<T, cereal::BinaryOutputArchive>::value ||
    cereal::traits::has_non_member_versioned_save<T, cereal::BinaryOutputArchive>::value ||
    cereal::traits::has_non_member_save_minimal<T, cereal::BinaryOutputArchive>::value ||
    cereal::traits::has_non_member_versioned_save_minimal<T, cereal::BinaryOutputArchive>::value;

/// An aggregate without its own serialization is serialized field by field. The archive itself handles tuple-like types
/// (`std::array`).
template <class T>
concept serialized_by_fields = std::is_class_v<T> && std::is_aggregate_v<T> && !has_own_serialization<T> &&
                               !requires { std::tuple_size<T>::value; };

}  // namespace tutti::cluster::detail

namespace cereal {

/// Serializes an aggregate. The function is in namespace cereal, where archives look it up, so that aggregates inside
/// vectors, maps and other aggregates work too.
template <class Archive, class T>
    requires((std::same_as<Archive, BinaryOutputArchive> || std::same_as<Archive, BinaryInputArchive>) &&
             tutti::cluster::detail::serialized_by_fields<T>)
void CEREAL_SERIALIZE_FUNCTION_NAME(Archive& archive, T& value) {
    tutti::cluster::detail::for_fields(value, archive);
}

}  // namespace cereal
