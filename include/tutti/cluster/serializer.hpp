/// @file
/// Converts objects to bytes and back.
#pragma once

// This header comes first, because its error messages are clearer than those of the headers below.
#include "tutti/cluster/errors.hpp"
#include "tutti/cluster/fields.hpp"
#include "tutti/cluster/id.hpp"
#include "tutti/cluster/seqlock_object_base.hpp"

#include <cstring>
#include <istream>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/unordered_map.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>

namespace tutti::cluster {

namespace detail {

class string_sink final : public std::streambuf {
public:
    explicit string_sink(std::string& to) : to_{to} {}

private:
    std::streamsize xsputn(const char* from, std::streamsize count) override {
        to_.append(from, static_cast<std::size_t>(count));
        return count;
    }
    int_type overflow(int_type c) override {
        if (c != traits_type::eof()) to_.push_back(static_cast<char>(c));
        return 0;
    }
    std::string& to_;
};

class string_source final : public std::streambuf {
public:
    explicit string_source(std::string_view from) {
        char* const begin = const_cast<char*>(from.data());  // a get area is only read, but setg takes char*
        setg(begin, begin, begin + from.size());
    }
};

using writing = cereal::BinaryOutputArchive;
/// True if T has versions in cereal's sense.
template <class T>
inline constexpr bool is_versioned = cereal::traits::has_member_versioned_serialize<T, writing>::value ||
                                     cereal::traits::has_non_member_versioned_serialize<T, writing>::value ||
                                     cereal::traits::has_member_versioned_save<T, writing>::value ||
                                     cereal::traits::has_non_member_versioned_save<T, writing>::value;
template <class T>
inline constexpr bool is_copied = std::is_trivially_copyable_v<T> && !is_versioned<T>;

}  // namespace detail

/// The serialization of T. Trivially copyable types are copied bytewise, so all nodes must have the same architecture.
/// All other types go through cereal. An aggregate needs no code of its own if it has no base class and each of its
/// fields can be serialized. Its fields, up to 24, are serialized one after the other. Every other type needs a
/// `serialize(archive&)`, or a specialization of this template; an aggregate may have one:
///
///     template <> struct tutti::cluster::serializer<money> {
///         static void encode(std::string& to, const money& value);          // appends
///         static void decode(std::string_view from, money& value);          // throws where it cannot
///     };
///
/// A type that may change while objects of it exist needs versions. Give it a `serialize(archive&, std::uint32_t
/// version)`, whose `version` is the version of the stored object. `CEREAL_CLASS_VERSION(person, 2)` sets the version
/// that the program writes. The program reads objects of earlier versions, and writes them in its own version. An
/// object that was published before the type had versions has version 0. The program rejects an object of a later
/// version than its own, because writing that object would lose the new fields.
template <class T>
struct serializer {
    static constexpr bool keeps_versions = detail::is_versioned<T>;
    static constexpr bool copies = detail::is_copied<T>;

    static void encode(std::string& to, const T& value) {
        if constexpr (copies) {
            to.append(reinterpret_cast<const char*>(&value), sizeof value);
        } else {
            detail::string_sink sink{to};
            std::ostream stream{&sink};
            cereal::BinaryOutputArchive{stream}(value);
        }
    }
    /// Throws cereal::Exception or std::length_error if the bytes are not a T.
    static void decode(std::string_view from, T& value) {
        if constexpr (copies) {
            if (from.size() != sizeof value) throw std::length_error{"a value of another size"};
            std::memcpy(&value, from.data(), sizeof value);
        } else {
            detail::string_source source{from};
            std::istream stream{&source};
            cereal::BinaryInputArchive{stream}(value);
        }
    }
};

namespace detail {

/// Returns false for a serializer that a user has written and that has no such member.
template <class T>
[[nodiscard]] consteval bool keeps_versions() noexcept {
    if constexpr (requires { serializer<T>::keeps_versions; }) return serializer<T>::keeps_versions;
    else return false;
}

template <class T>
[[nodiscard]] consteval bool copies() noexcept {
    if constexpr (requires { serializer<T>::copies; }) return serializer<T>::copies;
    else return false;
}

/// Returns the tag in front of every value. The tag reveals that two programs use different types for one id. For a
/// type without versions, the tag depends on the type's size, so a change of size makes another type.
template <class T>
[[nodiscard]] std::uint64_t type_tag() noexcept {
    static const std::uint64_t tag = object_id{typeid(T).name()}.low ^ (keeps_versions<T>() ? 0 : sizeof(T));
    return tag;
}
/// Returns true if a value with that tag is a T that was written before T had versions.
template <class T>
[[nodiscard]] bool is_first_version(std::uint64_t tag) noexcept {
    constexpr std::uint64_t max_size = 0xffff;
    return keeps_versions<T>() && (tag ^ type_tag<T>()) <= max_size;
}

/// An object's value as a transaction's body sees it.
class TUTTI_EXPORT value_holder {
public:
    virtual ~value_holder();
    value_holder(const value_holder&) = delete;
    value_holder& operator=(const value_holder&) = delete;
    /// Returns the value's bytes if the value is copied bytewise.
    [[nodiscard]] const typed_bytes& copied() const noexcept { return typed_bytes_; }
    /// Replaces the contents of `to` by the encoded value.
    virtual void encode(std::string& to) const = 0;
    [[nodiscard]] virtual std::unique_ptr<value_holder> clone() const = 0;
    /// Moves the value of `from` into this holder in place, because references to the value may exist. Returns false if
    /// `from` has another type.
    virtual bool take_back(value_holder&& from) noexcept = 0;

protected:
    explicit value_holder(const typed_bytes& copied) noexcept : typed_bytes_{copied} {}

private:
    const typed_bytes typed_bytes_;
};

template <class T>
class holder_of;

[[nodiscard]] TUTTI_NOINLINE inline bool is_same_type(const std::type_info& one, const std::type_info& other) noexcept {
    return one == other;
}
template <class T>
[[nodiscard]] TUTTI_ALWAYS_INLINE bool holds(value_holder& held) noexcept {
    const std::type_info &its = typeid(held), &wanted = typeid(holder_of<T>);
    // Usually there is one type_info object. Another shared library may have a type_info object of its own for the same
    // type.
    return &its == &wanted || is_same_type(its, wanted);
}
/// Returns the holder of a T; null if `held` is null or holds another type.
template <class T>
[[nodiscard]] holder_of<T>* as(value_holder* held) noexcept {
    return held != nullptr && holds<T>(*held) ? static_cast<holder_of<T>*>(held) : nullptr;
}

template <class T>
class holder_of final : public value_holder {
public:
    holder_of() : value_holder{typed_bytes_of(value)} {}
    explicit holder_of(const T& from) : value_holder{typed_bytes_of(value)}, value(from) {}
    void encode(std::string& to) const override {
        const std::uint64_t tag = type_tag<T>();
        if constexpr (copies<T>()) {
            to.resize(sizeof tag + sizeof value);  // usually has this size already
            std::memcpy(to.data(), &tag, sizeof tag);
            std::memcpy(to.data() + sizeof tag, &value, sizeof value);
        } else {
            to.assign(reinterpret_cast<const char*>(&tag), sizeof tag);
            serializer<T>::encode(to, value);
        }
    }
    [[nodiscard]] std::unique_ptr<value_holder> clone() const override { return std::make_unique<holder_of>(value); }
    bool take_back(value_holder&& from) noexcept override {
        auto* const same = as<T>(&from);
        if (same != nullptr) assign(std::move(same->value));
        return same != nullptr;
    }
    template <class U>
    void assign(U&& from) {
        if constexpr (std::is_assignable_v<T&, U&&>) {
            value = std::forward<U>(from);
        } else {
            T fresh(std::forward<U>(from));
            std::destroy_at(&value);
            std::construct_at(&value, std::move(fresh));
        }
    }

    T value{};

private:
    static typed_bytes typed_bytes_of(T& value) noexcept {
        if constexpr (copies<T>()) return {&value, sizeof value, type_tag<T>()};
        else return {};
    }
};

[[noreturn]] TUTTI_EXPORT void refuse_type(const name& of, const char* wanted, const char* why);
[[noreturn]] TUTTI_EXPORT void refuse_version(const name& of, const char* wanted, std::uint32_t written,
                                                    std::uint32_t known);

/// Decodes a versioned value. The bytes of the value begin with the version, because cereal writes the version of the
/// outermost type first.
template <class T>
void decode_versioned(const name& of, std::string_view bytes, bool first, T& value) {
    constexpr std::string_view zero{"\0\0\0\0", sizeof(std::uint32_t)};
    if (first) return serializer<T>::decode(std::string{zero}.append(bytes), value);
    std::uint32_t written = 0;
    if (bytes.size() >= sizeof written) std::memcpy(&written, bytes.data(), sizeof written);
    const std::uint32_t known = cereal::detail::Version<T>::version;
    if (written > known) refuse_version(of, typeid(T).name(), written, known);
    serializer<T>::decode(bytes, value);
}

/// Returns a holder of a new T. Reuses `spare` if it holds a T.
template <class T>
[[nodiscard]] std::unique_ptr<holder_of<T>> make_holder(std::unique_ptr<value_holder> spare) {
    holder_of<T>* const same = as<T>(spare.get());
    if (same == nullptr) return std::make_unique<holder_of<T>>();
    static_cast<void>(spare.release());
    std::unique_ptr<holder_of<T>> again{same};
    again->assign(T{});
    return again;
}

/// Decodes a value that is copied bytewise, which is the usual case. Returns false if `bytes` is not such a value.
template <class T>
[[nodiscard]] bool copied(std::string_view bytes, holder_of<T>& to) noexcept {
    if constexpr (copies<T>()) {
        const std::uint64_t tag = type_tag<T>();
        if (bytes.size() != sizeof tag + sizeof(T) || std::memcmp(bytes.data(), &tag, sizeof tag) != 0) return false;
        std::memcpy(&to.value, bytes.data() + sizeof tag, sizeof(T));
        return true;
    } else {
        return false;
    }
}

template <class T>
[[nodiscard]] std::unique_ptr<value_holder> decode(const name& of, std::string_view bytes,
                                                   std::unique_ptr<value_holder> spare = nullptr) {
    std::uint64_t tag = 0;
    if (bytes.size() < sizeof tag) refuse_type(of, typeid(T).name(), "it holds no value of this library's");
    std::memcpy(&tag, bytes.data(), sizeof tag);
    const bool first = tag != type_tag<T>();
    if (first && !is_first_version<T>(tag)) {
        const bool has_version = !keeps_versions<T>() && (tag ^ type_tag<T>()) == sizeof(T);
        refuse_type(of, typeid(T).name(),
                    has_version ? "it was written as a version of this type, which has none here"
                                : "it was published as another type");
    }
    auto held = make_holder<T>(std::move(spare));
    bytes.remove_prefix(sizeof tag);
    try {
        if constexpr (keeps_versions<T>()) decode_versioned(of, bytes, first, held->value);
        else serializer<T>::decode(bytes, held->value);
    } catch (const type_mismatch&) {
        throw;
    } catch (const std::exception& e) {
        refuse_type(of, typeid(T).name(), e.what());
    }
    return held;
}

}  // namespace detail
}  // namespace tutti::cluster
