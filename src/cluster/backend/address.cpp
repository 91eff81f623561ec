#include "cluster/backend/address.hpp"

#include <arpa/inet.h>

#include <charconv>

#include "cluster/backend/batching.hpp"
#include "cluster/backend/group_caller.hpp"
#include "cluster/backend/memory.hpp"
#include "cluster/backend/spread.hpp"
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
bool takes(std::string_view address, std::string_view name, std::string_view& rest) {
    if (!address.starts_with(name) || address.substr(name.size(), 1) != ":") return false;
    rest = address.substr(name.size() + 1);
    return true;
}

/// Opens an engine other than groups.
/// REQUIRES: check_address accepts the address, and it is not that of groups.
std::unique_ptr<engine> open_alone(const std::string& address, const settings& how) {
    std::string_view rest;
    if (takes(address, "memory", rest)) return open_memory(std::string{rest});
#if defined(TUTTI_CLUSTER_ETCD)
    if (takes(address, "etcd", rest)) return open_etcd(rest, how);
#endif
#if defined(TUTTI_CLUSTER_REDIS)
    if (takes(address, "redis", rest)) return open_redis(rest, how);
#endif
#if defined(TUTTI_CLUSTER_POSTGRES)
    return open_postgres(address, how);
#else
    throw refusal{"'" + address + "' means no engine"};  // check_address has reported this already
#endif
}

/// Throws if the program gives certificates, because its connection would be in the clear.
void refuse_tls(const std::string& address, const settings& how) {
    if (!how.tls.files.are_set()) return;
    throw refusal{"'" + address +
                  "' is spoken to in the clear, and certificates are for tutti: alone: leave them out, and bring its "
                  "port here by a tunnel (ssh -L)"};
}

void need_known_protocol(const settings& how) try {
    wire::require_known(how.tls.files.protocol);
} catch (const wire::wire_error& r) {
    throw refusal{r.what()};
}

[[noreturn, maybe_unused]] void refuse_unbuilt(const char* name, const char* packages) {
    throw refusal{std::string{"this library was built without "} + name + ": install " + packages +
                  " and build it again"};
}

}  // namespace

void require_loopback(const std::string& host, const std::string& named) {
    in_addr as_number{};
    // A host name that only begins like an address is not accepted.
    const bool near = host == "localhost" || host == "::1" || host == "[::1]" ||
                      (host.starts_with("127.") && ::inet_pton(AF_INET, host.c_str(), &as_number) == 1);
    if (!near) {
        throw refusal{"'" + named +
                      "' is beyond loopback, and nothing is encrypted: bring its port here by a tunnel (ssh -L) and "
                      "name that"};
    }
}

place parse_place(std::string_view text, int usual_port) {
    if (text.starts_with("/")) return {std::string{text}, 0};
    place p{std::string{text}, usual_port};
    if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos && text.back() != ']') {
        p.host = text.substr(0, colon);
        const std::string_view digits = text.substr(colon + 1);
        const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), p.port);
        if (failed != std::errc{} || end != digits.data() + digits.size() || p.port < 1 || p.port > 65535)
            throw refusal{"'" + std::string{text} + "' is no address: give host:port, or the path of a Unix socket"};
    }
    require_loopback(p.host, std::string{text});
    return p;
}

void check_address(const std::string& address, const settings& how) {
    for (const char c : how.prefix) {
        const bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!plain) throw refusal{"the prefix '" + how.prefix + "' is no name of letters, digits, '-' and '_'"};
    }
    if (how.prefix.empty() || how.prefix.size() > 40) throw refusal{"a prefix has 1 to 40 characters"};
    need_known_protocol(how);
    std::string_view rest;
    if (takes(address, "memory", rest)) return;
    if (takes(address, "tutti", rest)) return static_cast<void>(group::parse_groups(rest, how.tls.files.are_set()));
    refuse_tls(address, how);
    if (takes(address, "etcd", rest)) {
#if !defined(TUTTI_CLUSTER_ETCD)
        refuse_unbuilt("etcd", "libgrpc++-dev, libprotobuf-dev and protobuf-compiler-grpc");
#endif
        return;
    }
    if (takes(address, "postgres", rest) || takes(address, "postgresql", rest)) {
#if !defined(TUTTI_CLUSTER_POSTGRES)
        refuse_unbuilt("PostgreSQL", "libpq-dev");
#endif
        return;
    }
    if (takes(address, "redis", rest)) {
#if !defined(TUTTI_CLUSTER_REDIS)
        refuse_unbuilt("Redis", "libhiredis-dev");
#endif
        return;
    }
    throw refusal{"'" + address + "' means no engine: it begins with memory:, tutti:, etcd:, postgres: or redis:"};
}

std::unique_ptr<engine> open_engine(const std::string& address, const settings& how) {
    check_address(address, how);
    std::string_view rest;
    if (takes(address, "tutti", rest)) return open_groups(rest, how);
    std::unique_ptr<engine> one = open_alone(address, how);
    if (how.batch && one->can().batches) one = std::make_unique<batching>(std::move(one));
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
