/// @file
/// HyflowCPP's objects: nodes exchange any class that derives from `HyflowObject`, under the name of the class.
#pragma once

// This header comes first, because its error messages are clearer than those of the headers below.
#include "tutti/cluster/ref.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <typeindex>
#include <typeinfo>
#include <utility>

namespace tutti::cluster::hyflow {

/// The base class of every shared object in HyflowCPP programs (chapter 3). The base class holds the object's id and
/// serializes the id itself. So a derived `serialize` lists only the members of its own class.
///
/// A derived class has a default constructor, a copy constructor, and `template <class A> void serialize(A& a)`, or
/// Boost's form with a version. The line HYFLOW_REGISTER(class) at namespace scope allows this node to receive objects
/// of the class from other nodes.
class TUTTI_EXPORT HyflowObject {
public:
    virtual ~HyflowObject() = default;

    [[nodiscard]] const std::string& getId() const noexcept { return id_; }
    void setId(const std::string& id) { id_ = id; }

protected:
    HyflowObject() = default;
    /// Ignores the version, because the protocol keeps it.
    explicit HyflowObject(std::string id, int /*version*/ = 0) : id_{std::move(id)} {}
    HyflowObject(const HyflowObject&) = default;
    HyflowObject& operator=(const HyflowObject&) = default;

private:
    std::string id_;
};

namespace detail {

/// The operations on objects of one class.
struct object_class {
    const char* name;
    std::unique_ptr<HyflowObject> (*make)();
    std::unique_ptr<HyflowObject> (*copy)(const HyflowObject& from);
    void (*encode)(std::string& to, const HyflowObject& from);
    void (*decode)(std::string_view from, HyflowObject& to);
};

/// The classes that the program has registered. Thread-safe, because a library that is loaded later registers its own
/// classes.
class object_classes {
public:
    static object_classes& all() {
        static object_classes known;
        return known;
    }
    template <class T>
    bool add() {
        static_assert(std::is_base_of_v<HyflowObject, T>, "HYFLOW_REGISTER takes a class that derives of HyflowObject");
        const std::unique_lock hold{guard_};
        const object_class what{
            typeid(T).name(), [] { return std::unique_ptr<HyflowObject>{std::make_unique<T>()}; },
            [](const HyflowObject& from) {
                return std::unique_ptr<HyflowObject>{std::make_unique<T>(static_cast<const T&>(from))};
            },
            [](std::string& to, const HyflowObject& from) { serializer<T>::encode(to, static_cast<const T&>(from)); },
            [](std::string_view from, HyflowObject& to) { serializer<T>::decode(from, static_cast<T&>(to)); }};
        by_type_.emplace(typeid(T), what);
        by_name_.emplace(what.name, what);
        return true;
    }
    /// Returns null if the class of the object is not registered.
    [[nodiscard]] const object_class* of(const HyflowObject& object) const {
        const std::shared_lock hold{guard_};
        const auto found = by_type_.find(typeid(object));
        return found == by_type_.end() ? nullptr : &found->second;
    }
    [[nodiscard]] const object_class* named(std::string_view name) const {
        const std::shared_lock hold{guard_};
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : &found->second;
    }

private:
    mutable std::shared_mutex guard_;
    std::map<std::type_index, object_class> by_type_;
    std::map<std::string, object_class, std::less<>> by_name_;
};

/// The value type of `ref` for hyflow objects: an object of any registered class. Copies are deep.
class boxed {
public:
    boxed() = default;
    /// Throws usage_error if the class is not registered.
    explicit boxed(std::unique_ptr<HyflowObject> object) : object_{std::move(object)} {
        class_ = object_classes::all().of(*object_);
        if (class_ != nullptr) return;
        throw usage_error{"tutti: '" + object_->getId() +
                          "' has a class that is not registered; write "
                          "HYFLOW_REGISTER(class) at namespace scope, beside the class"};
    }
    boxed(const boxed& from) : class_{from.class_} {
        if (from.object_) object_ = class_->copy(*from.object_);
    }
    boxed(boxed&&) noexcept = default;
    boxed& operator=(const boxed& from) {
        if (this != &from) *this = boxed{from};
        return *this;
    }
    boxed& operator=(boxed&&) noexcept = default;
    ~boxed() = default;

    [[nodiscard]] HyflowObject* get() const noexcept { return object_.get(); }
    /// Returns a shared owner, so that the object can outlive its box.
    [[nodiscard]] std::shared_ptr<HyflowObject> share() const noexcept { return object_; }

    void encode(std::string& to) const {
        put(to, class_->name);
        put(to, object_->getId());
        class_->encode(to, *object_);
    }
    /// Throws std::exception if the bytes are not an object of a class that is registered here.
    void decode(std::string_view from) {
        const std::string_view name = take(from);
        class_ = object_classes::all().named(name);
        if (class_ == nullptr) throw std::invalid_argument{"its class was not registered here by HYFLOW_REGISTER"};
        const std::string id{take(from)};
        std::unique_ptr<HyflowObject> fresh = class_->make();
        class_->decode(from, *fresh);
        fresh->setId(id);
        object_ = std::move(fresh);
    }

private:
    static void put(std::string& to, std::string_view text) {
        const auto length = static_cast<std::uint32_t>(text.size());
        to.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
    }
    static std::string_view take(std::string_view& from) {
        std::uint32_t length = 0;
        if (from.size() < sizeof length) throw std::length_error{"it ends too early"};
        std::memcpy(&length, from.data(), sizeof length);
        from.remove_prefix(sizeof length);
        if (from.size() < length) throw std::length_error{"it ends too early"};
        const std::string_view text = from.substr(0, length);
        from.remove_prefix(length);
        return text;
    }

    std::shared_ptr<HyflowObject> object_;
    const object_class* class_ = nullptr;
};

}  // namespace detail
}  // namespace tutti::cluster::hyflow

template <>
struct tutti::cluster::serializer<tutti::cluster::hyflow::detail::boxed> {
    static void encode(std::string& to, const hyflow::detail::boxed& value) { value.encode(to); }
    static void decode(std::string_view from, hyflow::detail::boxed& value) { value.decode(from); }
};

/// Allows this node to receive objects of CLASS from other nodes. Use the macro at namespace scope, in one or more
/// files of the program.
#define HYFLOW_REGISTER(CLASS) HYFLOW_REGISTER_AT(CLASS, __LINE__)
#define HYFLOW_REGISTER_AT(CLASS, LINE) HYFLOW_REGISTER_AS(CLASS, hyflow_registers_at_##LINE)
#define HYFLOW_REGISTER_AS(CLASS, NAME)       \
    [[maybe_unused]] static const bool NAME = \
        ::tutti::cluster::hyflow::detail::object_classes::all().template add<CLASS>()
