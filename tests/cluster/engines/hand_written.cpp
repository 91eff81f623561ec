#include "cluster/engines/hand_written.hpp"

#include <stdexcept>

#include <grpcpp/grpcpp.h>
#include <libpq-fe.h>

#include <etcd.grpc.pb.h>

namespace tutti::cluster::testing {
namespace {

std::string name_of(std::uint64_t i) {
    std::string digits = std::to_string(i);
    return "hand/" + std::string(33 - digits.size(), '0') + digits;  // as long as Tutti's names
}

class in_etcd final : public hand_written {
public:
    explicit in_etcd(const std::shared_ptr<grpc::Channel>& to) : kv_{etcdserverpb::KV::NewStub(to)} {}
    bool add_one(std::uint64_t a, std::uint64_t b) override {
        etcdserverpb::TxnResponse found;
        if (!look(a, b, found)) return false;
        etcdserverpb::TxnRequest ask;
        for (int i = 0; i < 2; ++i) {
            const auto& kvs = found.responses(i).response_range().kvs();
            const std::string key = name_of(i == 0 ? a : b);
            auto* const c = ask.add_compare();
            c->set_target(etcdserverpb::Compare::MOD);
            c->set_key(key);
            c->set_mod_revision(kvs.empty() ? 0 : kvs[0].mod_revision());
            auto* const put = ask.add_success()->mutable_request_put();
            put->set_key(key);
            put->set_value(std::to_string(kvs.empty() ? 1 : std::stoll(kvs[0].value()) + 1));
        }
        etcdserverpb::TxnResponse result;
        return send(ask, result) && result.succeeded();
    }
    bool read(std::uint64_t a, std::uint64_t b) override {
        etcdserverpb::TxnResponse found;
        return look(a, b, found);
    }

private:
    bool look(std::uint64_t a, std::uint64_t b, etcdserverpb::TxnResponse& found) {
        etcdserverpb::TxnRequest ask;
        ask.add_success()->mutable_request_range()->set_key(name_of(a));
        ask.add_success()->mutable_request_range()->set_key(name_of(b));
        return send(ask, found);
    }
    bool send(const etcdserverpb::TxnRequest& ask, etcdserverpb::TxnResponse& answer) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds{5});
        if (kv_->Txn(&context, ask, &answer).ok()) return true;
        throw std::runtime_error{"etcd does not answer"};
    }
    std::unique_ptr<etcdserverpb::KV::Stub> kv_;
};

/// Two round trips, as in Tutti: begin and read; write and commit.
class in_postgres final : public hand_written {
public:
    explicit in_postgres(const std::string& address) : to_{PQconnectdb(address.c_str())} {
        if (PQstatus(to_) != CONNECTION_OK) throw std::runtime_error{PQerrorMessage(to_)};
        prepare("begin", "BEGIN ISOLATION LEVEL SERIALIZABLE");
        prepare("read", "SELECT key, value FROM hand WHERE key IN ($1, $2)");
        prepare("write", "UPDATE hand SET value = value + 1 WHERE key IN ($1, $2)");
        prepare("end", "COMMIT");
    }
    ~in_postgres() override { PQfinish(to_); }
    in_postgres(const in_postgres&) = delete;
    in_postgres& operator=(const in_postgres&) = delete;
    bool add_one(std::uint64_t a, std::uint64_t b) override {
        const bool good = together({"begin", "read"}, a, b) && together({"write", "end"}, a, b);
        if (!good) PQclear(PQexec(to_, "ROLLBACK"));
        return good;
    }
    bool read(std::uint64_t a, std::uint64_t b) override { return together({"read"}, a, b); }

private:
    void prepare(const char* name, const char* text) { PQclear(PQprepare(to_, name, text, 0, nullptr)); }
    bool together(std::initializer_list<const char*> statements, std::uint64_t a, std::uint64_t b) {
        const std::string first = name_of(a), second = name_of(b);
        const char* const keys[] = {first.c_str(), second.c_str()};
        PQenterPipelineMode(to_);
        for (const char* const s : statements) {
            const int count = *s == 'b' || *s == 'e' ? 0 : 2;
            PQsendQueryPrepared(to_, s, count, keys, nullptr, nullptr, 1);
        }
        PQpipelineSync(to_);
        bool good = true;
        for (bool over = false; !over;) {
            PGresult* const r = PQgetResult(to_);
            if (r == nullptr) {
                if (PQstatus(to_) != CONNECTION_OK) throw std::runtime_error{"PostgreSQL does not answer"};
                continue;
            }
            const ExecStatusType s = PQresultStatus(r);
            over = s == PGRES_PIPELINE_SYNC;
            if (s == PGRES_FATAL_ERROR || s == PGRES_PIPELINE_ABORTED) good = false;
            PQclear(r);
        }
        PQexitPipelineMode(to_);
        return good;
    }
    PGconn* to_;
};

std::string authority(const std::string& address) { return address.substr(address.find("//") + 2); }

}  // namespace

std::shared_ptr<void> open_shared(const std::string& engine, const std::string& address) {
    if (engine != "etcd") return nullptr;
    const std::string where = authority(address);
    const bool many = where.find(',') != std::string::npos;
    return grpc::CreateChannel(many ? "ipv4:" + where : where, grpc::InsecureChannelCredentials());
}

std::unique_ptr<hand_written> make_hand_written(const std::string& engine, const std::string& address,
                                                const std::shared_ptr<void>& shared) {
    if (engine == "etcd") return std::make_unique<in_etcd>(std::static_pointer_cast<grpc::Channel>(shared));
    return std::make_unique<in_postgres>(address);
}

void fill_by_hand(const std::string& engine, const std::string& address, std::uint64_t count) {
    if (engine == "etcd") return;  // the first writer creates the objects
    PGconn* const c = PQconnectdb(address.c_str());
    PQclear(PQexec(c, "CREATE TABLE hand (key text PRIMARY KEY, value bigint NOT NULL) WITH (fillfactor = 70)"));
    for (std::uint64_t i = 0; i < count; ++i)
        PQclear(PQexec(c, ("INSERT INTO hand VALUES ('" + name_of(i) + "', 0)").c_str()));
    PQfinish(c);
}

}  // namespace tutti::cluster::testing
