// Replaces cluster.cpp in a build without the cluster.
#include <stdexcept>

#include "cluster.hpp"
#include "log.hpp"
#include "member.hpp"
#include "node.hpp"
#include "served_cluster.hpp"

namespace tutti::tools {

struct served_cluster::impl {};

namespace {

[[noreturn]] void refuse() {
    throw std::runtime_error{"this tutti was built without the cluster: build it with -DTUTTI_CLUSTER=ON"};
}

}  // namespace

int cluster_status(const cluster_options&) { refuse(); }
void cluster_top(const cluster_options&) { refuse(); }
int cluster_timeline(const cluster_options&) { refuse(); }
int list_doubts(const cluster_options&) { refuse(); }
int resolve_doubt(const cluster_options&) { refuse(); }
served_cluster::served_cluster(const std::string&, bool, const operator_log&) { refuse(); }
served_cluster::~served_cluster() = default;
server::cluster_access& served_cluster::access() noexcept { return *access_; }
void run_node(const node_command_options&) { refuse(); }
int check_or_repair_member_log(const log_options&) { refuse(); }
int run_member_command(const member_command_options&) { refuse(); }

}  // namespace tutti::tools
