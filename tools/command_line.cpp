#include "command_line.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <fstream>

namespace tutti::tools {
namespace {

/// A duration in milliseconds, as an option.
void add_milliseconds(CLI::App& to, const std::string& name, std::chrono::milliseconds& value,
                      const std::string& text) {
    to.add_option_function<std::int64_t>(
          name, [&value](const std::int64_t& given) { value = std::chrono::milliseconds{given}; }, text)
        ->check(CLI::NonNegativeNumber)
        ->type_name("MS")
        ->default_str(std::to_string(value.count()));
}

std::string first_line_of(const std::string& path) {
    std::ifstream file{path};
    std::string line;
    if (!std::getline(file, line) || line.empty())
        throw command_line_error{"--password-file: " + path + " has no first line that can be read"};
    return line;
}

void add_serve(CLI::App& serve, serve_options& options, std::string& password_file, bool& no_tcp, std::uint16_t& port,
               std::vector<std::string>& settings) {
    server::settings& how = options.how;
    const auto counted = [&](const std::string& name, auto& value, const std::string& text) {
        serve.add_option(name, value, text)->check(CLI::PositiveNumber)->type_name("N")->capture_default_str();
    };
    serve.add_option("object", options.shared_object, "Shared object with the procedures")->required();
    serve.add_option("--set", settings, "A setting for the procedures: name=value; may be repeated")
        ->type_name("NAME=VALUE");
    serve.add_option("--host", how.host, "Address to listen on")->capture_default_str();
    CLI::Option* const tcp =
        serve.add_option("--port", port, "TCP port; 0: one that the system chooses")->capture_default_str();
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
    serve.add_option("--unix", how.unix_socket, "Unix socket to listen on, too")->type_name("PATH");
    serve.add_option("--port-file", options.port_file, "Write the port to this file once it is listened on")
        ->type_name("FILE");
    serve.add_option("--password-file", password_file, "Clients must AUTH with the first line of this file")
        ->type_name("FILE");
    serve
        .add_option_function<std::uint16_t>(
            "--metrics-port", [&how](const std::uint16_t& given) { how.metrics_port = given; },
            "HTTP port where Prometheus may ask; 0: one that the system chooses")
        ->type_name("PORT");
    serve.add_option("--metrics-host", how.metrics_host, "Address for Prometheus")->capture_default_str();
    serve.add_option("--workers", how.workers, "Threads that run procedures; 0: the processors that receivers leave")
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
    serve.add_option("--ticks", how.preemption.ticks, "What interrupts a worker: on-demand, periodic or none")
        ->capture_default_str();
    counted("--contexts", how.preemption.contexts, "Calls that may have begun at once, preempted ones included");
    serve
        .add_option_function<unsigned>(
            "--c-max", [&how](const unsigned& given) { how.preemption.most_preemptions = given; },
            "Preemptions of a call until it goes before all others; without: no bound")
        ->check(CLI::PositiveNumber)
        ->type_name("N");
    serve.add_flag("--lazy-promotion", how.preemption.lazy_promotion,
                   "Raise a call by one priority with each preemption");
    serve.add_flag("--migrate", how.preemption.migrate, "Let preempted calls go on on any worker");
    counted("--receivers", how.receivers, "Threads that own sockets");
    counted("--queue", how.queue, "Calls that may wait for a worker; what comes then is answered BUSY");
    counted("--max-clients", how.max_clients, "Clients at once");
    counted("--max-request", how.max_request, "Bytes of a request");
    counted("--max-arguments", how.max_arguments, "Words of a request");
    counted("--max-pipeline", how.max_pipeline, "Requests of a client that are not answered yet");
    counted("--max-unsent", how.max_unsent,
            "Bytes of answers that a client may leave unread before it is not read from");
    add_milliseconds(serve, "--time-limit", how.time_limit, "Cancel calls that run for longer; 0: never");
    add_milliseconds(serve, "--idle-timeout", how.idle_timeout,
                     "Close clients without a request for so long; 0: never");
    add_milliseconds(serve, "--write-timeout", how.write_timeout,
                     "Close clients that read nothing of an answer for so long");
    add_milliseconds(serve, "--login-timeout", how.login_timeout, "Close clients that have not sent AUTH for so long");
    serve.add_flag("--quiet", options.quiet, "Say nothing but errors");
}

void add_address(CLI::App& command, server_address& to, std::string& password_file) {
    command.add_option("--host", to.host, "Where the server listens")->capture_default_str();
    command.add_option("--port", to.port, "Its port")->capture_default_str();
    command.add_option("--unix", to.unix_socket, "Its unix socket instead")->type_name("PATH");
    command.add_option("--password-file", password_file, "AUTH with the first line of this file")->type_name("FILE");
}

void add_timeline(CLI::App& timeline, timeline_options& options, std::string& password_file) {
    add_address(timeline, options.to, password_file);
    timeline.add_option("--seconds", options.seconds, "Time to record")
        ->check(CLI::Range(0.001, 3600.0))
        ->capture_default_str();
    timeline.add_option("--output", options.output, "File for the trace")->type_name("FILE")->capture_default_str();
}

void add_top(CLI::App& top, top_options& options, std::string& password_file) {
    add_address(top, options.to, password_file);
    top.add_option("--seconds", options.seconds, "Time between two looks")
        ->check(CLI::Range(0.05, 3600.0))
        ->capture_default_str();
    top.add_option("--looks", options.looks, "End after so many; 0: never")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
}

}  // namespace

std::variant<serve_options, top_options, timeline_options, help_text> parse_command_line(int argc,
                                                                                         const char* const* argv) {
    CLI::App app{"Transactional procedures behind a socket", "tutti"};
    app.require_subcommand(1);
    app.set_version_flag("--version", "tutti " TUTTI_COMMAND_VERSION);
    CLI::App* const serve = app.add_subcommand("serve", "Serve the procedures of a shared object");
    serve_options options;
    std::string password_file;
    bool no_tcp = false;
    std::uint16_t port = 7411;
    std::vector<std::string> settings;
    CLI::App* const top = app.add_subcommand("top", "Show what a server does, again and again");
    top_options looking;
    CLI::App* const timeline =
        app.add_subcommand("timeline", "Record what a server runs where, as a trace of Chrome's format");
    timeline_options recording;
    add_timeline(*timeline, recording, password_file);
    add_top(*top, looking, password_file);
    add_serve(*serve, options, password_file, no_tcp, port, settings);

    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return help_text{app.help()};
    } catch (const CLI::CallForVersion&) {
        return help_text{app.version() + "\n"};
    } catch (const CLI::ParseError& e) {
        std::string line = e.what();
        std::ranges::replace(line, '\n', ' ');
        throw command_line_error{line + " (tutti <command> --help lists the options)"};
    }
    if (top->parsed()) {
        if (!password_file.empty()) looking.to.password = first_line_of(password_file);
        return looking;
    }
    if (timeline->parsed()) {
        if (!password_file.empty()) recording.to.password = first_line_of(password_file);
        return recording;
    }
    if (!no_tcp) options.how.port = port;
    if (no_tcp && options.how.unix_socket.empty()) throw command_line_error{"--no-tcp needs --unix PATH"};
    if (!password_file.empty()) options.how.password = first_line_of(password_file);
    for (const std::string& s : settings) {
        const std::size_t equals = s.find('=');
        if (equals == 0 || equals == std::string::npos) throw command_line_error{"--set: give name=value, not " + s};
        options.settings.emplace_back(s.substr(0, equals), s.substr(equals + 1));
    }
    return options;
}

}  // namespace tutti::tools
