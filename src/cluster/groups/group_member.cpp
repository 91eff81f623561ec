// The public interface to a group: its members, and queries to them.
#include "tutti/cluster/member.hpp"

#include <algorithm>

#include "cluster/backend/backend.hpp"
#include "cluster/backend/group_client.hpp"
#include "cluster/backend/tls_files.hpp"
#include "cluster/observe/metrics.hpp"
#include "wire/wire_error.hpp"
#if defined(TUTTI_CLUSTER_MEMBERS)
#include "cluster/replica/member_process.hpp"
#endif

namespace tutti::cluster {
namespace {

namespace group = backend::group;
using group::member_connection;

/// Asks one member for its status. Returns false, and sets `why`, if the member does not answer.
bool ask_one(const std::string& address, group::credentials* secured, std::uint64_t number,
             std::chrono::milliseconds timeout, group::status_reply& status, std::uint64_t& of, std::string& why) {
    const member_connection::clock::time_point late = member_connection::clock::now() + timeout;
    const std::unique_ptr<member_connection> to = member_connection::open(address, number, late, why, secured);
    if (!to) return false;
    of = to->group();
    std::string message;
    why = address + " has not answered";
    if (!to->send(group::frame(group::request_kind::status, group::empty_body{}), late) || !to->receive(message, late))
        return false;
    std::string_view rest{message};
    group::reply_status result{};
    if (!group::take_head(rest, result) || result != group::reply_status::done || !wire::decode(rest, status)) {
        why = address + " sent an invalid answer";
        return false;
    }
    return true;
}

void fill(member_status& one, const group::status_reply& from) {
    one.state = from.state;
    one.error = from.error;
    one.term = from.term;
    one.last_index = from.last_index;
    one.applied_index = from.applied_index;
    one.version = from.version;
    one.objects = from.records;
    one.bytes = from.bytes;
    one.connections = from.connections;
    one.prepared = from.prepared;
    one.connections_rejected = from.connections_rejected;
}

/// The members to which queries are sent, and the certificate for the connections.
struct asked {
    asked(const std::vector<std::string>& addresses, const tls_options& tls, const std::string& group_name) try
        : secured{group::credentials::of({files_of(tls), group_name}, group::peer_kind::program)} {
        std::string all;
        for (const std::string& a : addresses) all += (a == addresses.front() ? "" : ",") + a;
        members = group::parse_members(all, secured != nullptr);
    } catch (const backend::engine_error& r) {
        throw member_error{std::string{"tutti: "} + r.what()};
    }

    std::shared_ptr<group::credentials> secured;
    std::vector<std::string> members;
};

}  // namespace

member_error::~member_error() = default;

group_status query_group(const std::vector<std::string>& addresses, std::chrono::milliseconds timeout,
                         const tls_options& tls, const std::string& group_name) {
    const asked queried{addresses, tls, group_name};
    group_status all;
    group::status_reply best;
    bool any = false;
    // The leader has the newest list of members. Another member's answer is used only if no leader answers.
    for (const std::string& address : queried.members) {
        group::status_reply reply;
        std::string why;
        if (!ask_one(address, queried.secured.get(), all.group, timeout, reply, all.group, why)) {
            all.error += (all.error.empty() ? "" : "; ") + why;
            continue;
        }
        if (!any || reply.term > best.term || (reply.term == best.term && reply.state == "leader")) best = reply;
        any = true;
    }
    if (!any) return all;
    all.error.clear();
    all.leader = best.leader;
    for (const group::listed_member& m : best.members) {
        member_status& one = all.members.emplace_back();
        one.id = m.id;
        one.address = m.address;
        one.votes = m.votes;
        group::status_reply reply;
        std::uint64_t of = 0;
        if (!ask_one(m.address, queried.secured.get(), all.group, timeout, reply, of, one.error)) continue;
        if (reply.id == m.id) fill(one, reply);
        else one.error = "another member is at " + m.address + ": this one's disk is lost; remove it";
    }
    return all;
}

void remove_member(const std::vector<std::string>& addresses, std::uint64_t id, std::chrono::milliseconds timeout,
                   const tls_options& tls, const std::string& group_name) {
    const asked queried{addresses, tls, group_name};
    std::string why;
    if (!group::request_member_change(queried.members, queried.secured, 0, group::request_kind::remove, {id, {}},
                                      timeout, why))
        throw member_error{"tutti: member " + std::to_string(id) + " has not been removed: " + why};
}

#if defined(TUTTI_CLUSTER_MEMBERS)

struct member::impl {
    impl(const member_options& how, log_callback callback) : here{how, std::move(callback)} {
        if (!how.metrics.empty()) page = expose_member(how.metrics, [this] { return status(); });
    }
    [[nodiscard]] member_status status() const {
        const group::status_reply reply = here.status();
        member_status f;
        fill(f, reply);
        f.id = reply.id;
        f.address = reply.address;
        f.votes = std::ranges::any_of(reply.members,
                                      [&](const group::listed_member& m) { return m.id == reply.id && m.votes; });
        return f;
    }
    replica::member_process here;
    std::unique_ptr<exposition::web_server> page;  // destroyed first, because it calls the host
};

member::member(const member_options& options, log_callback callback) try
    : impl_{std::make_unique<impl>(options, std::move(callback))} {
} catch (const backend::engine_error& r) {
    throw member_error{std::string{"tutti: "} + r.what()};
} catch (const wire::wire_error& r) {
    throw member_error{std::string{"tutti: "} + r.what()};
}

void member::run() {
    try {
        impl_->here.run();
    } catch (const backend::engine_error& r) {
        throw member_error{std::string{"tutti: "} + r.what()};
    }
}

void member::stop() noexcept { impl_->here.stop(); }

std::uint64_t member::loop_iterations() const noexcept { return impl_->here.loop_iterations(); }

void force_new_group(const member_options& how) {
    try {
        {
            const replica::data_directory of{how.data_dir, replica::data_directory::must_exist};
            replica::identity who;
            if (!of.read_identity(who)) throw backend::engine_error{how.data_dir + " is not the folder of a member"};
        }
        member_options alone = how;
        alone.new_group = false;
        alone.join.clear();
        replica::member_process once{alone, [](member::severity, const std::string&) {},
                                     replica::member_process::force_mode::new_group};
        once.stop();
        once.run();
    } catch (const backend::engine_error& r) {
        throw member_error{std::string{"tutti: "} + r.what()};
    }
}

void readdress_member(const std::string& folder, const std::vector<moved_address>& all) {
    try {
        const replica::data_directory of{folder, replica::data_directory::must_exist};
        replica::identity who;
        if (!of.read_identity(who)) throw backend::engine_error{folder + " is not the folder of a member"};
        replica::address_book where{folder};
        std::vector<std::pair<std::string, std::string>> moves;
        for (const moved_address& m : all) moves.emplace_back(m.from, m.to);
        where.add(who.id, who.address);
        where.move(moves);
        who.address = where.of(who.id, who.address);
        // The member reads its own address from the file of its identity. This file is written last, so the whole
        // change can be repeated until the file is written.
        where.write();
        of.write_identity(who);
    } catch (const backend::engine_error& r) {
        throw member_error{std::string{"tutti: "} + r.what()};
    }
}

std::uint16_t member::metrics_port() const noexcept { return impl_->page ? impl_->page->port() : std::uint16_t{0}; }

#else

struct member::impl {};

member::member(const member_options&, log_callback) {
    throw member_error{
        "tutti: this library was built without members of groups: install libraft-dev and libuv1-dev and build it "
        "again"};
}

void member::run() {}
void member::stop() noexcept {}
std::uint64_t member::loop_iterations() const noexcept { return 0; }
std::uint16_t member::metrics_port() const noexcept { return 0; }

void force_new_group(const member_options&) { readdress_member({}, {}); }

void readdress_member(const std::string&, const std::vector<moved_address>&) {
    throw member_error{
        "tutti: this library was built without members of groups: install libraft-dev and libuv1-dev and build it "
        "again"};
}

#endif

member::~member() = default;

}  // namespace tutti::cluster
