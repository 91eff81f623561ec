#include "cluster/backend/etcd.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>

#include <etcd.grpc.pb.h>

#include "cluster/backend/backoff_timer.hpp"

namespace tutti::cluster::backend {
namespace {

using namespace etcdserverpb;
using grpc::StatusCode;

constexpr std::size_t operations = 120;      // etcd accepts 128 of a kind in one transaction (--max-txn-ops)
constexpr std::size_t max_bytes = 1u << 20;  // and requests of 1.5 MiB (--max-request-bytes)

struct member {
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<KV::Stub> kv;
    std::unique_ptr<Watch::Stub> watch;
};

member connect(const std::string& to) {
    grpc::ChannelArguments how;
    how.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // this file decides which requests are sent again
    // With keep-alive messages, calls to a stopped or disconnected member end, including watches.
    how.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
    how.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 3000);
    how.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // pings continue while all threads sleep in retry
    how.SetMaxReceiveMessageSize(-1);                      // an answer holds the values of many objects
    how.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
    how.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    how.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
    how.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // nodes of one process fail independently
    how.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    member m;
    m.channel = grpc::CreateCustomChannel(to, grpc::InsecureChannelCredentials(), how);
    m.kv = KV::NewStub(m.channel);
    m.watch = Watch::NewStub(m.channel);
    return m;
}

/// Returns a deadline of the monotonic clock. With a deadline of the wall clock, gRPC would wait too long after an
/// operator has set the wall clock back.
gpr_timespec in(std::chrono::milliseconds timeout) {
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(timeout.count(), GPR_TIMESPAN));
}

void set_record(record& to, const KeyValue& from) {
    to.at = static_cast<version>(from.mod_revision());
    to.exists = !from.value().empty() && from.value().front() == '1';
    if (from.value().size() > 1) to.bytes = from.value().substr(1);
}

/// Returns the watermark of an etcd cluster. Programs may name the cluster by any of its members.
std::shared_ptr<version_watermark> watermark_of_cluster(std::uint64_t cluster) {
    static std::mutex guard;
    static std::map<std::uint64_t, std::weak_ptr<version_watermark>> all;
    const std::lock_guard hold{guard};
    std::shared_ptr<version_watermark> found = all[cluster].lock();
    if (!found) all[cluster] = found = std::make_shared<version_watermark>();
    return found;
}

/// A watch. Operations are asynchronous, because gRPC's blocking operations on a stream have no timeout. One operation
/// is pending at a time.
class watcher final : public key_feed, public record_feed {
public:
    explicit watcher(std::size_t prefix) : prefix_{prefix} {}
    /// Watches the keys in [from, to) from revision `first` on, or from now on if `first` is 0.
    bool open(Watch::Stub& at, const std::string& from, const std::string& to, version first,
              std::chrono::milliseconds timeout) {
        const gpr_timespec deadline = in(timeout);
        const auto done = [&] {
            void* what = nullptr;
            bool good = false;
            return queue_.AsyncNext(&what, &good, deadline) == grpc::CompletionQueue::GOT_EVENT && good;
        };
        context_.AddMetadata("hasleader", "true");  // a member that is disconnected from the others ends the watch
        stream_ = at.PrepareAsyncWatch(&context_, &queue_);
        stream_->StartCall(this);
        if (!done()) return false;
        WatchRequest ask;
        ask.mutable_create_request()->set_key(from);
        ask.mutable_create_request()->set_range_end(to);
        ask.mutable_create_request()->set_start_revision(static_cast<std::int64_t>(first));
        stream_->Write(ask, this);
        if (!done()) return false;
        stream_->Read(&answer_, this);
        return done() && answer_.created();
    }
    ~watcher() override {
        context_.TryCancel();
        grpc::Status how;
        if (stream_) stream_->Finish(&how, this);
        queue_.Shutdown();
        while (is_done()) {}
    }
    bool next(std::vector<key>& written) override {
        if (!read()) return false;
        for (const Event& e : answer_.events()) written.push_back(e.kv().key().substr(prefix_));
        return true;
    }
    /// Appends the next writes. etcd sends the writes of one transaction in one message, and the messages by ascending
    /// revision.
    bool next(std::vector<change>& written) override {
        if (!read()) return false;
        for (const Event& e : answer_.events())
            set_record(written.emplace_back(e.kv().key().substr(prefix_)).value, e.kv());
        return true;
    }
    void close() noexcept override { context_.TryCancel(); }

private:
    bool read() {
        stream_->Read(&answer_, this);
        return is_done() && read_ && !answer_.canceled();
    }
    /// Waits for the pending operation. Returns false if no operation is pending.
    bool is_done() {
        void* what = nullptr;
        return queue_.Next(&what, &read_);
    }

    const std::size_t prefix_;
    grpc::CompletionQueue queue_;
    grpc::ClientContext context_;
    WatchResponse answer_;
    bool read_ = false;
    std::unique_ptr<grpc::ClientAsyncReaderWriter<WatchRequest, WatchResponse>> stream_;
};

class etcd final : public engine {
public:
    etcd(std::vector<std::string> addresses, const settings& how) : how_{how}, prefix_{how.prefix + "/"} {
        abilities_.name = "etcd at";
        for (const std::string& a : addresses) {
            members_.push_back(connect(a));
            abilities_.name += (members_.size() == 1 ? " " : ", ") + a;
        }
        abilities_.keeps_old_versions = abilities_.batches = abilities_.durable = abilities_.has_record_feed = true;
        abilities_.max_operations = operations;
        abilities_.max_bytes = max_bytes;
        TxnRequest ask;
        ask.add_success()->mutable_request_range()->set_key(prefix_ + "o");
        TxnResponse answer;
        grpc::Status grpc_status;
        if (ask_until_answered(ask, answer, grpc_status) != engine_status::good) {
            if (status_of(grpc_status) != engine_status::refused)
                throw engine_error{abilities_.name + " does not answer: start it, or give another address"};
            throw engine_error{
                abilities_.name + " refuses this program (" + grpc_status.error_message() +
                "), and Tutti cannot send a password: let it accept programs of this machine without one, or "
                "use another engine"};
        }
        watermark_ = watermark_of_cluster(answer.header().cluster_id());
    }
    const capabilities& abilities() const noexcept override { return abilities_; }

    engine_status get(read_snapshot& of, freshness how, std::span<const check> held, std::span<const key> wanted,
                      std::vector<record>& found) override {
        found.clear();
        const bool back = how == freshness::same && of.at != 0;
        // If there are too many held keys for the checks of one request, they are read like the wanted keys, at one
        // revision.
        const bool compared = !back && held.size() <= operations;
        std::vector<std::string_view> keys;
        if (!back && !compared) {
            for (const check& c : held) keys.push_back(c.of);
        }
        const std::size_t beside = keys.size();
        for (const key& k : wanted) keys.push_back(k);
        version at = back ? of.at : 0;
        std::size_t done = 0;
        do {
            TxnRequest ask;
            if (compared && done == 0) {
                for (const check& c : held) add(ask, c);
            }
            const std::size_t end = std::min(keys.size(), done + operations);
            for (std::size_t i = done; i < end; ++i) {
                RangeRequest* const one = ask.add_success()->mutable_request_range();
                one->set_key(prefix_ + std::string{keys[i]});
                one->set_revision(static_cast<std::int64_t>(at));
            }
            if (done == end) {  // a request must read at least one key, even if it has only checks
                RangeRequest* const one = ask.add_success()->mutable_request_range();
                one->set_key(prefix_);
                one->set_limit(1);
            }
            TxnResponse answer;
            if (const engine_status result = ask_until_answered(ask, answer); result != engine_status::good)
                return result;
            if (!answer.succeeded()) {
                // The watermark is raised, so that a caller that tries again sees the conflicting write.
                watermark_->raise(static_cast<version>(answer.header().revision()));
                return engine_status::conflict;
            }
            if (at == 0) at = static_cast<version>(answer.header().revision());
            for (std::size_t i = done; i < end; ++i) {
                record one;
                const RangeResponse& range = answer.responses(static_cast<int>(i - done)).response_range();
                if (range.kvs_size() != 0) set_record(one, range.kvs(0));
                if (i < beside) {
                    if (one.at != held[i].at) {
                        watermark_->raise(at);
                        return engine_status::conflict;
                    }
                } else {
                    found.push_back(std::move(one));
                }
            }
            done = end;
        } while (done < keys.size());
        of.at = at;
        if (!wanted.empty()) watermark_->raise(at);
        return engine_status::good;
    }

    void commit(request& r) override {
        request* one = &r;
        commit_all({&one, 1});
    }

    void commit_all(std::span<request*> all) override {
        TxnRequest ask;
        if (all.size() == 1) {
            fill(ask, *all.front());
        } else {
            for (const request* r : all) fill(*ask.add_success()->mutable_request_txn(), *r);
        }
        TxnResponse answer;
        const std::size_t member = latest_.load(std::memory_order_relaxed) % members_.size();
        const grpc::Status grpc_status = send(member, ask, answer, how_.request_timeout);
        for (std::size_t i = 0; i < all.size(); ++i) {
            request& r = *all[i];
            if (!grpc_status.ok()) {
                r.status = status_of(grpc_status);
                r.reason = "tutti: " + abilities_.name + " refuses the commit: " + grpc_status.error_message();
                continue;
            }
            const TxnResponse& mine = all.size() == 1 ? answer : answer.responses(static_cast<int>(i)).response_txn();
            r.status = mine.succeeded() ? engine_status::good : engine_status::conflict;
            r.at = static_cast<version>(answer.header().revision());
        }
        if (!grpc_status.ok()) return switch_from(member);
        if (commit_observer_ != nullptr) commit_observer_->on_commits(all);
        watermark_->raise(static_cast<version>(answer.header().revision()));
    }

    void forget(std::span<const key> all) noexcept override {
        try {
            const std::size_t member = latest_.load(std::memory_order_relaxed) % members_.size();
            for (std::size_t i = 0; i < all.size();) {
                TxnRequest ask;
                for (const std::size_t end = std::min(all.size(), i + operations); i < end; ++i)
                    ask.add_success()->mutable_request_delete_range()->set_key(prefix_ + all[i]);
                TxnResponse ignored;
                if (!send(member, ask, ignored, how_.request_timeout).ok()) return;
            }
        } catch (const std::bad_alloc&) {  // the records stay
        }
    }

    std::unique_ptr<key_feed> open_key_feed() override { return watch("o", 0); }
    /// Follows the objects, and the keys (n) that caches write in order to learn the current revision.
    std::unique_ptr<record_feed> open_record_feed(version after) override { return watch("n", after + 1); }
    backend::version_watermark* watermark() noexcept override { return watermark_.get(); }
    /// A transaction that writes has a revision of its own, so etcd's revisions satisfy ENG9. A transaction that writes
    /// nothing has the revision of an earlier transaction.
    bool set_commit_observer(commit_observer* w) noexcept override {
        commit_observer_ = w;
        return true;
    }

private:
    std::unique_ptr<watcher> watch(const char* from, version first) {
        backoff_timer all{how_.request_timeout};
        do {
            const std::size_t member = latest_.load(std::memory_order_relaxed) % members_.size();
            auto w = std::make_unique<watcher>(prefix_.size());
            if (w->open(*members_[member].watch, prefix_ + from, prefix_ + "p", first,
                        how_.request_timeout / static_cast<int>(members_.size())))
                return w;
            switch_from(member);
        } while (wait_to_retry(all));
        return nullptr;
    }
    void add(TxnRequest& to, const check& c) const {
        Compare* const one = to.add_compare();
        one->set_target(Compare::MOD);
        one->set_key(prefix_ + c.of);
        one->set_mod_revision(static_cast<std::int64_t>(c.at));
    }
    void fill(TxnRequest& to, const request& from) const {
        for (const check& c : from.checks) add(to, c);
        for (const write& w : from.writes) {
            PutRequest* const one = to.add_success()->mutable_request_put();
            one->set_key(prefix_ + w.of);
            one->set_value((w.exists ? "1" : "0") + w.bytes);
        }
    }
    /// Returns the status of a commit for a status of gRPC. If a member ends, its error answer does not show whether
    /// the commit took place.
    static engine_status status_of(const grpc::Status& s) {
        switch (s.error_code()) {
            case StatusCode::INVALID_ARGUMENT:
            case StatusCode::RESOURCE_EXHAUSTED:
            case StatusCode::PERMISSION_DENIED:
            case StatusCode::UNAUTHENTICATED: return engine_status::refused;
            default: return engine_status::unknown;
        }
    }
    grpc::Status send(std::size_t member, const TxnRequest& ask, TxnResponse& answer,
                      std::chrono::milliseconds timeout) {
        grpc::ClientContext context;
        context.set_deadline(in(timeout));
        return members_[member].kv->Txn(&context, ask, &answer);
    }
    engine_status ask_until_answered(const TxnRequest& ask, TxnResponse& answer) {
        grpc::Status ignored;
        return ask_until_answered(ask, answer, ignored);
    }
    /// Sends the request to one member after the other until one answers. Use this function only for requests that may
    /// be sent twice.
    engine_status ask_until_answered(const TxnRequest& ask, TxnResponse& answer, grpc::Status& grpc_status) {
        backoff_timer all{how_.request_timeout};
        const auto each = how_.request_timeout / static_cast<int>(members_.size());
        do {
            const std::size_t member = latest_.load(std::memory_order_relaxed) % members_.size();
            grpc_status = send(member, ask, answer, each);
            if (grpc_status.ok()) return engine_status::good;
            if (grpc_status.error_code() == StatusCode::OUT_OF_RANGE)
                return engine_status::conflict;  // etcd has compacted the requested revision
            if (status_of(grpc_status) == engine_status::refused) return engine_status::unreachable;
            switch_from(member);
        } while (wait_to_retry(all));
        return engine_status::unreachable;
    }
    /// Pauses before the next try, and establishes the connection meanwhile. Returns false if there is no time for
    /// another try.
    ///
    /// gRPC has no thread of its own that completes a connection: a thread of the program has to wait in one of gRPC's
    /// calls. A call on a channel that is not connected fails at once, without a wait. A program whose threads only
    /// made such calls would never connect again, because gRPC would give up each attempt to connect after a timeout.
    ///
    /// The thread waits for a queue that never receives anything. A wait for the channel's state would need a timer of
    /// gRPC. gRPC's timers use the wall clock, so this wait would not end if an operator set the wall clock back.
    bool wait_to_retry(backoff_timer& all) {
        return all.wait([this](std::chrono::milliseconds pause) {
            const std::size_t member = latest_.load(std::memory_order_relaxed) % members_.size();
            static_cast<void>(members_[member].channel->GetState(true));
            grpc::CompletionQueue nothing;
            void* what = nullptr;
            bool good = false;
            static_cast<void>(nothing.AsyncNext(&what, &good, in(pause)));
            nothing.Shutdown();
            static_cast<void>(nothing.Next(&what, &good));
        });
    }
    void switch_from(std::size_t member) {
        std::size_t seen = member;
        latest_.compare_exchange_strong(seen, (member + 1) % members_.size(), std::memory_order_relaxed);
    }

    const settings how_;
    const std::string prefix_;
    capabilities abilities_;
    std::vector<member> members_;
    std::atomic<std::size_t> latest_{0};  // the member that the next request is sent to
    std::shared_ptr<backend::version_watermark> watermark_;
    commit_observer* commit_observer_ = nullptr;
};

}  // namespace

std::unique_ptr<engine> open_etcd(std::string_view where, const settings& how) {
    if (where.starts_with("//")) where.remove_prefix(2);
    std::vector<std::string> addresses;
    while (!where.empty()) {
        const std::size_t comma = std::min(where.find(','), where.size());
        const server_address p = parse_server_address(where.substr(0, comma), 2379);
        addresses.push_back(p.port == 0 ? "unix:" + p.host : p.host + ":" + std::to_string(p.port));
        where.remove_prefix(std::min(comma + 1, where.size()));
    }
    if (addresses.empty()) throw engine_error{"etcd has no address: give etcd://127.0.0.1:2379"};
    return std::make_unique<etcd>(std::move(addresses), how);
}

}  // namespace tutti::cluster::backend
