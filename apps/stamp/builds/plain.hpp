// The common part of the builds without transactional variables: plain fields, new and delete.
//
// A build is the template parameter of the programs, with these members (builds/library.hpp is the other model):
//
//   shared<T>     a word that transactions may access concurrently: get(context&), set(context&, value), and load()
//                 and store(value) while no other thread runs
//   context       the argument of a running block
//   atomically(site, body)        runs body(context&) as one transaction and returns its result
//   reading(site, body)           the same for a read-only block
//   create<T>(context&, arguments...), destroy(context&, T*)
//   start_counting(), counted()   around the measured part, while no other thread runs
//
// `site` is a literal that names the block in statistics. A body may run several times, so it sets everything that it
// changes outside of shared words anew each time.
#pragma once

namespace stamp {

/// Empty, so that nothing but the body itself is passed to it.
struct plain_context {};

template <class T>
class plain_shared {
public:
    plain_shared() = default;
    explicit plain_shared(T initial) noexcept : value_{initial} {}
    T get(plain_context&) const noexcept { return value_; }
    void set(plain_context&, T value) noexcept { value_ = value; }
    T load() const noexcept { return value_; }
    void store(T value) noexcept { value_ = value; }

private:
    T value_{};
};

struct plain_build {
    template <class T>
    using shared = plain_shared<T>;
    using context = plain_context;

    template <class T, class... Arguments>
    static T* create(context&, Arguments... arguments) {
        return new T(arguments...);
    }
    template <class T>
    static void destroy(context&, T* object) {
        delete object;
    }
};

}  // namespace stamp
