#include "command_line.hpp"

#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <string_view>

#include "cli/help_format.hpp"
#include "configuration.hpp"
#include "subcommand.hpp"
#include "tutti/server/endpoint.hpp"

namespace tutti::tools {

std::string read_password(const std::string& file) {
    if (file.empty()) return {};
    std::ifstream from{file};
    std::string line;
    if (!std::getline(from, line) || line.empty())
        throw cli::command_line_error{"--password-file: " + file + " cannot be read, or its first line is empty"};
    if (line.ends_with('\r')) line.pop_back();  // the file has DOS line ends
    return line;
}

tls_protocol_options add_tls_protocol(CLI::App& to, std::string& minimum_version, std::string& ciphers,
                                      std::string& ciphersuites) {
    CLI::Option* const version =
        to.add_option("--tls-min-version", minimum_version, "oldest version of TLS: 1.2 or 1.3")
            ->check(cli::one_of({"1.2", "1.3"}))
            ->type_name("VERSION")
            ->capture_default_str();
    CLI::Option* const older =
        to.add_option("--tls-ciphers", ciphers, "ciphers of TLS 1.2, as openssl-ciphers(1) lists them")
            ->type_name("LIST");
    CLI::Option* const newer =
        to.add_option("--tls-ciphersuites", ciphersuites, "ciphers of TLS 1.3, with colons between them")
            ->type_name("LIST");
    return {version, older, newer};
}

namespace {

/// Returns a variable of the environment, or an empty string if it is not set.
std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string{} : value;
}

/// A command that sends requests to a running server.
template <class Options>
struct client_command {
    Options options;
    std::string password_file;
    tls_files tls;
    bool secure = false;

    explicit client_command(CLI::App& command) {
        command.add_option("--host", options.to.host, "host of the server")
            ->transform([](const std::string& given) { return server::without_brackets(given); }, "", "")
            ->capture_default_str();
        command.add_option("--port", options.to.port, "port of the server")
            ->check(cli::a_port())
            ->capture_default_str();
        command.add_option("--unix", options.to.unix_socket, "Unix socket of the server, instead of host and port")
            ->type_name("PATH");
        command
            .add_option("--password-file", password_file,
                        "file whose first line is the password (default: $TUTTI_PASSWORD)")
            ->type_name("FILE");
        command.add_option("--user", options.to.user, "user name (default: $TUTTI_USER)")->type_name("NAME");
        command.add_flag("--tls", secure, "use TLS; the system must trust the server's certificate");
        const auto file = [&](const char* name, std::string& into, const char* what) {
            return command.add_option(name, into, what)->type_name("FILE");
        };
        file("--tls-authority", tls.authority,
             "use TLS; PEM file with the authority that signs the server's certificate");
        CLI::Option* const certificate =
            file("--tls-certificate", tls.certificate, "use TLS; PEM file with this client's certificate");
        CLI::Option* const key = file("--tls-key", tls.key, "PEM file with the private key of the certificate");
        certificate->needs(key);
        key->needs(certificate);
        add_tls_protocol(command, tls.minimum_version, tls.ciphers, tls.ciphersuites);
    }

    [[nodiscard]] Options wanted() const {
        Options all = options;
        server_address& to = all.to;
        to.password = password_file.empty() ? variable("TUTTI_PASSWORD") : read_password(password_file);
        if (to.user.empty()) to.user = variable("TUTTI_USER");
        if (!to.user.empty() && to.password.empty())
            throw cli::command_line_error{"user " + to.user +
                                          " needs a password: give --password-file FILE, or TUTTI_PASSWORD in the "
                                          "environment"};
        const bool wanted = secure || !tls.authority.empty() || !tls.certificate.empty();
        if (wanted && !to.unix_socket.empty())
            throw cli::command_line_error{"--unix does not use TLS: leave out --tls and the options of its files"};
        if (wanted) to.tls = tls;
        return all;
    }
};

subcommand add_top(CLI::App& to) {
    CLI::App* const top = to.add_subcommand("top", "Show the activity of a server periodically");
    const auto words = std::make_shared<client_command<top_options>>(*top);
    top->add_option("--interval", words->options.schedule.interval, "seconds between two reports")
        ->check(CLI::Range(0.05, 3600.0))
        ->capture_default_str();
    top->add_option("--count", words->options.schedule.count, "number of reports; 0: unlimited")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    return {top, [words] { return words->wanted(); }};
}

subcommand add_timeline(CLI::App& to) {
    CLI::App* const timeline =
        to.add_subcommand("timeline", "Record what each worker of a server runs, as a trace for Chrome");
    const auto words = std::make_shared<client_command<timeline_options>>(*timeline);
    timeline->add_option("--duration", words->options.duration, "seconds to record")
        ->check(CLI::Range(0.001, 3600.0))
        ->capture_default_str();
    timeline
        ->add_option("--add-server", words->options.add_servers,
                     "further server on the same time axis: HOST:PORT or a Unix socket; can be repeated")
        ->type_name("SERVER");
    timeline->add_option("--output", words->options.output, "file for the trace")
        ->type_name("FILE")
        ->capture_default_str();
    return {timeline, [words] { return words->wanted(); }};
}

subcommand add_promote(CLI::App& to) {
    CLI::App* const promote = to.add_subcommand("promote", "Make a follower the leader");
    const auto words = std::make_shared<client_command<promote_options>>(*promote);
    return {promote, [words] { return words->wanted(); }};
}

subcommand add_handover(CLI::App& to) {
    constexpr int max_timeout_ms = 25'000;  // less than a connection's timeout for a reply
    CLI::App* const handover =
        to.add_subcommand("handover", "Move the lead from a leader to one of its followers without loss");
    const auto words = std::make_shared<client_command<handover_options>>(*handover);
    handover
        ->add_option("--to", words->options.successor,
                     "follower that takes the lead, at the address that the leader knows (default: the most current)")
        ->type_name("HOST:PORT");
    handover
        ->add_option("--timeout", words->options.timeout_ms,
                     "milliseconds after which the leader cancels the handover; calls that write wait meanwhile")
        ->check(CLI::Range(1, max_timeout_ms))
        ->capture_default_str();
    return {handover, [words] {
                handover_options wanted = words->wanted();
                if (!wanted.successor.empty() && !server::parse_endpoint(wanted.successor))
                    throw cli::command_line_error{"--to: give HOST:PORT, not " + wanted.successor};
                return wanted;
            }};
}

subcommand add_log(CLI::App& to) {
    CLI::App* const log = to.add_subcommand("log", "Check or repair the log of a stopped server or member");
    log->require_subcommand(1);
    const auto options = std::make_shared<log_options>();
    const auto add = [&](const char* name, const char* what, log_options::action_kind action) {
        CLI::App* const one = log->add_subcommand(name, what);
        one->add_option("file", options->file, "the file that --log of the server names, or the folder of a member")
            ->required();
        one->callback([options, action] { options->action = action; });
    };
    add("check", "Show what the log contains and where it is damaged; exit status 1 means damage",
        log_options::action_kind::check);
    add("repair", "Cut the log before the first unreadable call or entry; copies of the files stay beside it",
        log_options::action_kind::repair);
    return {log, [options] { return *options; }};
}

/// `program` is not parsed, because all its words belong to the program, even if they look like options.
subcommand add_run(CLI::App& to, std::vector<std::string> program) {
    CLI::App* const run = to.add_subcommand("run", "Run a program with atomic blocks on Tutti");
    const auto options = std::make_shared<run_options>();
    options->program = std::move(program);
    run->footer("tutti run [--report[=FILE]] [--] program [argument ...]");
    // The option is a flag, so that CLI11 does not use the program's first word as the option's value.
    run->add_flag("--report{1}", options->report,
                  "print a report about the atomic blocks at the end; =FILE: write it for tutti report");
    return {
        run, [options] {
            if (options->program.empty())
                throw cli::command_line_error{"no program given: tutti run [--report[=FILE]] -- program [arguments]"};
            return *options;
        }};
}

subcommand add_report(CLI::App& to) {
    CLI::App* const report = to.add_subcommand("report", "Show the report about a program's atomic blocks");
    const auto options = std::make_shared<report_options>();
    report->add_option("file", options->file, "the file that TUTTI_REPORT has written")->required();
    report->add_flag("--html{-}", options->html, "print a page with charts instead of text; =FILE: into that file");
    return {report, [options] { return *options; }};
}

subcommand add_stat(CLI::App& to) {
    CLI::App* const stat = to.add_subcommand("stat", "Show the statistics of a running program's atomic blocks");
    const auto options = std::make_shared<stat_options>();
    stat->add_option("process", options->process, "number of a process that was started with TUTTI_STATISTICS=signal")
        ->required()
        ->check(CLI::Range(1, std::numeric_limits<int>::max()));
    stat->add_flag("--html{-}", options->html, "print a page with charts instead of text; =FILE: into that file");
    return {stat, [options] { return *options; }};
}

/// Returns the index of the program's name after `tutti run`, or of the `--` before the name. For other commands,
/// returns `argc`.
int end_of_ours(int argc, const char* const* argv) {
    if (argc < 2 || std::string_view{argv[1]} != "run") return argc;
    int end = 2;
    while (end < argc && argv[end][0] == '-' && std::string_view{argv[end]} != "--") ++end;
    return end;
}

}  // namespace

command parse_command_line(int argc, const char* const* argv) {
    const int ours = end_of_ours(argc, argv);
    const bool dashes = ours != argc && std::string_view{argv[ours]} == "--";
    CLI::App app{"Transactions for C and C++: run programs, servers, clusters and groups, and look at them", "tutti"};
    app.formatter(std::make_shared<cli::help_format>());  // created before the commands, which inherit this setting
    app.require_subcommand(1);
    app.set_version_flag("--version", "tutti " TUTTI_COMMAND_VERSION);
    const subcommand all[] = {add_serve(app),    add_top(app),
                              add_timeline(app), add_run(app, {argv + ours + (dashes ? 1 : 0), argv + argc}),
                              add_report(app),   add_stat(app),
                              add_promote(app),  add_handover(app),
                              add_log(app),      add_cluster(app),
                              add_node(app),     add_member(app)};
    merged_command_line from{.words{argv, argv + ours}, .file{}, .objects{}, .users{}};
    if (ours > 1 && from.words[1] == "serve") {
        from = merge_configuration(std::move(from.words), [&](const std::string& name) {
            const CLI::Option* const known = all[0].parser->get_option_no_throw(name);
            return known != nullptr && known->get_expected_min() != 0;
        });
    }
    std::vector<const char*> given;
    for (const std::string& w : from.words) given.push_back(w.c_str());
    std::string where = "tutti --help lists the commands, and each has --help";
    if (!from.file.empty()) where += "; " + from.file + " gives options, too";
    if (const auto help = cli::parse(app, static_cast<int>(given.size()), given.data(), where)) return *help;
    command wanted = std::ranges::find_if(all, [](const subcommand& s) { return s.parser->parsed(); })->wanted();
    if (auto* const serve = std::get_if<serve_options>(&wanted)) {
        if (serve->shared_objects.empty()) serve->shared_objects = from.objects;
        if (serve->shared_objects.empty())
            throw cli::command_line_error{"object is required: the shared object with the procedures"};
        serve->server_settings.users = std::move(from.users);
    }
    return wanted;
}

}  // namespace tutti::tools
