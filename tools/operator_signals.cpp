#include "operator_signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <thread>
#include <utility>

namespace tutti::tools {

operator_signals::operator_signals(const messages& operators, const std::string& refusal) {
    sigset_t all;
    ::sigemptyset(&all);
    for (const int which : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&all, which);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    shared_->hangup = [operators, refusal] { operators.say(server::severity::warning, refusal); };
    std::thread{[all, shared = shared_] {  // a share: it outlives this object
        const auto next = [&] {
            int which = SIGHUP;
            while (::sigwait(&all, &which), which == SIGHUP) {
                const std::scoped_lock lock{shared->mutex};
                shared->hangup();
            }
            return which;
        };
        if (const int which = next(); !shared->serves) ::_exit(128 + which);
        shared->asked = true;
        shared->asked.notify_one();
        ::_exit(128 + next());
    }}
        .detach();
}

std::shared_ptr<void> operator_signals::on_hangup(std::function<void()> what) {
    const std::scoped_lock lock{shared_->mutex};
    std::swap(shared_->hangup, what);
    return {nullptr, [shared = shared_, before = std::move(what)](void*) {
                const std::scoped_lock later{shared->mutex};
                shared->hangup = before;
            }};
}

}  // namespace tutti::tools
