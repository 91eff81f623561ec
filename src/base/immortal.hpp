// An object in static storage that exists before any code runs, and is never destroyed. Threads may end, and
// transactions may run, after static destructors have run.
#pragma once

namespace tutti::base {

template <class T>
union immortal {
    constexpr immortal() noexcept : value{} {}
    immortal(const immortal&) = delete;
    immortal& operator=(const immortal&) = delete;
    ~immortal() {}  // NOLINT(modernize-use-equals-default): a union with such a member has no destructor otherwise

    T value;
};

}  // namespace tutti::base
