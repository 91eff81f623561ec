// The product: as its users get it by default, and its variants.
#pragma once

#include <cstdint>
#include <tutti/tutti.hpp>

namespace bench {

struct tutti_default {
    static constexpr const char* name = "tutti";
    static constexpr bool concurrent = true;
    template <class T>
    using cell = ::tutti::var<T>;
    using context = ::tutti::tx;
    struct worker {
        std::uint64_t bodies = 0;
    };
    struct session {};

    template <class Body>
    static auto read(worker& w, Body body) {
        return ::tutti::atomically({.read_only = true}, [&](context& c) {
            ++w.bodies;
            return body(c);
        });
    }
    template <class Body>
    static auto update(worker& w, Body body) {
        return ::tutti::atomically([&](context& c) {
            ++w.bodies;
            return body(c);
        });
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
    static auto read(worker& w, Body body) {
        return ::tutti::atomically(::tutti::no_unwind, {.read_only = true}, [&](context& c) {
            ++w.bodies;
            return body(c);
        });
    }
    template <class Body>
    static auto update(worker& w, Body body) {
        return ::tutti::atomically(::tutti::no_unwind, [&](context& c) {
            ++w.bodies;
            return body(c);
        });
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

}  // namespace bench
