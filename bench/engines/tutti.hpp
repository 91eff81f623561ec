// The product with its defaults, and its variants.
#pragma once

#include <tutti/tutti.hpp>

namespace bench {

struct tutti_default {
    static constexpr const char* name = "tutti";
    static constexpr bool concurrent = true;
    static constexpr bool restarts = true;
    template <class T>
    using cell = ::tutti::var<T>;
    using context = ::tutti::tx;
    struct session {};

    template <class Body>
    static auto read(Body body) {
        return ::tutti::atomically({.read_only = true}, body);
    }
    template <class Body>
    static auto update(Body body) {
        return ::tutti::atomically(body);
    }
    template <class T, class... Arguments>
    static T* create(context& c, Arguments... arguments) {
        return ::tutti::create<T>(c, arguments...);
    }
    template <class T>
    static void destroy(context& c, T* object) {
        ::tutti::destroy(c, object);
    }
};

/// Restarts jump instead of unwinding.
struct tutti_no_unwind : tutti_default {
    static constexpr const char* name = "tutti-no-unwind";

    template <class Body>
    static auto read(Body body) {
        return ::tutti::atomically(::tutti::no_unwind, {.read_only = true}, body);
    }
    template <class Body>
    static auto update(Body body) {
        return ::tutti::atomically(::tutti::no_unwind, body);
    }
};

/// With statistics on.
struct tutti_statistics : tutti_default {
    static constexpr const char* name = "tutti-statistics";

    struct session {
        session() { ::tutti::enable_statistics(true); }
        ~session() { ::tutti::enable_statistics(false); }
        session(const session&) = delete;
        session& operator=(const session&) = delete;
    };
};

/// The ways in which long readers can run.
template <class Kind>
struct tutti_reader : tutti_default {
    static constexpr const char* name = Kind::name;

    template <class Body>
    static auto read(Body body) {
        return ::tutti::atomically(Kind::how, body);
    }
};
struct logged_kind {
    static constexpr const char* name = "tutti-logged";
    static constexpr ::tutti::options how{};
};
struct visible_kind {
    static constexpr const char* name = "tutti-visible";
    static constexpr ::tutti::options how{.read_only = true, .mode = ::tutti::mode::visible};
};
struct snapshot_kind {
    static constexpr const char* name = "tutti-snapshot";
    static constexpr ::tutti::options how{.mode = ::tutti::mode::snapshot};
};

}  // namespace bench
