#include "serve.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "operator_log.hpp"
#include "operator_signals.hpp"
#include "served_cluster.hpp"
#include "systemd_notify.hpp"
#include "tutti/algorithm.hpp"
#include "tutti/errors.hpp"
#include "tutti/policy.hpp"
#include "tutti/server/endpoint.hpp"
#include "tutti/statistics.hpp"

namespace tutti::tools {
namespace {

constexpr const char* sighup_refusal =
    "SIGHUP changes nothing: a running server does not reload procedures. To replace them, let another server take "
    "over the sockets and the log: docs/server-operation.md, New procedures";

/// Raises the limit of descriptors to the maximum, because each client needs a descriptor.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

void write_port(const std::string& file, std::uint16_t port) {
    // The file is written under another name and renamed, because a script that waits for the file must not find it
    // empty.
    const std::string draft = file + ".new";
    std::ofstream out{draft};
    out << port << '\n';
    out.close();
    if (!out || std::rename(draft.c_str(), file.c_str()) != 0)
        throw cli::command_line_error{"--port-file: " + file + " cannot be written"};
}

/// Passes the name in an environment variable to `choose`. Without this early check, an unknown name would be found
/// only by the first transaction, which could only end the process. @throws std::runtime_error
void choose_from_environment(const char* variable, void (*choose)(std::string_view)) {
    const char* const name = std::getenv(variable);
    if (name == nullptr || *name == '\0') return;
    try {
        choose(name);
    } catch (const usage_error& e) {
        const std::string why = e.what();
        throw std::runtime_error{variable + why.substr(std::min(why.find(": unknown"), why.size()))};
    }
}

/// Checks TUTTI_HARDWARE, the variable that only transactions of the language read.
void need_known_hardware() {
    constexpr const char* variable = "TUTTI_HARDWARE";
    const char* const given = std::getenv(variable);
    const std::string_view wish = given != nullptr ? given : "";
    if (wish.empty() || wish == "auto" || wish == "off") return;
    throw std::runtime_error{fmt::format("{}: unknown value '{}'; valid are auto and off", variable, wish)};
}

/// Reloads the certificates. A running server reloads nothing else.
void renew_certificates(server::service& service, const server::tls_files& files, const operator_log& log) {
    try {
        if (!service.renew_certificates()) return log.write(server::severity::warning, sighup_refusal);
        log.write(server::severity::info,
                  fmt::format("clients that connect from now on get the certificate that is now in {}; nothing else "
                              "was reloaded",
                              files.certificate));
    } catch (const std::exception& e) {
        log.write(server::severity::error, fmt::format("{}; clients still get the previous certificate", e.what()));
    }
}

}  // namespace

void serve(const serve_options& options) {
    const operator_log log{options.log_json, options.quiet ? server::severity::warning : options.log_level};
    const flush_at_end at_end{log};
    const auto say = [&](const std::string& line) { log.write(server::severity::info, line); };
    ::signal(SIGPIPE, SIG_IGN);
    choose_from_environment("TUTTI_ALGORITHM", use_algorithm);
    choose_from_environment("TUTTI_POLICY", use_policy);
    need_known_hardware();
    std::optional<systemd_notifier> supervisor{std::in_place};  // constructed before other threads exist
    operator_signals signals{log, sighup_refusal};
    raise_descriptor_limit();
    server::settings how = options.server_settings;
    how.report_crashes = true;
    how.log_callback = [&](server::severity level, const std::string& line) { log.write(level, line); };
    std::optional<served_cluster> objects;
    if (!options.cluster.empty()) how.cluster = &objects.emplace(options.cluster, options.only_checks, log).access();
    server::service service{how};
    for (const auto& [name, value] : options.settings) service.set(name, value);
    for (const std::string& object : options.shared_objects) service.load(object);
    const std::string all = fmt::format("{}", fmt::join(options.shared_objects, ", "));
    for (const std::string& name : service.unused_settings())
        throw cli::command_line_error{fmt::format("--set: {} has no setting {}", all, name)};
    if (options.only_checks) {
        service.check();
        return say(fmt::format("{} can be served", all));
    }
    // The metrics for Prometheus include aborts by cause, which the statistics count.
    if (options.server_settings.metrics_port) enable_statistics(true);
    // The limit is active even during the start of the service, because the start may read a long log or wait for a
    // leader.
    const auto limited = signals.limit_end(options.server_settings.shutdown_timeout, [&service] {
        server::drain_obstacles found = service.awaited_by_drain();
        return operator_signals::obstacles{.lines = std::move(found.lines), .extends_limit = found.saves_data};
    });
    signals.begin_serving();
    service.start();
    if (options.server_settings.port)
        say("serving on " + to_string(server::endpoint{options.server_settings.host, service.port()}));
    if (!options.server_settings.inherited.empty())
        say(fmt::format("serving on {} inherited {}", options.server_settings.inherited.size(),
                        options.server_settings.inherited.size() == 1 ? "socket" : "sockets"));
    if (!options.server_settings.unix_socket.empty())
        say(fmt::format("serving on {}", options.server_settings.unix_socket));
    if (options.server_settings.metrics_port)
        say(fmt::format("metrics on http://{}/metrics",
                        to_string(server::endpoint{options.server_settings.metrics_host, service.metrics_port()})));
    if (!options.port_file.empty()) write_port(options.port_file, service.port());
    supervisor->ready();
    supervisor->start_watchdog([&service] { return service.responds(); });
    const auto renewing = signals.on_hangup([&] { renew_certificates(service, options.server_settings.tls, log); });

    signals.wait();
    supervisor->stopping();
    say("ending: no new calls are taken; accepted calls are answered");
    service.drain();
    supervisor.reset();  // destroyed before the service, which `supervisor` calls
    say("ended");
    signals.complete_shutdown();
}

}  // namespace tutti::tools
