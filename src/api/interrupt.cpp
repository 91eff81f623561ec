#include "tutti/interrupt.hpp"

#include "core/lifecycle/interrupt.hpp"
#include "tutti/detail/runtime.hpp"

namespace tutti {

using core::descriptor;

interruption::interruption() : of_{&detail::current_or_attach()} {}
interruption::~interruption() { lower(); }

void interruption::raise() noexcept { core::interrupt(descriptor::of(*of_)); }
void interruption::lower() noexcept { core::forget_interruption(descriptor::of(*of_)); }

}  // namespace tutti
