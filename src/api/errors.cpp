#include "tutti/errors.hpp"

#include "tutti/hardware.hpp"
#include "tutti/interrupt.hpp"

namespace tutti {

usage_error::~usage_error() = default;
unreachable_error::~unreachable_error() = default;

const char* cancelled::what() const noexcept { return "tutti: the atomic block was cancelled"; }
const char* deadline_missed::what() const noexcept { return "tutti: the atomic block cannot meet its deadline"; }
const char* interrupted::what() const noexcept { return "tutti: the atomic block was interrupted from outside"; }
const char* stack_overflow_error::what() const noexcept { return "tutti: stack overflow in an atomic block"; }

std::string_view name_of(abort_cause cause) noexcept {
    switch (cause) {
#define TUTTI_NAME(name, NAME) \
    case abort_cause::name: return #name;
        TUTTI_ABORT_CAUSES(TUTTI_NAME)
#undef TUTTI_NAME
    }
    return "unknown";
}

std::string_view name_of(hardware_abort why) noexcept {
    switch (why) {
#define TUTTI_NAME(name, NAME) \
    case hardware_abort::name: return #name;
        TUTTI_HARDWARE_ABORTS(TUTTI_NAME)
#undef TUTTI_NAME
    }
    return "unknown";
}

}  // namespace tutti
