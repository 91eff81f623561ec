#include "hardware/rtm.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tutti::hardware {
namespace {

#if defined(__x86_64__)
bool processor_has_rtm() noexcept {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
    constexpr unsigned rtm_bit = 1U << 11;            // in EBX
    constexpr unsigned always_aborts_bit = 1U << 11;  // in EDX
    return (b & rtm_bit) != 0 && (d & always_aborts_bit) == 0;
}
#else
bool processor_has_rtm() noexcept { return false; }
#endif

}  // namespace

bool rtm::exists() noexcept {
    static const bool has_rtm = processor_has_rtm();
    return has_rtm;
}

}  // namespace tutti::hardware
