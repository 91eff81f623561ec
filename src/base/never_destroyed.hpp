// An object in static storage that exists before any code runs, and is never destroyed. Threads may end, and
// transactions may run, after static destructors have run.
#pragma once

namespace tutti::base {

template <class T>
union never_destroyed {
    constexpr never_destroyed() noexcept : value{} {}
    never_destroyed(const never_destroyed&) = delete;
    never_destroyed& operator=(const never_destroyed&) = delete;
    ~never_destroyed() {
    }  // NOLINT(modernize-use-equals-default): a union with such a member has no destructor otherwise

    T value;
};

}  // namespace tutti::base
