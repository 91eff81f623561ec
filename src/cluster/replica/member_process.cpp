#include "cluster/replica/member_process.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/sigpipe_guard.hpp"
#include "cluster/backend/backoff_timer.hpp"
#include "cluster/backend/group_client.hpp"
#include "cluster/backend/member_connection.hpp"
#include "cluster/backend/tls_files.hpp"
#include "cluster/replica/folder.hpp"

namespace tutti::cluster::replica {

using namespace std::chrono_literals;
namespace group = backend::group;

namespace {

constexpr unsigned clock_ms = 50;

}  // namespace

member_process::member_process(const member_options& how, cluster::member::log_callback log_callback, force_mode forced)
    : log_callback_{std::move(log_callback)},
      credentials_{group::credentials::of({files_of(how.tls), how.group_name}, group::peer_kind::member)},
      sessions_{[this](const std::shared_ptr<session>& from, group::request_kind what, std::string_view body) {
          requests_->serve(from, what, body);
      }},
      event_loop_{clock_ms, [this] { on_clock_tick(); }, [this] { requests_->flush(); },
                  [this] { begin_shutdown({}); }} {
    data_directory_.emplace(how.data_dir);
    load_identity(how);
    if (identity_.is_founding) {
        data_directory_->clear_log();
        durable_record::begin(folder_names{data_directory_->folder()}.durable(), {});
    }
    if (forced == force_mode::new_group) {
        identity_.id = random_number();
        identity_.group = random_number();
    }
    address_book_.emplace(data_directory_->folder());
    address_book_->update(identity_.id, identity_.address);
    const std::string log = data_directory_->log_folder();
    const std::uint64_t lost_upto = check_log();
    transport_.emplace(
        event_loop_.raw(),
        transport::self{identity_.id, identity_.group, identity_.address, credentials_, identity_.listen},
        *address_book_, [this](identified_connection a) { sessions_.add(std::move(a)); },
        [this](const std::string& line) { log_callback_(severity::warning, line); });
    disk_.emplace(event_loop_.raw(), log, folder_names{data_directory_->folder()}.durable(), transport_->raft(),
                  [this](std::string line) { disk_error_ = std::move(line); });
    const auto election = static_cast<unsigned>(std::max<long long>(how.election_timeout.count(), 50));
    raft_settings node_settings;
    node_settings.self = {identity_.id, identity_.address};
    node_settings.election_ms = election;
    node_settings.heartbeat_ms = std::max(election / 6, 10u);
    node_settings.lost_upto = lost_upto;
    node_settings.image_storage = &images_.emplace(event_loop_.raw(), data_directory_->folder());
    node_settings.snapshot_bytes = how.snapshot_bytes;
    raft_node_.emplace(disk_->io(), node_settings);
    if (identity_.is_founding) {
        const replica::member self{identity_.id, identity_.address};
        raft_node_->bootstrap({&self, 1});
        identity_.is_founding = false;
        data_directory_->write_identity(identity_);
    }
    if (forced == force_mode::new_group) {
        // If a crash interrupts these steps, the member belongs to no group, and the operator can repeat the command.
        raft_node_->recover_alone({identity_.id, identity_.address});
        data_directory_->write_identity(identity_);
    }
    requests_.emplace(*raft_node_, sessions_, identity_, credentials_,
                      [this] { return transport_->connections_rejected(); });
    requests_->name_members_by(*address_book_);
    raft_node_->on_change([this] { requests_->send_changes_to_followers(); });
    raft_node_->on_recovered([this] {
        disk_->clear_lost();
        log_callback_(severity::info, "has recovered the lost entries of its log, and votes from now on");
    });
    raft_node_->start();
    log_callback_(severity::info, "member " + std::to_string(identity_.id) + " of group " +
                                      std::to_string(identity_.group) + " on " + identity_.address +
                                      (credentials_ ? " under TLS" : "") +
                                      (identity_.listen.empty() ? "" : ", listening on " + identity_.listen));
    if (!how.join.empty()) joining_ = std::jthread{[this, to = how.join](std::stop_token over) { join(to, over); }};
}

member_process::~member_process() = default;

void member_process::load_identity(const member_options& how) {
    const bool encrypted = credentials_ != nullptr;
    if (!how.advertise.empty()) {
        group::check_member_address(how.advertise, encrypted);
        if (!how.address.empty()) group::check_listening_address(how.address, encrypted);
    }
    if (data_directory_->read_identity(identity_)) return set_addresses(how);
    if (!how.address.empty() && how.advertise.empty()) group::check_member_address(how.address, encrypted);
    if (how.address.empty())
        throw backend::engine_error{data_directory_->folder() +
                                    " is new, and a new member needs an address: give one, such as 127.0.0.1:7001"};
    const bool elsewhere = !how.advertise.empty() && how.advertise != how.address;
    identity_ = {random_number(), 0, elsewhere ? how.advertise : how.address, how.new_group,
                 elsewhere ? how.address : ""};
    if (how.new_group == !how.join.empty()) {
        throw backend::engine_error{
            data_directory_->folder() +
            " is new: let its member begin a group (new_group, --new-group) or join one (join, --join)"};
    }
    if (how.new_group) {
        identity_.group = random_number();
    } else {
        // Asks again, because a member may be busy or still starting.
        std::string why;
        backend::backoff_timer all{10s};
        const auto ask = [&](const std::string& address) {
            if (const auto to = group::member_connection::open(address, 0, all.deadline(), why, credentials_.get()); to)
                identity_.group = to->group();
            return identity_.group != 0;
        };
        while (std::ranges::none_of(how.join, ask) && all.wait()) {}
        if (identity_.group == 0) throw backend::engine_error{"no member of the group to join answers: " + why};
    }
    durable_record::begin(folder_names{data_directory_->folder()}.durable(), {});
    data_directory_->write_identity(identity_);
}

void member_process::set_addresses(const member_options& how) {
    group::check_member_address(identity_.address, credentials_ != nullptr);
    const bool apart = !how.advertise.empty() || !identity_.listen.empty();
    if (!apart && !how.address.empty()) group::check_member_address(how.address, credentials_ != nullptr);
    const std::string& known_by = !how.advertise.empty() ? how.advertise : apart ? identity_.address : how.address;
    if (!known_by.empty() && known_by != identity_.address) {
        throw backend::engine_error{"other members know the member of " + data_directory_->folder() + " as " +
                                    identity_.address + ", and not as " + known_by +
                                    ": start it there, or, if it has moved, run 'tutti member "
                                    "readdress --data-dir " +
                                    data_directory_->folder() + " " + identity_.address + "=" + known_by + "'"};
    }
    if (!apart) return;
    if (!how.address.empty() && how.address != identity_.listen) {
        identity_.listen = how.address == identity_.address ? "" : how.address;
        data_directory_->write_identity(identity_);
    }
    if (!identity_.listen.empty()) group::check_listening_address(identity_.listen, credentials_ != nullptr);
}

std::uint64_t member_process::check_log() {
    const folder_contents found = read_folder(data_directory_->folder(), identity_.has_durable_record);
    if (!found.damage.empty()) throw backend::engine_error{damage_of_member(data_directory_->folder(), found)};
    for (const std::string& line : found.notes) log_callback_(severity::warning, line);
    for (const torn_end& t : found.torn) {
        log_callback_(severity::warning, "cut off a torn end of " + t.file + " at byte " + std::to_string(t.keep) +
                                             ": a crash has interrupted the write of entry " +
                                             std::to_string(found.last + 1) +
                                             " of the log, which was not acknowledged");
    }
    cut_torn_ends(found);
    if (!identity_.has_durable_record) {
        durable_record::begin(
            folder_names{data_directory_->folder()}.durable(),
            found.known ? *found.known : durable_promises{.last = found.last, .term = found.term, .vote = found.vote});
        identity_.has_durable_record = true;
        data_directory_->write_identity(identity_);
    }
    if (!found.known || found.known->lost_upto == 0) return 0;
    log_callback_(severity::warning, "has lost entries of its log up to " + std::to_string(found.known->lost_upto) +
                                         ", and does not vote until the leader has sent them again");
    return found.known->lost_upto;
}

void member_process::run() {
    const base::sigpipe_guard none;  // libuv writes without MSG_NOSIGNAL
    event_loop_.run();
    if (!shutdown_reason_.empty()) throw backend::engine_error{shutdown_reason_};
}

void member_process::stop() noexcept { event_loop_.call(); }

void member_process::on_clock_tick() {
    loop_iterations_.fetch_add(1, std::memory_order_relaxed);
    transport_->end_overdue_handshakes();
    sessions_.send_due_keepalives();
    address_book_->match_members(raft_node_->members());
    address_book_->update(identity_.id, identity_.address);  // the log may have a former address of this member
    {
        group::status_reply now = requests_->status();
        const std::lock_guard hold{status_guard_};
        status_ = std::move(now);
    }
    const bool leads = raft_node_->is_leader();
    if (leads != was_leader_) {
        was_leader_ = leads;
        log_callback_(severity::info, leads ? "leads the group" : "no longer leads the group");
        // MBR2
        if (!leads) sessions_.for_each_follower([](session& one) { one.end(); });
    }
    if (credentials_) {
        if (std::string says = credentials_->error(); says != reload_error_) {
            reload_error_ = std::move(says);
            if (!reload_error_.empty())
                log_callback_(
                    severity::warning,
                    "the changed certificate files are not in use, and the former ones stay in use: " + reload_error_);
        }
    }
    if (const std::string why = images_->take_error(); !why.empty()) {
        log_callback_(severity::warning, "a snapshot cannot be written to " + data_directory_->folder() + ": " + why +
                                             ". The log is kept and grows until a later try succeeds");
    }
    if (!disk_error_.empty()) return begin_shutdown(disk_error_);
    if (const std::string why = raft_node_->failure(); !why.empty())
        begin_shutdown("this member cannot continue: " + why +
                       ". If a restart does not help, remove it, and let a new member join with an empty folder");
}

void member_process::begin_shutdown(std::string why) {
    if (shuts_down_) return;
    shuts_down_ = true;
    shutdown_reason_ = std::move(why);
    requests_->begin_shutdown();
    joining_.request_stop();
    const auto handed = [this] {
        log_callback_(severity::info, raft_node_->is_leader() ? "no other member has taken over the leadership in time"
                                                              : "has transferred the leadership");
        finish_shutdown();
    };
    if (!shutdown_reason_.empty() || !raft_node_->transfer_leadership(handed)) finish_shutdown();
}

void member_process::finish_shutdown() {
    // The node answers all pending requests before the connections end. A program in the middle of a frame is
    // disconnected.
    raft_node_->close([this] {
        sessions_.end_all();
        event_loop_.close();
    });
}

void member_process::join(const std::vector<std::string>& addresses, const std::stop_token& over) {
    using namespace std::chrono_literals;
    std::mutex guard;
    std::condition_variable_any ended;
    std::string last_reason;
    while (!over.stop_requested()) {
        std::string why;
        // The leader continues a change that it has begun, so this member need not wait for the change when it has to
        // end.
        if (group::request_member_change(addresses, credentials_, identity_.group, group::request_kind::add,
                                         {identity_.id, identity_.address}, 2s, why)) {
            log_callback_(severity::info, "the group has admitted this member as a voter");
            return;
        }
        if (why != last_reason) log_callback_(severity::warning, "not admitted yet: " + why);
        last_reason = why;
        std::unique_lock hold{guard};
        ended.wait_for(hold, over, 500ms, [] { return false; });
    }
}

}  // namespace tutti::cluster::replica
