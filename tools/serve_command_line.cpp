#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include "subcommand.hpp"
#include "tutti/server/endpoint.hpp"

namespace tutti::tools {
namespace {

/// Checks file names: an empty name usually comes from a variable that is not set.
std::string not_empty(const std::string& given) { return given.empty() ? "is the name of a file, and is empty" : ""; }

struct serve_words {
    serve_options options;
    std::string password_file;
    std::string follow, follow_password_file;
    std::string replication_password_file;
    bool no_tcp = false;
    std::optional<std::uint16_t> port;
    std::vector<std::string> settings;
    std::vector<const CLI::Option*> of_preemption;
    std::vector<const CLI::Option*> of_log;
};

constexpr std::uint16_t usual_port = 7411;

/// Parses the permissions of a file in octal digits. Returns nothing if they are invalid.
std::optional<unsigned> mode_in(const std::string& given) {
    unsigned mode = 0;
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), mode, 8);
    if (error != std::errc{} || end != given.data() + given.size() || mode > 0777) return std::nullopt;
    return mode;
}

/// Returns the sockets that systemd, or a program with the same protocol, has passed: sd_listen_fds(3).
std::vector<int> inherited_sockets() {
    constexpr int first = 3;
    const char* const whose = std::getenv("LISTEN_PID");
    const char* const many = std::getenv("LISTEN_FDS");
    if (whose == nullptr || many == nullptr || whose != std::to_string(::getpid())) return {};
    std::vector<int> all;
    for (int i = 0; i < std::atoi(many); ++i) all.push_back(first + i);
    // The variables are for this process, not for its children.
    ::unsetenv("LISTEN_PID");
    ::unsetenv("LISTEN_FDS");
    ::unsetenv("LISTEN_FDNAMES");
    return all;
}

constexpr const char* unit_of(std::chrono::seconds) { return "S"; }
constexpr const char* unit_of(std::chrono::milliseconds) { return "MS"; }
constexpr const char* unit_of(std::chrono::microseconds) { return "US"; }

/// Adds an option for a duration in its own unit. The maximum is the longest duration that a server accepts. The
/// minimum is `least`, or the negative maximum.
template <class Duration>
CLI::Option* add_duration(CLI::App& to, const std::string& name, Duration& value, const std::string& text,
                          std::optional<std::int64_t> least = {}) {
    constexpr std::int64_t longest = Duration{server::longest_duration}.count();
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

void add_options(CLI::App& serve, serve_words& words) {
    auto& [options, password_file, follow, follow_password_file, replication_password_file, no_tcp, port, settings,
           of_preemption, of_log] = words;
    server::settings& how = options.how;
    const auto counted = [&](const std::string& name, auto& value, const std::string& text) {
        return serve.add_option(name, value, text)->check(CLI::PositiveNumber)->type_name("N")->capture_default_str();
    };
    serve.add_option("object", options.shared_objects, "Shared object with the procedures; several are loaded in turn");
    serve.add_option("--config", "Take options from this file, too: TOML, with their names without the dashes")
        ->type_name("FILE");
    serve.add_option("--set", settings, "A setting for the procedures: name=value; may be repeated")
        ->allow_extra_args(false)  // the next word may be an object
        ->type_name("NAME=VALUE");
    serve
        .add_option("--cluster", options.cluster,
                    "Be the node of a cluster that this file describes, so that procedures may use its objects")
        ->type_name("FILE");
    serve.add_flag_function(
        "--no-forward", [&how](std::int64_t times) { how.forward = times <= 0; },
        "Run every call here, also one that is about an object of another server, and none of others'");
    serve.add_option("--host", how.host, "Address to listen on")->capture_default_str();
    CLI::Option* const tcp = serve.add_option("--port", port, "TCP port; 0: one that the system chooses")
                                 ->check(cli::a_port())
                                 ->default_str(std::to_string(usual_port) + " without inherited sockets");
    serve.add_flag("--no-tcp", no_tcp, "Listen on a unix socket only")->excludes(tcp);
    CLI::Option* const key = serve.add_option("--tls-key", how.tls.key, "Its private key, PEM")->type_name("FILE");
    CLI::Option* const certificate =
        serve.add_option("--tls-certificate", how.tls.certificate, "Speak TLS on TCP with this certificate, PEM")
            ->type_name("FILE")
            ->needs(key);
    key->needs(certificate);
    serve
        .add_option("--tls-client-authority", how.tls.client_authority,
                    "Clients must show a certificate signed by this")
        ->type_name("FILE")
        ->needs(certificate);
    add_protocol(serve, how.tls.minimum_version, how.tls.ciphers, how.tls.ciphersuites);
    serve.add_flag(
        "--unprotected", how.unprotected,
        "Listen beyond loopback although everybody may call everything, and let everybody follow: only where "
        "the network keeps strangers away");
    CLI::Option* const unix_socket =
        serve.add_option("--unix", how.unix_socket, "Unix socket to listen on, too")->type_name("PATH");
    serve
        .add_option_function<std::string>(
            "--unix-mode", [&how](const std::string& given) { how.unix_mode = mode_in(given); },
            "Permissions of the Unix socket's file, in octal as of chmod: 0660")
        ->check(CLI::Validator{[](const std::string& given) {
                                   return mode_in(given) ? "" : "give octal digits up to 0777, not '" + given + "'";
                               },
                               "", "mode"})
        ->type_name("MODE")
        ->default_str("as umask says")
        ->needs(unix_socket);
    serve.add_option("--port-file", options.port_file, "Write the port to this file once it is listened on")
        ->type_name("FILE");
    serve.add_option("--password-file", password_file, "Clients must AUTH with the first line of this file")
        ->type_name("FILE");
    serve
        .add_option_function<std::uint16_t>(
            "--metrics-port", [&how](const std::uint16_t& given) { how.metrics_port = given; },
            "HTTP port where Prometheus may ask; 0: one that the system chooses")
        ->check(cli::a_port())
        ->type_name("PORT");
    serve.add_option("--metrics-host", how.metrics_host, "Address for Prometheus")->capture_default_str();
    serve.add_option("--workers", how.workers, "Threads that run procedures; 0: the processors that I/O threads leave")
        ->type_name("N")
        ->capture_default_str();
    serve
        .add_option_function<std::string>(
            "--executor",
            [&how](const std::string& given) {
                how.executor = given == "threads" ? server::execution::threads : server::execution::preemptive;
            },
            "Whether what is more urgent interrupts what runs: preemptive (the default on x86-64) or threads")
        ->check(CLI::IsMember({"preemptive", "threads"}))
        ->type_name("NAME");
    of_preemption.push_back(serve
                                .add_option("--ticks", how.preemption.ticks,
                                            "What interrupts a worker: automatic, kernel, on-demand, periodic or none")
                                ->capture_default_str());
    of_preemption.push_back(
        counted("--contexts", how.preemption.contexts,
                "Calls that may have begun at once, preempted ones included, but for those that have waited in retry"));
    of_preemption.push_back(
        serve
            .add_option_function<unsigned>(
                "--c-max", [&how](const unsigned& given) { how.preemption.most_preemptions = given; },
                "Preemptions of a call until it gets the highest priority that a procedure has; without: no "
                "bound")
            ->check(CLI::PositiveNumber)
            ->type_name("N"));
    of_preemption.push_back(serve.add_flag("--lazy-promotion", how.preemption.lazy_promotion,
                                           "Raise a call by one priority with each preemption, up to that"));
    of_preemption.push_back(
        serve.add_flag("--migrate", how.preemption.migrate, "Let preempted calls go on on any worker"));
    of_preemption.push_back(
        serve.add_flag("--shared-thread-locals", how.preemption.shared_thread_locals,
                       "Unsafe: let calls that interrupt each other use the same thread-local variables"));
    of_preemption.push_back(
        serve
            .add_option_function<unsigned>(
                "--realtime-from", [&how](const unsigned& given) { how.preemption.realtime_from = given; },
                "Workers have a real-time priority while they run calls of this priority or more; with --io-realtime "
                "of 2 or more; without: none")
            ->check(CLI::Range(0, server::highest_priority))
            ->type_name("PRIORITY"));
    counted("--io-threads", how.io_threads, "Threads that own sockets");
    serve
        .add_option("--io-realtime", how.io_realtime,
                    "Real-time priority of these, where other programs use the same processors; 0: none")
        ->check(CLI::Range(0, 99))
        ->type_name("PRIORITY")
        ->capture_default_str();
    add_time_limit(serve, "--brief-call", how.brief_call,
                   "Procedures whose calls run for less may run on the thread that reads; 0: none");
    serve.add_flag("--read-in-turn", how.read_in_turn,
                   "Read clients in turn, and not those first that have called what is more urgent");
    counted("--queue", how.queue, "Calls that may wait for a worker; beyond that the least urgent are answered BUSY");
    counted("--max-clients", how.max_clients, "Clients at once");
    serve.add_option("--reserved-clients", how.reserved_clients, "Further clients at once, of operators only")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N")
        ->capture_default_str();
    counted("--max-request", how.max_request, "Bytes of a request");
    counted("--max-arguments", how.max_arguments, "Words of a request");
    counted("--max-pipeline", how.max_pipeline, "Requests of a client that are not answered yet");
    counted("--max-unsent", how.max_unsent,
            "Bytes of answers that a client may leave unread before it is not read from");
    counted("--remembered", how.remembered, "Answers of calls with an ID that are remembered");
    add_time_limit(serve, "--remember-for", how.remember_for, "Time for which they are remembered");
    serve.add_option("--log", how.log.file, "Log the calls that commit in this file, and make the data again from it")
        ->type_name("FILE");
    const std::map<std::string, server::log_sync> policies{{"always", server::log_sync::always},
                                                           {"everysec", server::log_sync::every_second},
                                                           {"no", server::log_sync::never}};
    of_log.push_back(serve
                         .add_option("--fsync", how.log.sync,
                                     "When the log is on the disk: always (before an answer), everysec (so often that "
                                     "a crash loses at most a second), no (when the system likes)")
                         ->transform(cli::choice(policies))
                         ->type_name("WHEN")
                         ->default_str("everysec"));
    of_log.push_back(serve
                         .add_option("--snapshot-after", how.log.snapshot_after,
                                     "Take a snapshot when the log has grown by so many bytes; 0: only at the end")
                         ->check(CLI::NonNegativeNumber)
                         ->type_name("N")
                         ->capture_default_str());
    of_log.push_back(counted("--max-pending", how.log.max_pending,
                             "Bytes of the log that may wait to be written; beyond, calls are answered BUSY"));
    of_log.push_back(
        serve.add_option("--backlog", how.log.backlog, "Bytes of calls that are kept for followers behind a snapshot")
            ->check(CLI::NonNegativeNumber)
            ->type_name("N")
            ->capture_default_str());
    of_log.push_back(counted("--replicas", how.log.replicas,
                             "Answer a call that has written when so many followers have it on their disks"));
    add_time_limit(serve, "--replicas-timeout", how.log.replicas_timeout,
                   "Answer it UNREPLICATED if that takes longer");
    of_log.push_back(counted("--await-followers", how.log.await_followers,
                             "After a start take no calls that write before so many followers have shown what they "
                             "have"));
    of_log.push_back(serve
                         .add_option("--follow", follow,
                                     "Follow the server at this address: append what it logs, serve what only reads")
                         ->type_name("HOST:PORT"));
    serve.add_option("--follow-user", how.follow.user, "AUTH there as this user")->type_name("NAME");
    serve.add_option("--follow-password-file", follow_password_file, "AUTH there with the first line of this file")
        ->type_name("FILE");
    serve
        .add_option("--follow-tls-authority", how.follow.tls_authority,
                    "Speak TLS there; its certificate must be signed by this, PEM")
        ->type_name("FILE");
    serve
        .add_option("--replication-password-file", replication_password_file,
                    "Servers that follow show the first line of this file, the same for all of them; without it, users "
                    "with `replicates`, or servers of one user on one machine")
        ->type_name("FILE");
    counted("--max-held", how.max_held,
            "Bytes of requests and answers that are held for all clients; beyond, calls are answered BUSY");
    serve
        .add_option_function<std::size_t>(
            "--max-held-clients", [&how](const std::size_t& given) { how.max_held_clients = given; },
            "Bytes of requests and answers that connections may hold; beyond, the largest are closed; 0: never")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N")
        ->default_str("3/4 of --max-held");
    add_time_limit(serve, "--time-limit", how.time_limit, "Cancel calls that run for longer; 0: never");
    add_time_limit(serve, "--stuck-after", how.stuck_after,
                   "Name calls on the standard error that keep their worker for so long; 0: none");
    add_time_limit(serve, "--idle-timeout", how.idle_timeout, "Close clients without a request for so long; 0: never");
    add_time_limit(serve, "--keepalive", how.keepalive,
                   "Ask for a sign of life of TCP clients that are silent for so long; 0: never");
    add_time_limit(serve, "--write-timeout", how.write_timeout,
                   "Close clients that read nothing of an answer for so long; 0: never, until the server ends");
    add_time_limit(serve, "--login-timeout", how.login_timeout,
                   "Close clients that have not ended the handshake of TLS and sent AUTH for so long; 0: never");
    add_time_limit(serve, "--request-timeout", how.request_timeout,
                   "Close clients that have not sent the rest of a request for so long; 0: never");
    add_time_limit(
        serve, "--shutdown-timeout", how.shutdown_timeout,
        "After SIGTERM: leave what is not done after so long, name it, and end with status 3; a leader waits "
        "so long for its followers; 0: as long as it takes");
    add_duration(serve, "--slow-log-slower-than", how.slow_log_slower_than,
                 "Keep calls that run for longer, for SLOWLOG; negative: none");
    serve.add_option("--slow-log-max-len", how.slow_log_max_len, "Entries of the slow log; older ones are dropped")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N")
        ->capture_default_str();
    serve.add_flag("--check", options.only_checks,
                   "Load the object and look whether it could be served with these options, and end");
    CLI::Option* const quiet =
        serve.add_flag("--quiet", options.quiet, "Say nothing but warnings and errors: --level warning");
    const std::map<std::string, server::severity> levels{
        {"info", server::severity::info}, {"warning", server::severity::warning}, {"error", server::severity::error}};
    serve.add_option("--level", options.least, "Say nothing below this: info, warning or error")
        ->transform(cli::choice(levels))
        ->type_name("LEVEL")
        ->default_str("info")
        ->excludes(quiet);
    for (CLI::Option* const o : serve.get_options()) {
        if (o->get_type_name() == "FILE") o->check(not_empty);
    }
    serve.add_flag("--json", options.json, "Say what is said in lines of JSON: time, level, message");
}

serve_options options_of(serve_words words) {
    auto& [options, password_file, follow, follow_password_file, replication_password_file, no_tcp, port, settings,
           of_preemption, of_log] = words;
    for (const CLI::Option* const o : of_preemption) {
        if (o->count() == 0) continue;
        if (options.how.executor == server::execution::threads)
            throw cli::command_line_error{o->get_name() +
                                          " says how calls are preempted; --executor threads preempts none"};
        options.how.executor = server::execution::preemptive;  // a build without preemption refuses this
    }
    for (const CLI::Option* const o : of_log) {
        if (o->count() != 0 && options.how.log.file.empty())
            throw cli::command_line_error{o->get_name() + " says how calls are logged: give --log FILE"};
    }
    if (!options.cluster.empty() && !options.how.log.file.empty()) {
        throw cli::command_line_error{
            "--cluster and --log do not go together: a start runs logged calls again, and would write objects of the "
            "cluster a second time. Leave --log out, and have an engine keep what must outlive processes"};
    }
    options.how.inherited = inherited_sockets();
    const bool inherits = !options.how.inherited.empty();
    if (port || !(no_tcp || inherits)) options.how.port = port.value_or(usual_port);
    if (no_tcp && !inherits && options.how.unix_socket.empty())
        throw cli::command_line_error{"--no-tcp needs --unix PATH"};
    options.how.password = password_in(password_file);
    options.how.follow.password = password_in(follow_password_file);
    options.how.replication_password = password_in(replication_password_file);
    if (!follow.empty()) {
        const std::optional<server::endpoint> leader = server::parse_endpoint(follow);
        if (!leader) throw cli::command_line_error{"--follow: give HOST:PORT, not " + follow};
        options.how.follow.host = leader->host;
        options.how.follow.port = leader->port;
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
    const auto words = std::make_shared<serve_words>();
    CLI::App* const serve = to.add_subcommand("serve", "Serve the procedures of a shared object");
    add_options(*serve, *words);
    return {serve, [words] { return options_of(*words); }};
}

}  // namespace tutti::tools
