#include "base/clock.hpp"

namespace tutti::base {
namespace {

struct reading {
    std::uint64_t ticks = base::ticks();
    deadline time = real_now();
};

// Both clocks are read when the library is loaded, so that the calibration interval is long by the time of the first
// call.
const reading first;

}  // namespace

double nanoseconds_per_tick() noexcept {
#if defined(__x86_64__)
    constexpr std::chrono::milliseconds enough{1};
    reading last;
    while (last.time - first.time < enough) last = reading{};
    return static_cast<double>((last.time - first.time).count()) / static_cast<double>(last.ticks - first.ticks);
#else
    return 1.0;
#endif
}

}  // namespace tutti::base
