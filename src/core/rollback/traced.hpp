// Exceptions of the engine that the terminate handler recognises when a noexcept function of a procedure refuses them
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

/// An exception E that is thrown for d. `why` is the reason of d's interruption, or 0. The outermost descriptor records
/// the latest such exception until that exception is destroyed.
template <class E>
class traced final : public E {
public:
    traced(descriptor& d, std::uint32_t why) noexcept : of_{&outermost_of(d)} {
        of_->thrown = {this, why, *reinterpret_cast<const exception_globals*>(abi::__cxa_get_globals())};
    }
    /// Copies only the base E, because the copy is not the thrown object.
    traced(const traced& other) noexcept : E{other} {}
    traced& operator=(const traced&) = delete;
    ~traced() {  // NOLINT(modernize-use-override): detail::unwind has no virtual one
        if (of_ != nullptr && of_->thrown.object == this) of_->thrown.object = nullptr;
    }

private:
    descriptor* of_ = nullptr;
};

}  // namespace tutti::core
