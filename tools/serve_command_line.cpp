#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include "cli/help_format.hpp"
#include "subcommand.hpp"
#include "tutti/server/endpoint.hpp"

namespace tutti::tools {
namespace {

/// Rejects empty file names, because an empty name usually comes from a variable that is not set.
std::string not_empty(const std::string& given) { return given.empty() ? "give the name of a file, not ''" : ""; }

struct parsed_serve_options {
    serve_options options;
    std::string password_file;
    std::string follow, follow_password_file;
    std::string replication_password_file;
    bool no_tcp = false;
    std::optional<std::uint16_t> port;
    std::vector<std::string> settings;
    std::vector<const CLI::Option*> preemption_only;
    std::vector<const CLI::Option*> log_only;
};

constexpr std::uint16_t usual_port = 7411;

/// Parses the permissions of a file in octal digits. Returns nothing if they are invalid.
std::optional<unsigned> mode_in(const std::string& given) {
    unsigned mode = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), mode, 8);
    if (error != std::errc{} || end != given.data() + given.size() || mode > 0777) return std::nullopt;
    return mode;
}

/// Returns the sockets that systemd, or a program with the same protocol (sd_listen_fds(3)), has passed to this
/// process.
std::vector<int> inherited_sockets() {
    constexpr int first = 3;
    const char* const whose = std::getenv("LISTEN_PID");
    const char* const many = std::getenv("LISTEN_FDS");
    if (whose == nullptr || many == nullptr || whose != std::to_string(::getpid())) return {};
    std::vector<int> all;
    for (int i = 0; i < std::atoi(many); ++i) all.push_back(first + i);
    // The variables are removed because they are meant for this process, not for its children.
    ::unsetenv("LISTEN_PID");
    ::unsetenv("LISTEN_FDS");
    ::unsetenv("LISTEN_FDNAMES");
    return all;
}

constexpr const char* unit_of(std::chrono::seconds) { return "S"; }
constexpr const char* unit_of(std::chrono::milliseconds) { return "MS"; }
constexpr const char* unit_of(std::chrono::microseconds) { return "US"; }

/// Adds an option for a duration, in the unit of `Duration`. The maximum is the longest duration that a server accepts.
/// The minimum is `least`; without `least`, it is the negative maximum.
template <class Duration>
CLI::Option* add_duration(CLI::App& to, const std::string& name, Duration& value, const std::string& text,
                          std::optional<std::int64_t> least = {}) {
    constexpr std::int64_t longest = Duration{server::max_duration}.count();
    return to
        .add_option_function<std::int64_t>(
            name, [&value](const std::int64_t& given) { value = Duration{given}; }, text)
        ->check(cli::within<std::int64_t>(least.value_or(-longest), longest, "a time of at most 100 years,"))
        ->type_name(unit_of(value))
        ->default_str(std::to_string(value.count()));
}

/// Adds an option for a duration that must not be negative.
template <class Duration>
void add_time_limit(CLI::App& to, const std::string& name, Duration& value, const std::string& text) {
    add_duration(to, name, value, text, 0);
}

/// Adds an option for a number of at least 1.
template <class Number>
CLI::Option* add_count(CLI::App& to, const std::string& name, Number& value, const std::string& text) {
    return to.add_option(name, value, text)->check(CLI::PositiveNumber)->type_name("N")->capture_default_str();
}

/// Adds an option for a number of bytes, which must be at least 1.
template <class Number>
CLI::Option* add_bytes(CLI::App& to, const std::string& name, Number& value, const std::string& text) {
    return add_count(to, name, value, text)->type_name("BYTES");
}

void add_general_options(CLI::App& serve, parsed_serve_options& words) {
    serve.add_option("object", words.options.shared_objects,
                     "shared object with the procedures; several are loaded in order");
    serve.add_option("--config", "TOML file with more options, by the names below without dashes")->type_name("FILE");
    serve.add_option("--set", words.settings, "setting for the procedures; can be repeated")
        ->allow_extra_args(false)  // the next word may be an object
        ->type_name("NAME=VALUE");
    serve.add_flag("--check", words.options.only_checks, "load the object, check the options, and exit");
    serve.add_option("--cluster", words.options.cluster, "join the cluster that this file describes")
        ->type_name("FILE");
    serve.add_flag_function(
        "--no-forward", [&how = words.options.server_settings](std::int64_t times) { how.forward = times <= 0; },
        "run each call here, and no calls of the cluster's other servers");
    cli::assign_group(serve, "General");
}

void add_network_options(CLI::App& serve, parsed_serve_options& words) {
    server::settings& how = words.options.server_settings;
    serve.add_option("--host", how.host, "address to listen on")->type_name("ADDRESS")->capture_default_str();
    CLI::Option* const tcp = serve.add_option("--port", words.port, "TCP port; 0: the system chooses")
                                 ->check(cli::a_port())
                                 ->type_name("PORT")
                                 ->default_str(std::to_string(usual_port) + " without inherited sockets");
    serve.add_flag("--no-tcp", words.no_tcp, "listen on the Unix socket only")->excludes(tcp);
    CLI::Option* const unix_socket =
        serve.add_option("--unix", how.unix_socket, "Unix socket to listen on")->type_name("PATH");
    serve
        .add_option_function<std::string>(
            "--unix-mode", [&how](const std::string& given) { how.unix_mode = mode_in(given); },
            "permissions of the Unix socket in octal, such as 0660")
        ->check(CLI::Validator{[](const std::string& given) {
                                   return mode_in(given) ? "" : "give octal digits up to 0777, not '" + given + "'";
                               },
                               "", "mode"})
        ->type_name("MODE")
        ->default_str("by the umask")
        ->needs(unix_socket);
    serve.add_option("--port-file", words.options.port_file, "file that gets the TCP port once the server listens")
        ->type_name("FILE");
    serve
        .add_option_function<std::uint16_t>(
            "--metrics-port", [&how](const std::uint16_t& given) { how.metrics_port = given; },
            "HTTP port for Prometheus; 0: the system chooses")
        ->check(cli::a_port())
        ->type_name("PORT");
    serve.add_option("--metrics-host", how.metrics_host, "address to listen on for Prometheus")
        ->type_name("ADDRESS")
        ->capture_default_str();
    add_count(serve, "--io-threads", how.io_threads, "threads that read requests and write replies");
    serve.add_flag("--round-robin-reads", how.round_robin_reads,
                   "read clients in turn instead of the most urgent clients first");
    add_time_limit(serve, "--keepalive", how.keepalive, "silence after which TCP probes a client; 0: never");
    cli::assign_group(serve, "Network");
}

void add_access_options(CLI::App& serve, parsed_serve_options& words) {
    server::settings& how = words.options.server_settings;
    serve.add_option("--password-file", words.password_file, "file whose first line clients must give to AUTH")
        ->type_name("FILE");
    serve.add_flag("--unprotected", how.unprotected,
                   "accept clients and followers beyond loopback without any authentication");
    CLI::Option* const key =
        serve.add_option("--tls-key", how.tls.key, "PEM file with the private key of the certificate")
            ->type_name("FILE");
    CLI::Option* const certificate =
        serve.add_option("--tls-certificate", how.tls.certificate, "PEM file with the certificate; turns TLS on")
            ->type_name("FILE")
            ->needs(key);
    key->needs(certificate);
    serve
        .add_option("--tls-client-authority", how.tls.client_authority,
                    "PEM file with the authority that signs clients' certificates")
        ->type_name("FILE")
        ->needs(certificate);
    add_tls_protocol(serve, how.tls.minimum_version, how.tls.ciphers, how.tls.ciphersuites);
    cli::assign_group(serve, "Access");
}

void add_preemption_options(CLI::App& serve, parsed_serve_options& words) {
    server::settings& how = words.options.server_settings;
    std::vector<const CLI::Option*>& preemption_only = words.preemption_only;
    serve.add_option("--workers", how.workers, "threads that run procedures; 0: the processors without I/O threads")
        ->type_name("N")
        ->capture_default_str();
    serve
        .add_option_function<std::string>(
            "--executor",
            [&how](const std::string& given) {
                how.executor = given == "threads" ? server::execution::threads : server::execution::preemptive;
            },
            "preemptive (the default on x86-64), or threads: calls are never interrupted")
        ->check(CLI::IsMember({"preemptive", "threads"}))
        ->type_name("NAME");
    preemption_only.push_back(serve
                                  .add_option("--tick-source", how.preemption.tick_source,
                                              "interrupts: automatic, kernel, on-demand, periodic or none")
                                  ->type_name("SOURCE")
                                  ->capture_default_str());
    preemption_only.push_back(add_count(serve, "--contexts", how.preemption.contexts,
                                        "maximum number of started calls; calls that waited in retry do not count"));
    preemption_only.push_back(serve
                                  .add_option_function<unsigned>(
                                      "--max-preemptions",
                                      [&how](const unsigned& given) { how.preemption.max_preemptions = given; },
                                      "preemptions that give a call the highest priority (default: unlimited)")
                                  ->check(CLI::PositiveNumber)
                                  ->type_name("N"));
    preemption_only.push_back(serve.add_flag("--lazy-priority-boost", how.preemption.lazy_priority_boost,
                                             "raise a call by one priority with each preemption"));
    preemption_only.push_back(
        serve.add_flag("--migrate", how.preemption.migrate, "resume preempted calls on any worker"));
    preemption_only.push_back(serve.add_flag("--shared-thread-locals", how.preemption.shared_thread_locals,
                                             "unsafe: calls that interrupt each other share thread-local variables"));
    preemption_only.push_back(
        serve
            .add_option_function<unsigned>(
                "--realtime-min-priority",
                [&how](const unsigned& given) { how.preemption.realtime_min_priority = given; },
                "call priority from which workers run in real time (with --io-realtime 2 or more)")
            ->check(CLI::Range(0, server::highest_priority))
            ->type_name("PRIORITY"));
    serve.add_option("--io-realtime", how.io_realtime, "real-time priority of the I/O threads; 0: none")
        ->check(CLI::Range(0, 99))
        ->type_name("PRIORITY")
        ->capture_default_str();
    add_time_limit(serve, "--short-call-limit", how.short_call_limit,
                   "procedures faster than this may run on an I/O thread; 0: none");
    cli::assign_group(serve, "Preemption");
}

void add_durability_options(CLI::App& serve, parsed_serve_options& words) {
    server::settings& how = words.options.server_settings;
    std::vector<const CLI::Option*>& log_only = words.log_only;
    serve.add_option("--log", how.log.file, "file that logs committed calls; a start restores the data from it")
        ->type_name("FILE");
    const std::map<std::string, server::log_sync> policies{{"always", server::log_sync::always},
                                                           {"everysec", server::log_sync::every_second},
                                                           {"no", server::log_sync::never}};
    log_only.push_back(
        serve.add_option("--fsync", how.log.sync, "sync the log: always, everysec (a crash loses at most 1 s) or no")
            ->transform(cli::choice(policies))
            ->type_name("WHEN")
            ->default_str("everysec"));
    log_only.push_back(serve
                           .add_option("--snapshot-after", how.log.snapshot_after,
                                       "log growth that triggers a snapshot; 0: only at shutdown")
                           ->check(CLI::NonNegativeNumber)
                           ->type_name("BYTES")
                           ->capture_default_str());
    log_only.push_back(add_bytes(serve, "--log-max-pending", how.log.max_pending,
                                 "maximum log bytes that wait for the disk; then BUSY"));
    cli::assign_group(serve, "Durability");
}

void add_replication_options(CLI::App& serve, parsed_serve_options& words) {
    server::settings& how = words.options.server_settings;
    std::vector<const CLI::Option*>& log_only = words.log_only;
    log_only.push_back(serve.add_option("--follow", words.follow, "leader to replicate; this server then only reads")
                           ->type_name("HOST:PORT"));
    serve.add_option("--follow-user", how.follow.user, "user for AUTH at the leader")->type_name("NAME");
    serve
        .add_option("--follow-password-file", words.follow_password_file,
                    "file whose first line this server gives to AUTH at the leader")
        ->type_name("FILE");
    serve
        .add_option("--follow-tls-authority", how.follow.tls_authority,
                    "PEM file with the authority that signs the leader's certificate; turns TLS on")
        ->type_name("FILE");
    serve
        .add_option("--replication-password-file", words.replication_password_file,
                    "file whose first line followers and leaders show each other")
        ->type_name("FILE");
    log_only.push_back(add_count(serve, "--wait-followers", how.log.wait_followers,
                                 "followers that must have a write on disk before the reply"));
    add_time_limit(serve, "--wait-followers-timeout", how.log.wait_followers_timeout,
                   "wait for these followers; then the reply is UNREPLICATED");
    log_only.push_back(add_count(serve, "--await-followers", how.log.await_followers,
                                 "followers that a started leader compares logs with before it writes"));
    log_only.push_back(serve
                           .add_option("--replication-backlog", how.log.replication_backlog,
                                       "logged bytes kept after a snapshot for late followers")
                           ->check(CLI::NonNegativeNumber)
                           ->type_name("BYTES")
                           ->capture_default_str());
    cli::assign_group(serve, "Replication");
}

void add_limits(CLI::App& serve, parsed_serve_options& words) {
    server::settings& how = words.options.server_settings;
    add_count(serve, "--max-queued-calls", how.max_queued_calls,
              "maximum number of calls that wait for a worker; then BUSY");
    add_count(serve, "--max-clients", how.max_clients, "maximum number of clients");
    serve.add_option("--reserved-clients", how.reserved_clients, "further connections for operators only")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N")
        ->capture_default_str();
    add_bytes(serve, "--max-request", how.max_request, "maximum size of a request");
    add_count(serve, "--max-arguments", how.max_arguments, "maximum number of words of a request");
    add_count(serve, "--max-pipeline", how.max_pipeline, "maximum number of unanswered requests of a client");
    add_bytes(serve, "--max-output-buffer", how.max_output_buffer,
              "maximum size of a client's unread replies; then it is not read");
    add_bytes(serve, "--max-buffered-bytes", how.max_buffered_bytes,
              "maximum size of all requests and replies in memory; then BUSY");
    serve
        .add_option_function<std::size_t>(
            "--max-buffered-bytes-clients",
            [&how](const std::size_t& given) { how.max_buffered_bytes_clients = given; },
            "size at which the largest clients are closed; 0: never")
        ->check(CLI::NonNegativeNumber)
        ->type_name("BYTES")
        ->default_str("3/4 of --max-buffered-bytes");
    add_count(serve, "--max-cached-replies", how.max_cached_replies,
              "maximum number of cached replies of calls with an ID");
    add_time_limit(serve, "--reply-cache-ttl", how.reply_cache_ttl,
                   "time for which the reply of a call with an ID stays cached");
    add_time_limit(serve, "--time-limit", how.time_limit, "running time after which a call is cancelled; 0: never");
    add_time_limit(serve, "--idle-timeout", how.idle_timeout,
                   "time without a request after which a client is closed; 0: never");
    add_time_limit(serve, "--request-timeout", how.request_timeout,
                   "time for a client to send the rest of a request; 0: unlimited");
    add_time_limit(serve, "--write-timeout", how.write_timeout,
                   "time for a client to read some of its replies; 0: unlimited");
    add_time_limit(serve, "--login-timeout", how.login_timeout,
                   "time for a client to finish the TLS handshake and AUTH; 0: unlimited");
    add_time_limit(serve, "--shutdown-timeout", how.shutdown_timeout,
                   "time for calls and followers after SIGTERM; 0: unlimited");
    cli::assign_group(serve, "Limits");
}

void add_message_options(CLI::App& serve, parsed_serve_options& words) {
    server::settings& how = words.options.server_settings;
    CLI::Option* const quiet =
        serve.add_flag("--quiet", words.options.quiet, "print warnings and errors only (--log-level warning)");
    const std::map<std::string, server::severity> levels{
        {"info", server::severity::info}, {"warning", server::severity::warning}, {"error", server::severity::error}};
    serve.add_option("--log-level", words.options.log_level, "lowest level to print: info, warning or error")
        ->transform(cli::choice(levels))
        ->type_name("LEVEL")
        ->default_str("info")
        ->excludes(quiet);
    serve.add_flag("--log-json", words.options.log_json, "print messages as JSON lines");
    add_time_limit(serve, "--stuck-after", how.stuck_after, "report calls that block a worker for this long; 0: none");
    add_duration(serve, "--slow-log-slower-than", how.slow_log_slower_than,
                 "running time from which SLOWLOG keeps a call; negative: none");
    serve.add_option("--slow-log-max-len", how.slow_log_max_len, "maximum number of slow-log entries")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N")
        ->capture_default_str();
    cli::assign_group(serve, "Messages");
}

void add_options(CLI::App& serve, parsed_serve_options& words) {
    add_general_options(serve, words);
    add_network_options(serve, words);
    add_access_options(serve, words);
    add_durability_options(serve, words);
    add_replication_options(serve, words);
    add_preemption_options(serve, words);
    add_limits(serve, words);
    add_message_options(serve, words);
    for (CLI::Option* const o : serve.get_options()) {
        if (o->get_type_name() == "FILE") o->check(not_empty);
    }
}

serve_options options_of(parsed_serve_options words) {
    auto& [options, password_file, follow, follow_password_file, replication_password_file, no_tcp, port, settings,
           preemption_only, log_only] = words;
    for (const CLI::Option* const o : preemption_only) {
        if (o->count() == 0) continue;
        if (options.server_settings.executor == server::execution::threads)
            throw cli::command_line_error{o->get_name() + " needs preemption: leave out --executor threads"};
        options.server_settings.executor = server::execution::preemptive;  // a build without preemption refuses this
    }
    for (const CLI::Option* const o : log_only) {
        if (o->count() != 0 && options.server_settings.log.file.empty())
            throw cli::command_line_error{o->get_name() + " needs a log: give --log FILE"};
    }
    if (!options.cluster.empty() && !options.server_settings.log.file.empty()) {
        throw cli::command_line_error{
            "--cluster and --log do not go together: a start runs logged calls again, and would write objects of the "
            "cluster a second time. Leave --log out, and have an engine keep what must outlive processes"};
    }
    options.server_settings.inherited = inherited_sockets();
    const bool inherits = !options.server_settings.inherited.empty();
    if (port || !(no_tcp || inherits)) options.server_settings.port = port.value_or(usual_port);
    if (no_tcp && !inherits && options.server_settings.unix_socket.empty())
        throw cli::command_line_error{"--no-tcp needs --unix PATH"};
    options.server_settings.password = read_password(password_file);
    options.server_settings.follow.password = read_password(follow_password_file);
    options.server_settings.replication_password = read_password(replication_password_file);
    if (!follow.empty()) {
        const std::optional<server::endpoint> leader = server::parse_endpoint(follow);
        if (!leader) throw cli::command_line_error{"--follow: give HOST:PORT, not " + follow};
        options.server_settings.follow.host = leader->host;
        options.server_settings.follow.port = leader->port;
    }
    for (const std::string& s : settings) {
        const std::size_t equals = s.find('=');
        if (equals == 0 || equals == std::string::npos)
            throw cli::command_line_error{"--set: give name=value, not " + s};
        options.settings.emplace_back(s.substr(0, equals), s.substr(equals + 1));
    }
    return std::move(options);
}

}  // namespace

subcommand add_serve(CLI::App& to) {
    const auto words = std::make_shared<parsed_serve_options>();
    CLI::App* const serve =
        to.add_subcommand("serve", "Answer calls of the procedures in shared objects, over the protocol of Redis");
    add_options(*serve, *words);
    return {serve, [words] { return options_of(*words); }};
}

}  // namespace tutti::tools
