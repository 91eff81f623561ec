#include "operator_signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <thread>

namespace tutti::tools {

operator_signals::operator_signals(const messages& operators, const std::string& on_hangup) {
    sigset_t all;
    ::sigemptyset(&all);
    for (const int which : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&all, which);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::thread{[all, operators, on_hangup, shared = shared_] {  // copies: it outlives this object
        const auto next = [&] {
            int which = SIGHUP;
            while (::sigwait(&all, &which), which == SIGHUP) operators.say(server::severity::warning, on_hangup);
            return which;
        };
        if (const int which = next(); !shared->serves) ::_exit(128 + which);
        shared->asked = true;
        shared->asked.notify_one();
        ::_exit(128 + next());
    }}
        .detach();
}

}  // namespace tutti::tools
