#include "cluster/replica/host.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/sigpipe_guard.hpp"
#include "cluster/backend/group_caller.hpp"
#include "cluster/backend/group_link.hpp"
#include "cluster/backend/tls_files.hpp"
#include "cluster/backend/tries.hpp"
#include "cluster/replica/folder.hpp"

namespace tutti::cluster::replica {

using namespace std::chrono_literals;
namespace group = backend::group;

namespace {

constexpr unsigned clock_ms = 50;

}  // namespace

host::host(const member_options& how, cluster::member::say tell, forcing forced)
    : tell_{std::move(tell)},
      secured_{group::credentials::of({files_of(how.tls), how.group_name}, group::speaker::member)},
      sessions_{[this](const std::shared_ptr<session>& from, group::question what, std::string_view body) {
          requests_->serve(from, what, body);
      }},
      loop_{clock_ms, [this] { look_at_clock(); }, [this] { requests_->flush(); }, [this] { begin_to_end({}); }} {
    home_.emplace(how.folder);
    settle_identity(how);
    if (who_.founding) {
        home_->clear_log();
        durable_record::begin(folder_names{home_->folder()}.durable(), {});
    }
    if (forced == forcing::new_group) {
        who_.id = draw_number();
        who_.group = draw_number();
    }
    where_.emplace(home_->folder());
    where_->hear(who_.id, who_.address);
    const std::string log = home_->log_folder();
    const std::uint64_t owed = look_at_log();
    transport_.emplace(
        loop_.raw(), transport::self{who_.id, who_.group, who_.address, secured_, who_.listen}, *where_,
        [this](arrival a) { sessions_.take(std::move(a)); },
        [this](const std::string& line) { tell_(weight::warning, line); });
    disk_.emplace(loop_.raw(), log, folder_names{home_->folder()}.durable(), transport_->raft(),
                  [this](std::string line) { disk_says_ = std::move(line); });
    const auto election = static_cast<unsigned>(std::max<long long>(how.election.count(), 50));
    seat_settings seated;
    seated.self = {who_.id, who_.address};
    seated.election_ms = election;
    seated.heartbeat_ms = std::max(election / 6, 10u);
    seated.owed = owed;
    seated.images = &images_.emplace(loop_.raw(), home_->folder());
    seated.snapshot_bytes = how.snapshot_bytes;
    seat_.emplace(disk_->io(), seated);
    if (who_.founding) {
        const replica::member self{who_.id, who_.address};
        seat_->bootstrap({&self, 1});
        who_.founding = false;
        home_->write(who_);
    }
    if (forced == forcing::new_group) {
        // If this is interrupted, the member belongs to no group, and the same can be done again.
        seat_->recover_alone({who_.id, who_.address});
        home_->write(who_);
    }
    requests_.emplace(*seat_, sessions_, who_, secured_, [this] { return transport_->turned_away(); });
    requests_->name_members_by(*where_);
    seat_->on_change([this] { requests_->tell_followers(); });
    seat_->on_regained([this] {
        disk_->settle_owed();
        tell_(weight::info, "has again what its log had lost, and votes from now on");
    });
    seat_->start();
    tell_(weight::info, "member " + std::to_string(who_.id) + " of group " + std::to_string(who_.group) + " on " +
                            who_.address + (secured_ ? " under TLS" : "") +
                            (who_.listen.empty() ? "" : ", listening on " + who_.listen));
    if (!how.joins.empty()) joining_ = std::jthread{[this, to = how.joins](std::stop_token over) { join(to, over); }};
}

host::~host() = default;

void host::settle_identity(const member_options& how) {
    const bool encrypted = secured_ != nullptr;
    if (!how.advertise.empty()) {
        group::check_member_address(how.advertise, encrypted);
        if (!how.address.empty()) group::check_listening_address(how.address, encrypted);
    }
    if (home_->known(who_)) return settle_address(how);
    if (!how.address.empty() && how.advertise.empty()) group::check_member_address(how.address, encrypted);
    if (how.address.empty())
        throw backend::refusal{home_->folder() + " is new, and a new member needs an address, such as 127.0.0.1:7001"};
    const bool elsewhere = !how.advertise.empty() && how.advertise != how.address;
    who_ = {draw_number(), 0, elsewhere ? how.advertise : how.address, how.founds, elsewhere ? how.address : ""};
    if (how.founds == !how.joins.empty()) {
        throw backend::refusal{home_->folder() +
                               " is new: say whether its member begins a group, or which one it joins"};
    }
    if (how.founds) {
        who_.group = draw_number();
    } else {
        // A member that is busy or starting is asked again.
        std::string why;
        backend::tries all{10s};
        const auto ask = [&](const std::string& address) {
            if (const auto to = group::link::open(address, 0, all.late(), why, secured_.get()); to)
                who_.group = to->group();
            return who_.group != 0;
        };
        while (std::ranges::none_of(how.joins, ask) && all.again()) {}
        if (who_.group == 0) throw backend::refusal{"no member of the group that is to be joined answers: " + why};
    }
    durable_record::begin(folder_names{home_->folder()}.durable(), {});
    home_->write(who_);
}

void host::settle_address(const member_options& how) {
    group::check_member_address(who_.address, secured_ != nullptr);
    const bool apart = !how.advertise.empty() || !who_.listen.empty();
    if (!apart && !how.address.empty()) group::check_member_address(how.address, secured_ != nullptr);
    const std::string& known_by = !how.advertise.empty() ? how.advertise : apart ? who_.address : how.address;
    if (!known_by.empty() && known_by != who_.address) {
        throw backend::refusal{"the others know the member of " + home_->folder() + " as " + who_.address +
                               ", and not as " + known_by +
                               ": start it there; or, if it has moved, 'tutti member "
                               "readdress --folder " +
                               home_->folder() + " " + who_.address + "=" + known_by + "' says so"};
    }
    if (!apart) return;
    if (!how.address.empty() && how.address != who_.listen) {
        who_.listen = how.address == who_.address ? "" : how.address;
        home_->write(who_);
    }
    if (!who_.listen.empty()) group::check_listening_address(who_.listen, secured_ != nullptr);
}

std::uint64_t host::look_at_log() {
    const folder_contents found = look_at_folder(home_->folder(), who_.promised);
    if (!found.damage.empty()) throw backend::refusal{damage_of_member(home_->folder(), found)};
    for (const std::string& line : found.notes) tell_(weight::warning, line);
    for (const torn_end& t : found.torn) {
        tell_(weight::warning, t.file + " had a torn end from byte " + std::to_string(t.keep) +
                                   " on, as a crash leaves it: entry " + std::to_string(found.last + 1) +
                                   " of the log was being written, and nobody was told that it is on the disk. It "
                                   "was cut off");
    }
    cut_torn_ends(found);
    if (!who_.promised) {
        durable_record::begin(
            folder_names{home_->folder()}.durable(),
            found.known ? *found.known : promises{.last = found.last, .term = found.term, .vote = found.vote});
        who_.promised = true;
        home_->write(who_);
    }
    if (!found.known || found.known->owed == 0) return 0;
    tell_(weight::warning, "has lost entries of its log up to " + std::to_string(found.known->owed) +
                               ", and does not vote until the leader has given it all of them again");
    return found.known->owed;
}

void host::run() {
    const base::sigpipe_guard none;  // libuv writes without MSG_NOSIGNAL
    loop_.run();
    if (!ended_by_.empty()) throw backend::refusal{ended_by_};
}

void host::stop() noexcept { loop_.call(); }

void host::look_at_clock() {
    turns_.fetch_add(1, std::memory_order_relaxed);
    transport_->look_at_clock();
    sessions_.look_at_clock();
    where_->settle(seat_->members());
    where_->hear(who_.id, who_.address);  // the log has the address that it had when it joined
    {
        group::status_answer now = requests_->status();
        const std::lock_guard hold{status_guard_};
        status_ = std::move(now);
    }
    const bool leads = seat_->leads();
    if (leads != led_) {
        led_ = leads;
        tell_(weight::info, leads ? "leads the group" : "does not lead any more");
        // H2
        if (!leads) sessions_.each_follower([](session& one) { one.end(); });
    }
    if (secured_) {
        if (std::string says = secured_->trouble(); says != unread_) {
            unread_ = std::move(says);
            if (!unread_.empty())
                tell_(weight::warning, "files that have changed are not in use, those before them are: " + unread_);
        }
    }
    if (const std::string why = images_->take_trouble(); !why.empty()) {
        tell_(weight::warning, "a snapshot cannot be written to " + home_->folder() + ": " + why +
                                   ". The log stays, and grows; the member tries again");
    }
    if (!disk_says_.empty()) return begin_to_end(disk_says_);
    if (const std::string why = seat_->broken_by(); !why.empty())
        begin_to_end("this member can take no part any more: " + why +
                     ". If starting it again does not help, remove it, and let a new one join with an empty folder");
}

void host::begin_to_end(std::string why) {
    if (ending_) return;
    ending_ = true;
    ended_by_ = std::move(why);
    requests_->end();
    joining_.request_stop();
    const auto handed = [this] {
        tell_(weight::info,
              seat_->leads() ? "no other member has taken the lead over in time" : "has handed the lead over");
        finish_ending();
    };
    if (!ended_by_.empty() || !seat_->hand_over(handed)) finish_ending();
}

void host::finish_ending() {
    // The member answers its requests first. A program in the middle of a frame is disconnected.
    seat_->close([this] {
        sessions_.end_all();
        loop_.close();
    });
}

void host::join(const std::vector<std::string>& addresses, const std::stop_token& over) {
    using namespace std::chrono_literals;
    std::mutex guard;
    std::condition_variable_any ended;
    std::string said;
    while (!over.stop_requested()) {
        std::string why;
        // The change continues where it was begun. A member that has to end does not wait for it.
        if (group::ask_for_change(addresses, secured_, who_.group, group::question::add, {who_.id, who_.address}, 2s,
                                  why)) {
            tell_(weight::info, "the group has let this member in, as a voter");
            return;
        }
        if (why != said) tell_(weight::warning, "not let in yet: " + why);
        said = why;
        std::unique_lock hold{guard};
        ended.wait_for(hold, over, 500ms, [] { return false; });
    }
}

}  // namespace tutti::cluster::replica
