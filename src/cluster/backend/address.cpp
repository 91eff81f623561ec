#include "cluster/backend/address.hpp"

#include <arpa/inet.h>

#include <charconv>

#include "cluster/backend/batching_engine.hpp"
#include "cluster/backend/group_client.hpp"
#include "cluster/backend/memory.hpp"
#include "cluster/backend/sharded_engine.hpp"
#include "wire/wire_error.hpp"
#if defined(TUTTI_CLUSTER_ETCD)
#include "cluster/backend/etcd.hpp"
#endif
#if defined(TUTTI_CLUSTER_POSTGRES)
#include "cluster/backend/postgres.hpp"
#endif
#if defined(TUTTI_CLUSTER_REDIS)
#include "cluster/backend/redis.hpp"
#endif

namespace tutti::cluster::backend {
namespace {

/// Sets `rest` to the part after "name:". Returns false if the address has another name.
bool split_scheme(std::string_view address, std::string_view name, std::string_view& rest) {
    if (!address.starts_with(name) || address.substr(name.size(), 1) != ":") return false;
    rest = address.substr(name.size() + 1);
    return true;
}

/// Opens an engine other than groups.
/// REQUIRES: check_address accepts the address, and the address does not name groups.
std::unique_ptr<engine> open_single_engine(const std::string& address, const settings& how) {
    std::string_view rest;
    if (split_scheme(address, "memory", rest)) return open_memory(std::string{rest});
#if defined(TUTTI_CLUSTER_ETCD)
    if (split_scheme(address, "etcd", rest)) return open_etcd(rest, how);
#endif
#if defined(TUTTI_CLUSTER_REDIS)
    if (split_scheme(address, "redis", rest)) return open_redis(rest, how);
#endif
#if defined(TUTTI_CLUSTER_POSTGRES)
    return open_postgres(address, how);
#else
    throw engine_error{"'" + address + "' is not an engine address"};  // check_address has reported this already
#endif
}

/// Throws if the program gives certificates, because connections to these engines are never encrypted.
void reject_tls(const std::string& address, const settings& how) {
    if (!how.tls.files.are_set()) return;
    throw engine_error{
        "'" + address +
        "' cannot use certificates, which only tutti: supports: leave them out, and forward its port through a "
        "tunnel (ssh -L)"};
}

void require_known_protocol(const settings& how) try {
    wire::require_known(how.tls.files.protocol);
} catch (const wire::wire_error& r) {
    throw engine_error{r.what()};
}

[[noreturn, maybe_unused]] void reject_unbuilt(const char* name, const char* packages) {
    throw engine_error{std::string{"this library was built without "} + name + ": install " + packages +
                       " and build it again"};
}

}  // namespace

void require_loopback(const std::string& host, const std::string& named) {
    in_addr as_number{};
    // A host that begins with 127. must be a complete address, and not a host name that only begins like one.
    const bool is_loopback = host == "localhost" || host == "::1" || host == "[::1]" ||
                             (host.starts_with("127.") && ::inet_pton(AF_INET, host.c_str(), &as_number) == 1);
    if (!is_loopback) {
        throw engine_error{
            "'" + named +
            "' is beyond loopback, and its traffic would not be encrypted: forward its port through a tunnel "
            "(ssh -L), and give the local address"};
    }
}

server_address parse_server_address(std::string_view text, int usual_port) {
    if (text.starts_with("/")) return {std::string{text}, 0};
    server_address p{std::string{text}, usual_port};
    if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos && text.back() != ']') {
        p.host = text.substr(0, colon);
        const std::string_view digits = text.substr(colon + 1);
        const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), p.port);
        if (failed != std::errc{} || end != digits.data() + digits.size() || p.port < 1 || p.port > 65535)
            throw engine_error{"'" + std::string{text} +
                               "' is not an address: give host:port, or the path of a Unix socket"};
    }
    require_loopback(p.host, std::string{text});
    return p;
}

void check_address(const std::string& address, const settings& how) {
    for (const char c : how.prefix) {
        const bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!plain) throw engine_error{"invalid prefix '" + how.prefix + "': use letters, digits, '-' and '_' only"};
    }
    if (how.prefix.empty() || how.prefix.size() > 40)
        throw engine_error{"invalid prefix '" + how.prefix + "': give 1 to 40 characters"};
    require_known_protocol(how);
    std::string_view rest;
    if (split_scheme(address, "memory", rest)) return;
    if (split_scheme(address, "tutti", rest))
        return static_cast<void>(group::parse_groups(rest, how.tls.files.are_set()));
    reject_tls(address, how);
    if (split_scheme(address, "etcd", rest)) {
#if !defined(TUTTI_CLUSTER_ETCD)
        reject_unbuilt("etcd", "libgrpc++-dev, libprotobuf-dev and protobuf-compiler-grpc");
#endif
        return;
    }
    if (split_scheme(address, "postgres", rest) || split_scheme(address, "postgresql", rest)) {
#if !defined(TUTTI_CLUSTER_POSTGRES)
        reject_unbuilt("PostgreSQL", "libpq-dev");
#endif
        return;
    }
    if (split_scheme(address, "redis", rest)) {
#if !defined(TUTTI_CLUSTER_REDIS)
        reject_unbuilt("Redis", "libhiredis-dev");
#endif
        return;
    }
    throw engine_error{"'" + address +
                       "' is not an engine address: begin it with memory:, tutti:, etcd:, postgres: or redis:"};
}

std::unique_ptr<engine> open_engine(const std::string& address, const settings& how) {
    check_address(address, how);
    std::string_view rest;
    if (split_scheme(address, "tutti", rest)) return open_groups(rest, how);
    std::unique_ptr<engine> one = open_single_engine(address, how);
    if (how.batch && one->abilities().batches) one = std::make_unique<batching_engine>(std::move(one));
    return one;
}

std::vector<std::string> known_engines() {
    return {
        "memory",   "tutti",
#if defined(TUTTI_CLUSTER_ETCD)
        "etcd",
#endif
#if defined(TUTTI_CLUSTER_POSTGRES)
        "postgres",
#endif
#if defined(TUTTI_CLUSTER_REDIS)
        "redis",
#endif
    };
}

}  // namespace tutti::cluster::backend
