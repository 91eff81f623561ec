// The command `tutti`.
#include "cluster.hpp"
#include "command_line.hpp"
#include "log.hpp"
#include "member.hpp"
#include "node.hpp"
#include "promote.hpp"
#include "report.hpp"
#include "run.hpp"
#include "serve.hpp"
#include "stat.hpp"
#include "timeline.hpp"
#include "top.hpp"

namespace {

int carry_out(const tutti::tools::serve_options& options) {
    tutti::tools::serve(options);
    return cli::success;
}

int carry_out(const tutti::tools::top_options& options) {
    tutti::tools::top(options);
    return cli::success;
}

int carry_out(const tutti::tools::timeline_options& options) {
    tutti::tools::timeline(options);
    return cli::success;
}

int carry_out(const tutti::tools::promote_options& options) {
    tutti::tools::promote(options);
    return cli::success;
}

int carry_out(const tutti::tools::handover_options& options) {
    tutti::tools::hand_over(options);
    return cli::success;
}

int carry_out(const tutti::tools::log_options& options) { return tutti::tools::check_or_repair_log(options); }

int carry_out(const tutti::tools::report_options& options) {
    tutti::tools::report(options);
    return cli::success;
}

int carry_out(const tutti::tools::stat_options& options) {
    tutti::tools::stat(options);
    return cli::success;
}

int carry_out(const tutti::tools::cluster_options& options) {
    switch (options.wanted_view) {
        case tutti::tools::cluster_options::view::status: return tutti::tools::cluster_status(options);
        case tutti::tools::cluster_options::view::timeline: return tutti::tools::cluster_timeline(options);
        case tutti::tools::cluster_options::view::doubts: return tutti::tools::list_doubts(options);
        case tutti::tools::cluster_options::view::commit_doubt:
        case tutti::tools::cluster_options::view::abort_doubt: return tutti::tools::resolve_doubt(options);
        case tutti::tools::cluster_options::view::top: tutti::tools::cluster_top(options);
    }
    return cli::success;
}

int carry_out(const tutti::tools::node_command_options& options) {
    tutti::tools::run_node(options);
    return cli::success;
}

int carry_out(const tutti::tools::member_command_options& options) { return tutti::tools::run_member_command(options); }

int carry_out(const tutti::tools::run_options& options) {
    try {
        tutti::tools::run(options);
    } catch (const tutti::tools::cannot_run& e) {
        fmt::print(stderr, "tutti: {}\n", e.what());
        return e.status;
    }
}

}  // namespace

int main(int argc, char** argv) {
    return cli::run_program(
        "tutti", "reduce --workers, --max-clients or the data of the procedures",
        [&] { return tutti::tools::parse_command_line(argc, argv); },
        [](const auto& wanted) { return carry_out(wanted); });
}
