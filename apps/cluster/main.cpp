// tutti-cluster: starts itself once for each node.
#include "cluster/launcher.hpp"
#include "cluster/member.hpp"

int main(int argc, char** argv) {
    return cli::run_program(
        "tutti-cluster", "use fewer --objects", [&] { return cluster_app::parse_command_line(argc, argv); },
        [](const cluster_app::program_options& how) {
            return how.node_number >= 0 ? cluster_app::run_member(how) : cluster_app::launch(how, "/proc/self/exe");
        });
}
