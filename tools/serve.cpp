#include "serve.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "tutti/statistics.hpp"

namespace tutti::tools {
namespace {

/// SIGTERM and SIGINT, blocked in every thread that starts while it lives, so that one call waits for them.
class end_signals {
public:
    end_signals() {
        ::sigemptyset(&set_);
        ::sigaddset(&set_, SIGTERM);
        ::sigaddset(&set_, SIGINT);
        ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    }
    void wait() const {
        int which = 0;
        ::sigwait(&set_, &which);
    }

private:
    sigset_t set_{};
};

/// As many descriptors as the system lets us have: clients need one each.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

void write_port(const std::string& file, std::uint16_t port) {
    // Whoever waits for the file must not find it empty.
    const std::string draft = file + ".new";
    std::ofstream{draft} << port << '\n';
    if (std::rename(draft.c_str(), file.c_str()) != 0)
        throw cli::command_line_error{"--port-file: " + file + " cannot be written"};
}

}  // namespace

void serve(const serve_options& options) {
    const auto say = [&](const std::string& line) {
        if (options.quiet) return;
        fmt::print("{}\n", line);
        std::fflush(stdout);
    };
    const end_signals signals;
    raise_descriptor_limit();
    server::service service{options.how};
    for (const auto& [name, value] : options.settings) service.set(name, value);
    service.load(options.shared_object);
    for (const std::string& name : service.unused_settings())
        throw cli::command_line_error{fmt::format("--set: {} knows no setting {}", options.shared_object, name)};
    // Aborts by cause are among what Prometheus asks for.
    if (options.how.metrics_port) enable_statistics(true);
    service.start();
    if (options.how.port) say(fmt::format("serving on {}:{}", options.how.host, service.port()));
    if (!options.how.unix_socket.empty()) say(fmt::format("serving on {}", options.how.unix_socket));
    if (options.how.metrics_port)
        say(fmt::format("metrics on http://{}:{}/metrics", options.how.metrics_host, service.metrics_port()));
    if (!options.port_file.empty()) write_port(options.port_file, service.port());

    signals.wait();
    say("ending: no new calls; what was accepted is answered");
    std::thread{[signals] {  // a copy: it outlives this function
        signals.wait();
        ::_exit(130);
    }}
        .detach();
    service.drain();
    say("ended");
}

}  // namespace tutti::tools
