#include "cluster/network_namespaces.hpp"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cluster_app {
namespace {

constexpr const char* bridge = "hub";
constexpr unsigned port = 7001;

std::string ip_of(unsigned node) { return fmt::format("10.83.0.{}", node + 1); }
std::string cable_of(unsigned node) { return fmt::format("node{}", node); }

/// Runs a command of iproute2 in the caller's namespace. The command prints its own errors.
void ip(std::vector<std::string> words) {
    words.insert(words.begin(), "ip");
    std::vector<char*> arguments;
    for (std::string& w : words) arguments.push_back(w.data());
    arguments.push_back(nullptr);
    pid_t process = 0;
    int status = 0;
    if (::posix_spawnp(&process, "ip", nullptr, nullptr, arguments.data(), environ) != 0)
        throw std::runtime_error{"network namespaces need the command ip: install iproute2"};
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    if (status != 0) throw std::runtime_error{fmt::format("'{}' failed", fmt::join(words, " "))};
}

[[noreturn]] void refuse(const char* what) {
    throw std::runtime_error{
        fmt::format("this system permits no network namespaces ({}: {}): be root, or let users have namespaces of "
                    "theirs (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)",
                    what, std::strerror(errno))};
}

/// Becomes root in a new user namespace.
void become_root() {
    const uid_t user = ::geteuid();
    const gid_t group = ::getegid();
    if (::unshare(CLONE_NEWUSER) != 0) refuse("unshare of users");
    const std::pair<const char*, std::string> maps[] = {
        {"setgroups", "deny"}, {"uid_map", fmt::format("0 {} 1", user)}, {"gid_map", fmt::format("0 {} 1", group)}};
    for (const auto& [name, text] : maps) {
        std::ofstream file{fmt::format("/proc/self/{}", name)};
        if (!(file << text << std::flush)) refuse(name);
    }
}

}  // namespace

network_namespaces::network_namespaces() {
    if (::unshare(CLONE_NEWNET) != 0) {
        if (errno != EPERM) refuse("unshare");
        become_root();
        if (::unshare(CLONE_NEWNET) != 0) refuse("unshare");
    }
    bridge_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (bridge_ < 0) refuse("/proc/thread-self/ns/net");
    ip({"link", "add", bridge, "type", "bridge"});
    ip({"link", "set", bridge, "up"});
}

network_namespaces::~network_namespaces() { ::close(bridge_); }

std::string network_namespaces::address(unsigned node) { return fmt::format("{}:{}", ip_of(node), port); }

void network_namespaces::add_namespace() {
    const unsigned node = nodes_++;
    if (::unshare(CLONE_NEWNET) != 0) refuse("unshare");
    ip({"link", "set", "lo", "up"});
    ip({"link", "add", "eth0", "type", "veth", "peer", "name", cable_of(node), "netns",
        fmt::format("/proc/{}/fd/{}", ::getpid(), bridge_)});
    ip({"address", "add", ip_of(node) + "/24", "dev", "eth0"});
    ip({"link", "set", "eth0", "up"});
    const int own = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own < 0) refuse("/proc/thread-self/ns/net");
    enter_bridge();
    try {
        ip({"link", "set", cable_of(node), "master", bridge});
        set_connected(node, true);
    } catch (...) {
        ::close(own);
        throw;
    }
    const int failed = ::setns(own, CLONE_NEWNET);
    ::close(own);
    if (failed != 0) refuse("setns");
}

void network_namespaces::enter_bridge() noexcept {
    // This process made the descriptor, so failure is a bug. Continuing would leave the process without a network.
    if (::setns(bridge_, CLONE_NEWNET) != 0) std::abort();
}

void network_namespaces::set_connected(unsigned node, bool in) {
    ip({"link", "set", cable_of(node), in ? "up" : "down"});
}

}  // namespace cluster_app
