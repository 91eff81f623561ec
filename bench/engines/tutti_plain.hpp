// The product on plain memory, with or without the wait that makes privatization safe.
#pragma once

#include "engines/tutti.hpp"

namespace bench {

template <::tutti::privatization Privatization>
struct tutti_plain : tutti_default {
    template <class T>
    class cell {
    public:
        explicit cell(T initial) noexcept : value_{initial} {}
        cell() = default;
        T get(context& c) const { return ::tutti::load(c, &value_); }
        void set(context& c, T value) { ::tutti::store(c, &value_, value); }
        T load() const noexcept { return value_; }

    private:
        T value_{};
    };

    template <class Body>
    static auto read(Body body) {
        return ::tutti::atomically({.read_only = true, .privatization = Privatization}, body);
    }
    template <class Body>
    static auto update(Body body) {
        return ::tutti::atomically({.privatization = Privatization}, body);
    }
};

struct tutti_safe : tutti_plain<::tutti::privatization::safe> {
    static constexpr const char* name = "tutti-safe";
};
struct tutti_waived : tutti_plain<::tutti::privatization::waived> {
    static constexpr const char* name = "tutti-waived";
};

}  // namespace bench
