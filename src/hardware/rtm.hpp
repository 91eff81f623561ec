// Implements the port core/ports/hardware.hpp by Intel's Restricted Transactional Memory.
#pragma once

#include "base/panic.hpp"
#include "core/ports/hardware.hpp"
#include "hardware/aborts.hpp"
#include "hardware/instructions.hpp"

namespace tutti::hardware {

struct rtm {
    /// Returns true if the processor has RTM and can commit transactions. (Microcode against the vulnerability TSX
    /// Asynchronous Abort makes some processors abort every transaction.)
    [[nodiscard]] static bool exists() noexcept;

    [[nodiscard]] static bool begin(core::descriptor& d) noexcept {
        const std::uint32_t status = instructions::xbegin();
        if (status == instructions::has_begun) return true;
        record_abort(d, instructions::reason_of(status));
        return false;
    }
    template <class Location>
    [[nodiscard]] static core::word read(core::descriptor&, const Location& location) noexcept {
        return location.read();
    }
    [[nodiscard]] static core::word watch(core::descriptor&, const detail::shared<core::word>& w) noexcept {
        return w.load(std::memory_order_relaxed);
    }
    template <class Last>
    [[nodiscard]] static bool commit(core::descriptor& d, Last&& last) noexcept {
        if (const core::hardware_verdict against = last()) abort(d, *against);
        instructions::xend();
        return true;
    }
    static void leave(core::descriptor&) noexcept { instructions::xend(); }
    [[noreturn]] static void abort(core::descriptor&, hardware_abort why) noexcept {
        switch (why) {
#define TUTTI_ENUMERATOR(name, NAME) \
    case hardware_abort::name: instructions::xabort<hardware_abort::name>(); break;
            TUTTI_HARDWARE_ABORTS(TUTTI_ENUMERATOR)
#undef TUTTI_ENUMERATOR
        }
        base::panic("XABORT outside of a hardware transaction");
    }
    static void refresh(core::descriptor&) noexcept {}
};
static_assert(core::hardware<rtm>);

}  // namespace tutti::hardware
