// Single atomic accesses without blocks: the lowest possible cost of a shared read. Only for workloads whose blocks
// need not be atomic.
#pragma once

#include <atomic>

#include "engines/sequential.hpp"

namespace bench {

struct atomics : sequential {
    static constexpr const char* name = "atomics";
    static constexpr bool concurrent = true;

    template <class T>
    class cell {
    public:
        cell() = default;
        explicit cell(T initial) noexcept : value_{initial} {}
        T get(context&) const noexcept { return load(); }
        void set(context&, T value) noexcept { value_.store(value, std::memory_order_release); }
        T load() const noexcept { return value_.load(std::memory_order_acquire); }

    private:
        std::atomic<T> value_;
    };
};

}  // namespace bench
