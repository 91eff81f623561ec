#include "command_line.hpp"

#include <fstream>
#include <string_view>

#include "cli/options.hpp"

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
        throw cli::command_line_error{"--password-file: " + path + " has no first line that can be read"};
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

void add_top(CLI::App& top, top_options& options, std::string& password_file) {
    top.add_option("--host", options.host, "Where the server listens")->capture_default_str();
    top.add_option("--port", options.port, "Its port")->capture_default_str();
    top.add_option("--unix", options.unix_socket, "Its unix socket instead")->type_name("PATH");
    top.add_option("--password-file", password_file, "AUTH with the first line of this file")->type_name("FILE");
    top.add_option("--seconds", options.seconds, "Time between two looks")
        ->check(CLI::Range(0.05, 3600.0))
        ->capture_default_str();
    top.add_option("--looks", options.looks, "End after so many; 0: never")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
}

void add_run(CLI::App& run, run_options& options) {
    // A flag, so that it takes no word of the program's for its value.
    run.add_flag("--report{1}", options.report,
                 "Say at the end what each atomic block did; with =FILE write that to FILE for tutti report");
}

void add_report(CLI::App& report, report_options& options) {
    report.add_option("file", options.file, "What TUTTI_REPORT has written")->required();
    report.add_flag("--html{-}", options.html, "A page with charts instead of text; with =FILE in that file");
}

/// Where the program of `tutti run` begins: all from there on is its own, whatever it looks like.
int end_of_ours(int argc, const char* const* argv) {
    if (argc < 2 || std::string_view{argv[1]} != "run") return argc;
    int end = 2;
    while (end < argc && argv[end][0] == '-' && std::string_view{argv[end]} != "--") ++end;
    return end;
}

}  // namespace

command parse_command_line(int argc, const char* const* argv) {
    const int ours = end_of_ours(argc, argv);
    CLI::App app{"Programs with atomic blocks, and transactional procedures behind a socket", "tutti"};
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
    run_options running;
    CLI::App* const run = app.add_subcommand("run", "Run a program that uses atomic blocks on Tutti");
    add_run(*run, running);
    report_options reporting;
    CLI::App* const report = app.add_subcommand("report", "Show what a program's atomic blocks did");
    add_report(*report, reporting);
    add_top(*top, looking, password_file);
    add_serve(*serve, options, password_file, no_tcp, port, settings);

    if (const auto help = cli::parse(app, ours, argv, "tutti --help lists the commands, and each has --help"))
        return *help;
    if (run->parsed()) {
        const bool dashes = ours != argc && std::string_view{argv[ours]} == "--";
        running.program.assign(argv + ours + (dashes ? 1 : 0), argv + argc);
        if (running.program.empty())
            throw cli::command_line_error{"which program? tutti run [--report[=FILE]] -- program [arguments]"};
        return running;
    }
    if (report->parsed()) return reporting;
    if (top->parsed()) {
        if (!password_file.empty()) looking.password = first_line_of(password_file);
        return looking;
    }
    if (!no_tcp) options.how.port = port;
    if (no_tcp && options.how.unix_socket.empty()) throw cli::command_line_error{"--no-tcp needs --unix PATH"};
    if (!password_file.empty()) options.how.password = first_line_of(password_file);
    for (const std::string& s : settings) {
        const std::size_t equals = s.find('=');
        if (equals == 0 || equals == std::string::npos)
            throw cli::command_line_error{"--set: give name=value, not " + s};
        options.settings.emplace_back(s.substr(0, equals), s.substr(equals + 1));
    }
    return options;
}

}  // namespace tutti::tools
