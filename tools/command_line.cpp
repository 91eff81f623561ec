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

std::string password_in(const std::string& file) {
    if (file.empty()) return {};
    std::ifstream from{file};
    std::string line;
    if (!std::getline(from, line) || line.empty())
        throw cli::command_line_error{"--password-file: " + file + " has no first line that can be read"};
    if (line.ends_with('\r')) line.pop_back();  // from a file with DOS line ends
    return line;
}

protocol_options add_protocol(CLI::App& to, std::string& minimum_version, std::string& ciphers,
                              std::string& ciphersuites) {
    CLI::Option* const version =
        to.add_option("--tls-min-version", minimum_version, "Oldest version of TLS that is spoken: 1.2 or 1.3")
            ->check(cli::one_of({"1.2", "1.3"}))
            ->type_name("VERSION")
            ->capture_default_str();
    CLI::Option* const older =
        to.add_option("--tls-ciphers", ciphers, "Ciphers of TLS 1.2, as openssl-ciphers(1) has them")
            ->type_name("LIST");
    CLI::Option* const newer =
        to.add_option("--tls-ciphersuites", ciphersuites, "Ciphers of TLS 1.3, with colons between")->type_name("LIST");
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
struct asking {
    Options options;
    std::string password_file;
    tls_files tls;
    bool secure = false;

    explicit asking(CLI::App& command) {
        command.add_option("--host", options.to.host, "Where the server listens")
            ->transform([](const std::string& given) { return server::without_brackets(given); }, "", "")
            ->capture_default_str();
        command.add_option("--port", options.to.port, "Its port")->check(cli::a_port())->capture_default_str();
        command.add_option("--unix", options.to.unix_socket, "Its unix socket instead")->type_name("PATH");
        command
            .add_option("--password-file", password_file,
                        "AUTH with the first line of this file; without it, with TUTTI_PASSWORD of the environment")
            ->type_name("FILE");
        command
            .add_option("--user", options.to.user,
                        "AUTH as this user of the server's; without it, as TUTTI_USER of the environment")
            ->type_name("NAME");
        command.add_flag("--tls", secure, "Speak TLS, with a server whose certificate the system trusts");
        const auto file = [&](const char* name, std::string& into, const char* what) {
            return command.add_option(name, into, what)->type_name("FILE");
        };
        file("--tls-authority", tls.authority, "Speak TLS, with a server whose certificate this one (PEM) has signed");
        CLI::Option* const certificate =
            file("--tls-certificate", tls.certificate, "Speak TLS, and show this certificate (PEM)");
        CLI::Option* const key = file("--tls-key", tls.key, "Its key (PEM)");
        certificate->needs(key);
        key->needs(certificate);
        add_protocol(command, tls.minimum_version, tls.ciphers, tls.ciphersuites);
    }

    [[nodiscard]] Options wanted() const {
        Options all = options;
        server_address& to = all.to;
        to.password = password_file.empty() ? variable("TUTTI_PASSWORD") : password_in(password_file);
        if (to.user.empty()) to.user = variable("TUTTI_USER");
        if (!to.user.empty() && to.password.empty())
            throw cli::command_line_error{"user " + to.user +
                                          " needs a password: give --password-file FILE, or TUTTI_PASSWORD in the "
                                          "environment"};
        const bool wanted = secure || !tls.authority.empty() || !tls.certificate.empty();
        if (wanted && !to.unix_socket.empty())
            throw cli::command_line_error{"--unix is spoken to in the clear: leave --tls and its files out"};
        if (wanted) to.tls = tls;
        return all;
    }
};

subcommand add_top(CLI::App& to) {
    CLI::App* const top = to.add_subcommand("top", "Show what a server does, again and again");
    const auto words = std::make_shared<asking<top_options>>(*top);
    top->add_option("--seconds", words->options.every.seconds, "Time between two looks")
        ->check(CLI::Range(0.05, 3600.0))
        ->capture_default_str();
    top->add_option("--looks", words->options.every.looks, "End after so many; 0: never")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    return {top, [words] { return words->wanted(); }};
}

subcommand add_timeline(CLI::App& to) {
    CLI::App* const timeline =
        to.add_subcommand("timeline", "Record what servers run where, as a trace of Chrome's format");
    const auto words = std::make_shared<asking<timeline_options>>(*timeline);
    timeline->add_option("--seconds", words->options.seconds, "Time to record")
        ->check(CLI::Range(0.001, 3600.0))
        ->capture_default_str();
    timeline
        ->add_option(
            "--with", words->options.with,
            "One more server, of a cluster for example, on the same time axis: HOST:PORT, or the path of a Unix "
            "socket;\ncan be given again")
        ->type_name("SERVER");
    timeline->add_option("--output", words->options.output, "File for the trace")
        ->type_name("FILE")
        ->capture_default_str();
    return {timeline, [words] { return words->wanted(); }};
}

subcommand add_promote(CLI::App& to) {
    CLI::App* const promote = to.add_subcommand("promote", "Have a server that follows another lead from now on");
    const auto words = std::make_shared<asking<promote_options>>(*promote);
    return {promote, [words] { return words->wanted(); }};
}

subcommand add_handover(CLI::App& to) {
    constexpr int most = 25'000;  // less than a connection's timeout for a reply
    CLI::App* const handover = to.add_subcommand(
        "handover", "Have a server that leads hand its lead over to one that follows it, without loss");
    const auto words = std::make_shared<asking<handover_options>>(*handover);
    handover
        ->add_option("--to", words->options.heir,
                     "The server that is to lead, as the one that leads reaches it; default: the one that has most")
        ->type_name("HOST:PORT");
    handover
        ->add_option("--timeout", words->options.milliseconds,
                     "Milliseconds after which the server goes on to lead; clients' calls that write wait so long at "
                     "most")
        ->check(CLI::Range(1, most))
        ->capture_default_str();
    return {handover, [words] {
                handover_options wanted = words->wanted();
                if (!wanted.heir.empty() && !server::parse_endpoint(wanted.heir))
                    throw cli::command_line_error{"--to: give HOST:PORT, not " + wanted.heir};
                return wanted;
            }};
}

subcommand add_log(CLI::App& to) {
    CLI::App* const log =
        to.add_subcommand("log", "Look at the log of a server or a member that does not run, or repair it");
    log->require_subcommand(1);
    const auto options = std::make_shared<log_options>();
    const auto add = [&](const char* name, const char* what, log_options::deed deed) {
        CLI::App* const one = log->add_subcommand(name, what);
        one->add_option("file", options->file, "As --log of the server names it, or the folder of a member")
            ->required();
        one->callback([options, deed] { options->what = deed; });
    };
    add("check", "Say what is in it, and what of it is damaged; exit status 1: something is", log_options::deed::check);
    add("repair",
        "Keep what is whole, up to the first call or entry that cannot be read; the files as they were stay beside it",
        log_options::deed::repair);
    return {log, [options] { return *options; }};
}

/// `program` is not parsed: all its words belong to the program, even if they look like options.
subcommand add_run(CLI::App& to, std::vector<std::string> program) {
    CLI::App* const run = to.add_subcommand("run", "Run a program that uses atomic blocks on Tutti");
    const auto options = std::make_shared<run_options>();
    options->program = std::move(program);
    run->footer("tutti run [--report[=FILE]] [--] program [argument ...]");
    // A flag, so that it does not take the program's first word as its value.
    run->add_flag("--report{1}", options->report,
                  "Say at the end what each atomic block did; with =FILE write that to FILE for tutti report");
    return {run, [options] {
                if (options->program.empty())
                    throw cli::command_line_error{"which program? tutti run [--report[=FILE]] -- program [arguments]"};
                return *options;
            }};
}

subcommand add_report(CLI::App& to) {
    CLI::App* const report = to.add_subcommand("report", "Show what a program's atomic blocks did");
    const auto options = std::make_shared<report_options>();
    report->add_option("file", options->file, "What TUTTI_REPORT has written")->required();
    report->add_flag("--html{-}", options->html, "A page with charts instead of text; with =FILE in that file");
    return {report, [options] { return *options; }};
}

subcommand add_stat(CLI::App& to) {
    CLI::App* const stat = to.add_subcommand("stat", "Show what atomic blocks of a running program have done so far");
    const auto options = std::make_shared<stat_options>();
    stat->add_option("process", options->process,
                     "Number of the process, which was started with TUTTI_STATISTICS=signal")
        ->required()
        ->check(CLI::Range(1, std::numeric_limits<int>::max()));
    stat->add_flag("--html{-}", options->html, "A page with charts instead of text; with =FILE in that file");
    return {stat, [options] { return *options; }};
}

/// Returns the index where the program of `tutti run`, or the `--` before it, begins.
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
    CLI::App app{"Programs with atomic blocks, and transactional procedures behind a socket", "tutti"};
    app.formatter(std::make_shared<cli::help_format>());  // before the commands, which take it over
    app.require_subcommand(1);
    app.set_version_flag("--version", "tutti " TUTTI_COMMAND_VERSION);
    const subcommand all[] = {add_serve(app),    add_top(app),
                              add_timeline(app), add_run(app, {argv + ours + (dashes ? 1 : 0), argv + argc}),
                              add_report(app),   add_stat(app),
                              add_promote(app),  add_handover(app),
                              add_log(app),      add_cluster(app),
                              add_node(app),     add_member(app)};
    configured from{.words{argv, argv + ours}, .file{}, .objects{}, .users{}};
    if (ours > 1 && from.words[1] == "serve") {
        from = with_configuration(std::move(from.words), [&](const std::string& name) {
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
        serve->how.users = std::move(from.users);
    }
    return wanted;
}

}  // namespace tutti::tools
