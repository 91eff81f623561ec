#include "tutti/errors.hpp"

#include "tutti/interrupt.hpp"

namespace tutti {

usage_error::~usage_error() = default;

const char* cancelled::what() const noexcept { return "tutti: the atomic block was cancelled"; }
const char* deadline_missed::what() const noexcept { return "tutti: the atomic block cannot meet its deadline"; }
const char* interrupted::what() const noexcept { return "tutti: the atomic block was interrupted from outside"; }
const char* out_of_stack::what() const noexcept { return "tutti: the stack does not suffice for the atomic block"; }

std::string_view name_of(abort_cause cause) noexcept {
    switch (cause) {
        case abort_cause::none: return "none";
        case abort_cause::conflict_read_locked: return "conflict_read_locked";
        case abort_cause::conflict_write_locked: return "conflict_write_locked";
        case abort_cause::conflict_visible_read: return "conflict_visible_read";
        case abort_cause::conflict_abstract_lock: return "conflict_abstract_lock";
        case abort_cause::validation: return "validation";
        case abort_cause::read_only_overtaken: return "read_only_overtaken";
        case abort_cause::killed: return "killed";
        case abort_cause::irrevocable_switch: return "irrevocable_switch";
        case abort_cause::mode_switch: return "mode_switch";
        case abort_cause::explicit_retry: return "explicit_retry";
        case abort_cause::explicit_restart: return "explicit_restart";
        case abort_cause::explicit_cancel: return "explicit_cancel";
        case abort_cause::exception: return "exception";
        case abort_cause::participant_veto: return "participant_veto";
        case abort_cause::allocation: return "allocation";
        case abort_cause::usage: return "usage";
    }
    return "unknown";
}

}  // namespace tutti
