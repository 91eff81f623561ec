// PostgreSQL's commits notify listeners of writes up to a version that the listener has announced in advance.
#include <memory>

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include "cluster/backend/address.hpp"
#include "cluster/backend/backend.hpp"
#include "cluster/engines/servers.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti::cluster;
using namespace tutti::cluster::testing;
using namespace std::chrono_literals;

TEST(postgres_feed, breaks_after_more_commits_than_announced) {
    ASSERT_EQ(missing_for("postgres"), "") << "is needed, and not installed";
    const tutti::support::watchdog guard{"postgres_feed"};
    const auto server = make_server("postgres");
    const auto engine = backend::open_engine(server->address(), {"g", 20s});
    const auto feed = engine->open_key_feed();
    ASSERT_NE(feed, nullptr);
    const std::unique_ptr<PGconn, decltype(&PQfinish)> by_hand{PQconnectdb(server->address().c_str()), &PQfinish};
    PGresult* const moved = PQexec(by_hand.get(), "SELECT setval('g_versions', t.last_value + 1) FROM g_told_until t");
    ASSERT_EQ(PQresultStatus(moved), PGRES_TUPLES_OK) << PQerrorMessage(by_hand.get());
    PQclear(moved);
    const backend::write w{"o1", true, "x"};
    backend::request r;
    r.writes = {&w, 1};
    engine->commit(r);
    ASSERT_EQ(r.status, backend::engine_status::good);
    // The notification is missing. The feed reports this, and every sleeper looks again.
    std::vector<backend::key> written;
    while (feed->next(written)) ASSERT_TRUE(written.empty()) << "the write was notified: is the bound ignored?";
}

}  // namespace
