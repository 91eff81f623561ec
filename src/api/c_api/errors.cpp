// Results, their texts, and how an error reaches the C block that reports it.
#include <cstdio>
#include <string_view>

#include "api/c_api/boundary.hpp"
#include "core/state/descriptor.hpp"

namespace tutti {
namespace {

// The buffer has a fixed size, because one of the errors to report is that memory ran out.
thread_local char last_error[512] = "";

constexpr const char* out_of_memory = "memory ran out";

}  // namespace

namespace api {

int set_last_error(int code, const char* text) noexcept {
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
        return set_last_error(TUTTI_ERROR_USE, e.what());
    } catch (const std::bad_alloc&) {
        return set_last_error(TUTTI_ERROR_MEMORY, out_of_memory);
    }
}

int code_for_block(tx* t) {
    if (t == nullptr || !detail::access::running(*t)) {
        try {
            throw;
        } catch (const std::exception& e) {
            const std::string_view text{e.what()};
            constexpr std::string_view prefix = "tutti: ";  // panic prints this prefix, too
            base::panic(text.data() + (text.starts_with(prefix) ? prefix.size() : 0));
        }
    }
    const core::descriptor& d = core::descriptor::of(*t);
    // A jump must not skip the frames of a handler that must not touch the transaction, nor those of a destructor that
    // runs during an unwind.
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

const char* tutti_hardware_abort_name(tutti_hardware_abort why) {
    return tutti::name_of(static_cast<tutti::hardware_abort>(why)).data();
}

const char* tutti_abort_cause_name(tutti_abort_cause cause) {
    // The names are literals, so a zero follows the characters of the view.
    return tutti::name_of(static_cast<tutti::abort_cause>(cause)).data();
}
