/// @file
/// Objects to bytes and back.
#pragma once

// First: what it refuses, it refuses in clearer words than those below.
#include "tutti/cluster/id.hpp"

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
        char* const begin = const_cast<char*>(from.data());  // a get area is read only, but typed otherwise
        setg(begin, begin, begin + from.size());
    }
};

}  // namespace detail

/// How a T travels. Trivially copyable types are copied as they are, so all nodes must be of one architecture; any
/// other type goes through cereal: give it a `serialize(archive&)`, or specialise this for it:
///
///     template <> struct tutti::cluster::serializer<money> {
///         static void encode(std::string& to, const money& value);          // appends
///         static void decode(std::string_view from, money& value);          // throws where it cannot
///     };
template <class T>
struct serializer {
    static void encode(std::string& to, const T& value) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            to.append(reinterpret_cast<const char*>(&value), sizeof value);
        } else {
            detail::string_sink sink{to};
            std::ostream stream{&sink};
            cereal::BinaryOutputArchive{stream}(value);
        }
    }
    /// Throws cereal::Exception, or std::length_error, where the bytes are no T.
    static void decode(std::string_view from, T& value) {
        if constexpr (std::is_trivially_copyable_v<T>) {
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

/// In front of every value, so that two programs that mean different types by one id are told.
template <class T>
[[nodiscard]] std::uint64_t type_tag() noexcept {
    static const std::uint64_t tag = object_id{typeid(T).name()}.low ^ sizeof(T);
    return tag;
}

/// An object as a transaction's body sees it.
class TUTTI_EXPORT value_holder {
public:
    virtual ~value_holder();
    virtual void encode(std::string& to) const = 0;
    [[nodiscard]] virtual std::unique_ptr<value_holder> clone() const = 0;
};

template <class T>
class holder_of final : public value_holder {
public:
    holder_of() = default;
    explicit holder_of(const T& from) : value(from) {}
    void encode(std::string& to) const override {
        const std::uint64_t tag = type_tag<T>();
        to.append(reinterpret_cast<const char*>(&tag), sizeof tag);
        serializer<T>::encode(to, value);
    }
    [[nodiscard]] std::unique_ptr<value_holder> clone() const override { return std::make_unique<holder_of>(value); }

    T value{};
};

[[noreturn]] TUTTI_EXPORT void refuse_type(const object_id& id, const char* wanted, const char* why);

template <class T>
[[nodiscard]] std::unique_ptr<value_holder> decode(const object_id& id, std::string_view bytes) {
    std::uint64_t tag = 0;
    if (bytes.size() < sizeof tag) refuse_type(id, typeid(T).name(), "it holds no value of this library's");
    std::memcpy(&tag, bytes.data(), sizeof tag);
    if (tag != type_tag<T>()) refuse_type(id, typeid(T).name(), "it was published as another type");
    auto held = std::make_unique<holder_of<T>>();
    try {
        serializer<T>::decode(bytes.substr(sizeof tag), held->value);
    } catch (const std::exception& e) {
        refuse_type(id, typeid(T).name(), e.what());
    }
    return held;
}

}  // namespace detail
}  // namespace tutti::cluster
