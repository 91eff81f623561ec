// Results, their texts, and the way of an error to the C block that reports it.
#include <cstdio>
#include <string_view>

#include "api/c_boundary.hpp"
#include "core/state/descriptor.hpp"

namespace tutti {
namespace {

// A fixed place, because one of the errors to report is that there is no memory.
thread_local char last_error[512] = "";

// The C enumeration mirrors the C++ one.
#define TUTTI_SAME_CAUSE(c_name, name) static_assert(static_cast<int>(c_name) == static_cast<int>(abort_cause::name))
TUTTI_SAME_CAUSE(TUTTI_ABORT_NONE, none);
TUTTI_SAME_CAUSE(TUTTI_ABORT_CONFLICT_READ_LOCKED, conflict_read_locked);
TUTTI_SAME_CAUSE(TUTTI_ABORT_CONFLICT_WRITE_LOCKED, conflict_write_locked);
TUTTI_SAME_CAUSE(TUTTI_ABORT_CONFLICT_VISIBLE_READ, conflict_visible_read);
TUTTI_SAME_CAUSE(TUTTI_ABORT_CONFLICT_ABSTRACT_LOCK, conflict_abstract_lock);
TUTTI_SAME_CAUSE(TUTTI_ABORT_VALIDATION, validation);
TUTTI_SAME_CAUSE(TUTTI_ABORT_READ_ONLY_OVERTAKEN, read_only_overtaken);
TUTTI_SAME_CAUSE(TUTTI_ABORT_KILLED, killed);
TUTTI_SAME_CAUSE(TUTTI_ABORT_IRREVOCABLE_SWITCH, irrevocable_switch);
TUTTI_SAME_CAUSE(TUTTI_ABORT_MODE_SWITCH, mode_switch);
TUTTI_SAME_CAUSE(TUTTI_ABORT_EXPLICIT_RETRY, explicit_retry);
TUTTI_SAME_CAUSE(TUTTI_ABORT_EXPLICIT_RESTART, explicit_restart);
TUTTI_SAME_CAUSE(TUTTI_ABORT_EXPLICIT_CANCEL, explicit_cancel);
TUTTI_SAME_CAUSE(TUTTI_ABORT_EXCEPTION, exception);
TUTTI_SAME_CAUSE(TUTTI_ABORT_PARTICIPANT_VETO, participant_veto);
TUTTI_SAME_CAUSE(TUTTI_ABORT_ALLOCATION, allocation);
TUTTI_SAME_CAUSE(TUTTI_ABORT_USAGE, usage);
static_assert(static_cast<std::size_t>(TUTTI_ABORT_USAGE) + 1 == abort_cause_count);
#undef TUTTI_SAME_CAUSE

constexpr const char* out_of_memory = "memory ran out";

}  // namespace

namespace api {

int remember(int code, const char* text) noexcept {
    std::snprintf(last_error, sizeof last_error, "%s", text);
    return code;
}

int result_of_exception() {
    try {
        throw;
    } catch (const cancelled&) {
        return TUTTI_CANCELLED;
    } catch (const deadline_missed&) {
        return TUTTI_DEADLINE_MISSED;
    } catch (const usage_error& e) {
        return remember(TUTTI_ERROR_USE, e.what());
    } catch (const std::bad_alloc&) {
        return remember(TUTTI_ERROR_MEMORY, out_of_memory);
    }
}

int code_for_block(tx* t) {
    if (t == nullptr || !detail::access::running(*t)) {
        try {
            throw;
        } catch (const std::exception& e) {
            const std::string_view text{e.what()};
            constexpr std::string_view prefix = "tutti: ";  // panic says it, too
            base::panic(text.data() + (text.starts_with(prefix) ? prefix.size() : 0));
        }
    }
    const core::descriptor& d = core::descriptor::of(*t);
    // While a handler runs that must not touch the transaction, or a destructor in the course of an unwind, there are
    // frames below that must not be jumped over.
    const bool jumps = (d.slow_path & core::slow_path_frozen) == 0 && !d.unwinding();
    if (d.frame_->failure == nullptr || !jumps) throw;
    return result_of_exception();
}

void fail_block(tx& t, int code) {
    detail::frame& innermost = *core::descriptor::of(t).frame_;
    *innermost.failure = code;
    innermost.jump(innermost);
    __builtin_unreachable();
}

void fail_use(tutti_tx* handle, const char* text) {
    guarded(handle, [text](tx&) { throw usage_error{text}; });
    __builtin_unreachable();
}

}  // namespace api
}  // namespace tutti

const char* tutti_last_error() { return tutti::last_error; }

const char* tutti_strerror(int result) {
    switch (result) {
        case TUTTI_COMMITTED: return "committed";
        case TUTTI_CANCELLED: return "cancelled";
        case TUTTI_ERROR_USE: return "error of use";
        case TUTTI_ERROR_MEMORY: return "out of memory";
        case TUTTI_DEADLINE_MISSED: return "deadline missed";
        default: return "not a result of tutti";
    }
}

const char* tutti_abort_cause_name(tutti_abort_cause cause) {
    // The names are literals, which end with a zero beyond the view.
    return tutti::name_of(static_cast<tutti::abort_cause>(cause)).data();
}
