#include "cluster/backend/postgres_connection.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <string_view>

#include "cluster/backend/address.hpp"

namespace tutti::cluster::backend {
namespace {

struct free_options {
    void operator()(PQconninfoOption* o) const noexcept { PQconninfoFree(o); }
};
using options = std::unique_ptr<PQconninfoOption, free_options>;

/// Checks a list of hosts in libpq's format. Commas separate the hosts, and a path, an '@' or an empty name is a Unix
/// socket.
void require_local(const std::string& hosts, const char* named_by) {
    std::string_view rest{hosts};
    while (!rest.empty()) {
        const std::string one{rest.substr(0, rest.find(','))};
        rest.remove_prefix(std::min(one.size() + 1, rest.size()));
        if (!one.empty() && one[0] != '/' && one[0] != '@') require_loopback(one, one + named_by);
    }
}

}  // namespace

postgres_address resolve_postgres(const std::string& url) {
    const options given{PQconninfoParse(url.c_str(), nullptr)};
    if (!given)
        throw engine_error{"'" + url + "' is not an address of PostgreSQL: give postgres://user@host:port/database"};
    const options usual{PQconndefaults()};
    if (!usual)
        throw engine_error{"PostgreSQL's settings in the environment cannot be read: check PGSERVICE and its file"};
    postgres_address all;
    for (const PQconninfoOption *g = given.get(), *u = usual.get(); g->keyword != nullptr; ++g, ++u) {
        const std::string_view name{g->keyword};
        if (name == "service") {  // PGSERVICE is already resolved in `usual`; a service in the address would hide its
                                  // host
            if (g->val != nullptr)
                throw engine_error{"'" + url + "' names a service, which may be anywhere: name its host and port"};
            continue;
        }
        const char* const value = g->val != nullptr ? g->val : u->val;
        if (value == nullptr) continue;
        if (name == "host" || name == "hostaddr")
            require_local(value, g->val != nullptr ? "" : " (of PGHOST, PGHOSTADDR or PGSERVICE)");
        all.emplace_back(name, value);
    }
    return all;
}

bool postgres_connection::wait(short for_what, time_point deadline) const {
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
        if (left <= 0) return false;
        pollfd p{PQsocket(connection_.get()), for_what, 0};
        const int ready =
            ::poll(&p, 1, static_cast<int>(std::min<std::int64_t>(left, std::numeric_limits<int>::max())));
        if (ready >= 0 || errno != EINTR) return ready > 0;  // a handled signal, such as a tick, is not an answer
    }
}

std::unique_ptr<postgres_connection> postgres_connection::open(const postgres_address& to, time_point deadline,
                                                               std::string& reason) {
    std::vector<const char*> names, values;
    for (const auto& [name, value] : to) {
        names.push_back(name.c_str());
        values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    std::unique_ptr<postgres_connection> l{
        new postgres_connection{PQconnectStartParams(names.data(), values.data(), 0)}};
    PGconn* const c = l->raw();
    auto next = PQstatus(c) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
    while (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING) {
        if (!l->wait(next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline)) {
            reason = "it does not answer";
            return nullptr;
        }
        next = PQconnectPoll(c);
    }
    if (next == PGRES_POLLING_OK && PQsetnonblocking(c, 1) == 0) return l;
    reason = PQerrorMessage(c);
    return nullptr;
}

postgres_connection::result postgres_connection::run(const char* statements, time_point deadline) {
    return finish(PQsendQuery(raw(), statements), deadline);
}

postgres_connection::result postgres_connection::prepare(const char* name, const char* statement, time_point deadline) {
    return finish(PQsendPrepare(raw(), name, statement, 0, nullptr), deadline);
}

postgres_connection::result postgres_connection::execute(const char* name, const postgres_parameters& with,
                                                         time_point deadline) {
    return finish(PQsendQueryPrepared(raw(), name, static_cast<int>(with.values_.size()), with.values_.data(),
                                      with.lengths_.data(), with.formats_.data(), 1),
                  deadline);
}

/// Waits for the end of the statements. PostgreSQL sends their result, then commits, and then reports that it is ready.
/// So a result alone does not show that the statements have been committed.
postgres_connection::result postgres_connection::finish(int sent, time_point deadline) {
    PGconn* const c = raw();
    result last;
    if (sent == 0) return nullptr;
    while (true) {
        while (PQisBusy(c) != 0) {
            const int unsent = PQflush(c);
            if (unsent < 0 || !wait(static_cast<short>(POLLIN | (unsent != 0 ? POLLOUT : 0)), deadline) ||
                PQconsumeInput(c) == 0)
                return nullptr;
        }
        result one{PQgetResult(c)};
        if (!one) return PQstatus(c) == CONNECTION_OK ? std::move(last) : nullptr;
        if (!last || is_good(last)) last = std::move(one);
    }
}

}  // namespace tutti::cluster::backend
