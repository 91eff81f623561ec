#include "cluster/replica/host.hpp"

#include <algorithm>
#include <map>

#include "cluster/backend/group_link.hpp"

namespace tutti::cluster::replica {
namespace {

using namespace std::chrono_literals;
using backend::verdict;
namespace group = backend::group;
using group::frame;
using group::text_answer;

constexpr unsigned clock_ms = 50;
constexpr std::size_t most_found = 8u << 20;  // bytes of records in one answer, if there is more than one
constexpr std::size_t most_told = 1000;       // changes in one message

std::string refused(const std::string& why) { return frame(group::outcome::refused, text_answer{why}); }

bool within(const group::key_range& of, const std::string& k) { return of.from <= k && k < of.to; }

}  // namespace

/// What is asked for together; each request holds it until it is answered.
struct host::round {
    explicit round(host& of) : of_{of} {}
    ~round() {
        if (sent) --of_.rounds_;
    }
    host& of_;
    bool sent = false;
};

host::host(const member_options& how, cluster::member::say tell)
    : tell_{std::move(tell)},
      loop_{clock_ms, [this] { look_at_clock(); }, [this] { flush(); }, [this] { begin_to_end({}); }},
      sessions_{[this](const std::shared_ptr<session>& from, group::question what, std::string_view body) {
          serve(from, what, body);
      }} {
    home_.emplace(how.folder);
    settle_identity(how);
    if (who_.founding) home_->clear_log();
    const std::string log = home_->log_folder();
    transport_.emplace(
        loop_.raw(), transport::self{who_.id, who_.group, who_.address}, [this](uv_tcp_t* s) { sessions_.take(s); },
        [this](const std::string& line) { tell_(weight::warning, line); });
    if (const int failed = raft_uv_init(&io_, &loop_.raw(), log.c_str(), transport_->raft()); failed != 0)
        throw backend::refusal{"the folder " + log + " cannot be used: " + raft_strerror(failed)};
    raft_uv_set_connect_retry_delay(&io_, 100);
    watch_disk();
    const auto election = static_cast<unsigned>(std::max<long long>(how.election.count(), 50));
    seat_.emplace(io_, seat_settings{.self = {who_.id, who_.address},
                                     .election_ms = election,
                                     .heartbeat_ms = std::max(election / 6, 10u)});
    if (who_.founding) {
        const replica::member self{who_.id, who_.address};
        seat_->bootstrap({&self, 1});
        who_.founding = false;
        home_->write(who_);
    }
    seat_->on_change([this] { tell_followers(); });
    seat_->start();
    if (!how.joins.empty()) joining_ = std::jthread{[this, to = how.joins] { join(to); }};
}
