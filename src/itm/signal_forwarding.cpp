#include "itm/signal_forwarding.hpp"

#include <unwind.h>

#include <cstring>

#include "tutti/detail/runtime.hpp"

namespace tutti::itm {
namespace {

// The language-specific data of a C++ frame describes the calls at which an exception can leave the frame. The data
// consists of a header and a table of the ranges of code that may throw (Itanium C++ ABI: Exception Handling,
// "Tables"). Encodings are those of DWARF's .eh_frame.
constexpr unsigned char omitted = 0xff;
constexpr unsigned char unsigned_leb = 0x01;
constexpr unsigned char unsigned_four = 0x03;

class table_reader {
public:
    explicit table_reader(const void* at) noexcept : at_{static_cast<const unsigned char*>(at)} {}

    unsigned char byte() noexcept { return *at_++; }
    std::uintptr_t leb() noexcept {
        std::uintptr_t value = 0;
        unsigned char part = 0;
        unsigned shift = 0;
        do {
            part = byte();
            value |= static_cast<std::uintptr_t>(part & 0x7f) << shift;
            shift += 7;
        } while ((part & 0x80) != 0);
        return value;
    }
    std::uintptr_t number(unsigned char encoding) noexcept {
        if (encoding == unsigned_leb) return leb();
        std::uint32_t value = 0;
        std::memcpy(&value, at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    [[nodiscard]] const unsigned char* here() const noexcept { return at_; }

private:
    const unsigned char* at_;
};

/// Returns true if the function's table has an entry for the call at `offset`. Then an exception from the call is
/// caught or passes through.
bool covers(const void* data, std::uintptr_t offset) noexcept {
    table_reader read{data};
    if (read.byte() != omitted) return false;  // GCC encodes landing pads relative to the function
    if (read.byte() != omitted) read.leb();    // skips the offset of the type table
    const unsigned char encoding = read.byte();
    if (encoding != unsigned_leb && encoding != unsigned_four) return false;
    const std::uintptr_t size = read.leb();
    const unsigned char* const end = read.here() + size;
    while (read.here() < end) {
        const std::uintptr_t begin = read.number(encoding);
        const std::uintptr_t length = read.number(encoding);
        read.number(encoding);
        read.leb();
        if (offset >= begin && offset - begin < length) return true;
    }
    return false;
}

struct frame_search {
    std::uintptr_t library;  // address of the frame object of the library's block
    registers from{};        // registers of the frame to throw from, if `found`
    bool found = false;
    bool arrived = false;
    std::uint64_t depth = 0;
};

std::uintptr_t saved(_Unwind_Context* frame, int number) noexcept { return _Unwind_GetGR(frame, number); }
void* saved_pointer(_Unwind_Context* frame, int number) noexcept {
    return reinterpret_cast<void*>(saved(frame, number));
}

_Unwind_Reason_Code examine_frame(_Unwind_Context* frame, void* argument) {
    frame_search& s = *static_cast<frame_search*>(argument);
    // libgcc identifies a frame by the value of the stack pointer after the frame's call has returned.
    const auto stack = static_cast<std::uintptr_t>(_Unwind_GetCFA(frame));
    if (stack > s.library) {
        s.arrived = true;
        return _URC_END_OF_STACK;
    }
    const std::uintptr_t resume = _Unwind_GetIP(frame);
    const void* const data = _Unwind_GetLanguageSpecificData(frame);
    if (data != nullptr && !covers(data, resume - 1 - _Unwind_GetRegionStart(frame))) {
        s.found = false;
    } else if (!s.found) {
        // The numbers are DWARF's: 3 is rbx, 6 is rbp.
        s.from = {reinterpret_cast<void*>(stack), saved_pointer(frame, 3),         saved_pointer(frame, 6),
                  saved_pointer(frame, 12),       saved_pointer(frame, 13),        saved_pointer(frame, 14),
                  saved_pointer(frame, 15),       reinterpret_cast<void*>(resume), s.depth};
        s.found = true;
    }
    ++s.depth;
    return _URC_NO_REASON;
}

/// Returns the descriptor whose block of the library receives a signal that leaves the blocks of d.
descriptor& receiving_descriptor(descriptor& d) noexcept {
    descriptor* to = &d;
    while (!to->running()) to = to->outer;
    return *to;
}

}  // namespace

void forward_to_library(descriptor& d) {
    frame_search s{.library = reinterpret_cast<std::uintptr_t>(receiving_descriptor(d).frame_)};
    _Unwind_Backtrace(examine_frame, &s);
    if (!s.found || !s.arrived) {
        api::panic(
            "a block of the library has to start over, and the stack between it and the block of the language "
            "inside it cannot be read; compile with -funwind-tables");
    }
    tutti_itm_throw_from(&s.from);
}

}  // namespace tutti::itm

extern "C" void tutti_itm_throw() { tutti::detail::propagate(tutti::itm::receiving_descriptor(tutti::itm::current())); }
