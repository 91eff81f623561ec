// Handlers and participants for C.
#include <memory>

#include "api/c_api/boundary.hpp"
#include "core/lifecycle/access_check.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/signal.hpp"

using tutti::abort_cause;
using tutti::tx;
using tutti::vote;
using tutti::api::fail_use;
using tutti::api::guarded;
using tutti::core::deferred;
using tutti::core::descriptor;

namespace {

static_assert(static_cast<int>(vote::commit) == TUTTI_VOTE_COMMIT);
static_assert(static_cast<int>(vote::restart) == TUTTI_VOTE_RESTART);
static_assert(static_cast<int>(vote::cancel) == TUTTI_VOTE_CANCEL);

/// A participant that is also a handler without an action. The log owns all its handlers until the attempt is over, so
/// the log keeps the participant alive.
class c_participant final : public tutti::participant, public tutti::detail::handler {
public:
    c_participant(const tutti_participant& calls, void* argument) noexcept : calls_{calls}, argument_{argument} {}
    vote prepare() override { return static_cast<vote>(calls_.prepare(argument_)); }
    void commit() noexcept override { calls_.commit(argument_); }
    void abort() noexcept override { calls_.abort(argument_); }
    void run(tx&, abort_cause) override {}

private:
    tutti_participant calls_;
    void* argument_;
};

/// Registers a new H made from `arguments`. The functions of `tx` that register handlers cannot be used, because they
/// may leave by a jump while they own the handler.
template <class H, class... Arguments>
H& register_handler(tutti_tx* handle, deferred::kind point, const Arguments&... arguments) {
    return *guarded(handle, [&](tx& t) {
        descriptor& d = descriptor::of(t);
        if (!d.healthy()) tutti::core::check_access(d);
        auto made = std::make_unique<H>(arguments...);
        tutti::core::defer(d, point, static_cast<tutti::detail::handler*>(made.get()), nullptr);
        H* const registered = made.release();  // the log owns it now
        if (point == deferred::kind::at_commit && d.healthy()) tutti::core::need_current_reads(d);
        if (point == deferred::kind::on_abort && d.healthy())
            tutti::core::leave_hardware(d, tutti::hardware_abort::system_call);
        return registered;
    });
}

template <class F>
void register_function(tutti_tx* handle, deferred::kind point, const F& f) {
    register_handler<tutti::detail::handler_of<F>>(handle, point, f);
}

}  // namespace

void tutti_before_commit(tutti_tx* handle, tutti_body* handler, void* argument) {
    if (handler == nullptr) fail_use(handle, "tutti_before_commit: the handler is null");
    register_function(handle, deferred::kind::before_commit, [=](tx& t) { handler(tutti::to_c(t), argument); });
}

void tutti_at_commit(tutti_tx* handle, void (*handler)(void*), void* argument) {
    if (handler == nullptr) fail_use(handle, "tutti_at_commit: the handler is null");
    register_function(handle, deferred::kind::at_commit, [=] { handler(argument); });
}

void tutti_on_commit(tutti_tx* handle, void (*handler)(void*), void* argument) {
    if (handler == nullptr) fail_use(handle, "tutti_on_commit: the handler is null");
    register_function(handle, deferred::kind::on_commit, [=] { handler(argument); });
}

void tutti_on_abort(tutti_tx* handle, void (*handler)(tutti_abort_cause, void*), void* argument) {
    if (handler == nullptr) fail_use(handle, "tutti_on_abort: the handler is null");
    register_function(handle, deferred::kind::on_abort,
                      [=](abort_cause cause) { handler(static_cast<tutti_abort_cause>(cause), argument); });
}

void tutti_join(tutti_tx* handle, const tutti_participant* calls, void* argument) {
    if (calls == nullptr || calls->prepare == nullptr || calls->commit == nullptr || calls->abort == nullptr) {
        fail_use(handle, "tutti_join: a participant needs prepare, commit and abort");
    }
    auto& joined = register_handler<c_participant>(handle, deferred::kind::on_abort, *calls, argument);
    guarded(handle, [&](tx& t) { t.join(joined); });
}
