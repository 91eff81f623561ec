// Exceptions of the engine that the terminate handler knows again when a function of a procedure refuses them
// (core/lifecycle/interrupt.hpp).
#pragma once

#include <cxxabi.h>

#include "core/state/descriptor.hpp"

namespace tutti::core {

[[nodiscard]] inline descriptor& outermost_of(descriptor& d) noexcept {
    descriptor* o = &d;
    while (o->outer != nullptr) o = o->outer;
    return *o;
}

/// An E that is thrown for d, which is interrupted for `why`, if that is not 0. The outermost descriptor knows the
/// latest such exception while it lives.
template <class E>
class traced final : public E {
public:
    traced(descriptor& d, std::uint32_t why) noexcept : of_{&outermost_of(d)} {
        of_->thrown = {this, why, *reinterpret_cast<const exception_globals*>(abi::__cxa_get_globals())};
    }
    /// A copy is not what was thrown.
    traced(const traced& other) noexcept : E{other} {}
    traced& operator=(const traced&) = delete;
    ~traced() {  // NOLINT(modernize-use-override): detail::unwind has no virtual one
        if (of_ != nullptr && of_->thrown.object == this) of_->thrown.object = nullptr;
    }

private:
    descriptor* of_ = nullptr;
};

}  // namespace tutti::core
