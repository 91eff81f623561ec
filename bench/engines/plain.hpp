// The common part of the engines without transactional variables: plain fields, malloc and free.
//
// An engine is a policy with these members (engines/tutti.hpp is the other model of them):
//
//   name          its name in reports
//   concurrent    whether several threads may use it at once
//   restarts      whether it may run a body again, and the body may count that
//   cell<T>       a shared variable: get(context&), set(context&, value), and load() while no other thread runs
//   context       the argument of a running block
//   session       an object that lives as long as a measurement
//   read(body)    runs body(context&) as one read-only block, and returns its result
//   update(body)  the same for a block that may write
//   create<T>(context&, arguments...), destroy(context&, T*)
#pragma once

#include <cstdlib>
#include <new>

namespace bench {

/// Empty, so that nothing but the body itself is passed to it.
struct plain_context {};

template <class T>
class plain_cell {
public:
    plain_cell() = default;
    explicit plain_cell(T initial) noexcept : value_{initial} {}
    T get(plain_context&) const noexcept { return value_; }
    void set(plain_context&, T value) noexcept { value_ = value; }
    T load() const noexcept { return value_; }

private:
    T value_;
};

struct plain_engine {
    static constexpr bool concurrent = true;
    static constexpr bool restarts = false;
    template <class T>
    using cell = plain_cell<T>;
    using context = plain_context;
    struct session {};

    /// Ends the program if memory runs out: code under libitm cannot throw from here.
    template <class T, class... Arguments>
    static T* create(context&, Arguments... arguments) noexcept {
        return ::new (std::malloc(sizeof(T))) T(arguments...);
    }
    template <class T>
    static void destroy(context&, T* object) noexcept {
        std::free(object);
    }
};

}  // namespace bench
