// Runs the blocks of a workload's thread.
#pragma once

#include <cstdint>

namespace bench {

/// Counts executions of bodies, on engines that may execute them more than once and support counting. This costs a
/// nanosecond or two a block: if that matters, call the engine itself.
template <class E>
class worker {
    using context = typename E::context;

public:
    template <class Body>
    auto read(Body body) {
        if constexpr (E::restarts) {
            return E::read([this, body](context& c) {
                ++bodies_;
                return body(c);
            });
        } else {
            return E::read(body);
        }
    }

    template <class Body>
    auto update(Body body) {
        if constexpr (E::restarts) {
            return E::update([this, body](context& c) {
                ++bodies_;
                return body(c);
            });
        } else {
            return E::update(body);
        }
    }

    /// Returns 0 if not counted.
    [[nodiscard]] std::uint64_t bodies() const noexcept { return bodies_; }

private:
    std::uint64_t bodies_ = 0;
};

}  // namespace bench
