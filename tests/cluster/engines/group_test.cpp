// Groups of members as real processes: elections, members that join and leave, and data, which must not be lost.
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <tutti/cluster/errors.hpp>
#include <tutti/cluster/groups.hpp>
#include <tutti/cluster/member.hpp>
#include <tutti/tutti.hpp>

#include "cli/port.hpp"
#include "cluster/backend/address.hpp"
#include "cluster/backend/member_connection.hpp"
#include "cluster/backend/raft_group_engine.hpp"
#include "cluster/engines/servers.hpp"
#include "cluster/engines/stress_clients.hpp"
#include "cluster/replica/fault_injection.hpp"
#include "cluster/replica/state_machine.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;
using namespace std::chrono_literals;
namespace backend = cluster::backend;
namespace group = backend::group;
using cluster::replica::fault;
using group::member_connection;

std::string whole(const std::string& file) {
    std::ostringstream all;
    all << std::ifstream{file}.rdbuf();
    return all.str();
}

template <class Test>
void until(Test&& test) {
    while (!test()) std::this_thread::sleep_for(5ms);
}

class raft_group_test : public ::testing::Test {
protected:
    support::watchdog guard_{"groups", 100s};
};

std::unique_ptr<backend::engine> engine_at(const std::string& address) {
    return backend::open_engine(address, {"g", 20s});
}

bool put(backend::engine& e, const std::string& k, const std::string& bytes) {
    const backend::write w{k, true, bytes};
    backend::request r;
    r.writes = {&w, 1};
    e.commit(r);
    return r.status == backend::engine_status::good;
}

backend::record look(backend::engine& e, const std::string& k) {
    backend::read_snapshot any;
    std::vector<backend::record> found;
    if (e.get(any, backend::freshness::now, {}, {&k, 1}, found) != backend::engine_status::good)
        throw std::runtime_error{"it cannot be read"};
    return found.front();
}

std::unique_ptr<member_connection> link_to(const std::string& place) {
    std::string why;
    std::unique_ptr<member_connection> made =
        member_connection::open(place, 0, member_connection::clock::now() + 5s, why);
    if (!made) throw std::runtime_error{why};
    return made;
}

bool ask(member_connection& to, const std::string& request) {
    return to.send(request, member_connection::clock::now() + 5s);
}

/// Returns the outcome that the member sends within `within`; `keep_alive` also stands for silence.
group::reply_status hear(member_connection& from, std::string& rest, std::chrono::milliseconds within) {
    std::string message;
    if (!from.receive(message, member_connection::clock::now() + within)) return group::reply_status::keep_alive;
    std::string_view view{message};
    group::reply_status result{};
    static_cast<void>(group::take_head(view, result));
    rest = view;
    return result;
}

std::string get_of(const char* k) {
    group::get_request all;
    all.wanted = {k};
    return group::frame(group::request_kind::get, all);
}

std::string commit_of(const char* k, const char* bytes) {
    group::commit_request all;
    all.all.resize(1);
    all.all[0].writes = {{k, true, bytes}};
    return group::frame(group::request_kind::commit, all);
}

bool was_read(group::reply_status result, const std::string& rest, const std::string& bytes) {
    group::get_reply a;
    return result == group::reply_status::done && wire::decode(rest, a) && a.current && a.found.size() == 1 &&
           a.found[0].bytes == bytes;
}

bool was_acknowledged(group::reply_status result, const std::string& rest) {
    group::commit_reply a;
    return result == group::reply_status::done && wire::decode(rest, a) && a.all.size() == 1 && a.all[0].good;
}

// ---- split brain, first way: the leader is stopped, another one is elected, and the first one resumes

std::string stopped_leader_misleads(fault with) {
    group_server g{3, static_cast<int>(with)};
    g.start();
    const auto before = engine_at(g.address());
    until([&] { return put(*before, "o1", "old"); });  // if an answer is lost, the program asks again
    const std::size_t old = g.leader();
    const auto reads = link_to(g.places()[old]), writes = link_to(g.places()[old]);
    g.at(old).send(SIGSTOP);
    const auto after = engine_at("tutti://" + g.places()[(old + 1) % 3] + "," + g.places()[(old + 2) % 3]);
    until([&] { return put(*after, "o1", "new"); });
    // The test sends these requests after the new state was acknowledged. The old leader finds the requests when it
    // resumes.
    if (!ask(*reads, get_of("g/o1")) || !ask(*writes, commit_of("g/o2", "late")))
        return "the leader does not accept the requests";
    g.at(old).send(SIGCONT);
    std::string rest;
    const group::reply_status read = hear(*reads, rest, 10s);
    if (was_read(read, rest, "old")) return "a deposed leader has shown an old state";
    const group::reply_status written = hear(*writes, rest, 10s);
    if (was_acknowledged(written, rest) && look(*after, "o2").bytes != "late")
        return "a deposed leader has acknowledged a lost commit";
    if (look(*after, "o1").bytes != "new") return "an acknowledged commit is lost";
    return {};
}

// ---- second way: the leader keeps running, but is isolated

std::string lone_leader_answers(fault with) {
    group_server g{3, static_cast<int>(with)};
    g.start();
    const auto before = engine_at(g.address());
    until([&] { return put(*before, "o1", "old"); });
    const std::size_t leads = g.leader();
    const auto reads = link_to(g.places()[leads]), writes = link_to(g.places()[leads]);
    for (std::size_t i = 0; i < 3; ++i) {
        if (i != leads) g.at(i).send(SIGSTOP);
    }
    if (!ask(*reads, get_of("g/o1")) || !ask(*writes, commit_of("g/o1", "alone")))
        return "the leader does not accept the requests";
    std::string rest;
    if (hear(*reads, rest, 5s) == group::reply_status::done) return "an isolated leader has answered a read";
    if (hear(*writes, rest, 5s) == group::reply_status::done) return "an isolated leader has acknowledged a commit";
    for (std::size_t i = 0; i < 3; ++i) {
        if (i != leads) g.at(i).send(SIGCONT);
    }
    const auto after = engine_at(g.address());
    const std::string found = look(*after, "o1").bytes;
    // A client that has received "lost" does not know whether the commit happened. The object has one of the two
    // values, and keeps that value.
    if (found != "old" && found != "alone") return "neither state is there";
    return look(*after, "o1").bytes == found ? "" : "the state changes by itself";
}

TEST_F(raft_group_test, ignores_a_stopped_leader) { EXPECT_EQ(stopped_leader_misleads(fault::none), ""); }
TEST_F(raft_group_test, gets_no_answer_from_an_isolated_leader) { EXPECT_EQ(lone_leader_answers(fault::none), ""); }

// Tests of the tests: the functions above notice members that skip a step.
TEST_F(raft_group_test, detects_reads_without_a_barrier) { EXPECT_NE(lone_leader_answers(fault::no_barrier), ""); }
TEST_F(raft_group_test, detects_replies_before_the_commit) { EXPECT_NE(lone_leader_answers(fault::early_answer), ""); }
// ---- under load

TEST_F(raft_group_test, survives_killed_leaders) {
    group_server g{3};
    g.start();
    stress_clients all{g.address(), 11};
    for (std::size_t i = 0; i < support::rounds(3); ++i) {
        all.let_commit(40);
        const std::size_t leads = g.leader();
        const auto killed = std::chrono::steady_clock::now();
        g.at(leads).end();
        all.let_commit(40);  // by the others
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - killed;
        std::printf("40 blocks within %.3f s of the leader's end\n", took.count());
        g.start();
    }
    EXPECT_EQ(all.judge(g.address()), "");
}

TEST_F(raft_group_test, transfers_leadership_at_shutdown) {
    group_server g{3};
    g.start();
    stress_clients all{g.address(), 12};
    all.let_commit(40);
    const std::size_t leads = g.leader();
    g.at(leads).ask_to_end(SIGTERM, 10s);
    EXPECT_NE(whole(g.log_of(leads)).find("has transferred the leadership"), std::string::npos)
        << whole(g.log_of(leads));
    all.let_commit(40);
    g.start();
    EXPECT_EQ(all.judge(g.address()), "");
}

TEST_F(raft_group_test, adds_and_removes_members) {
    group_server g{3};
    g.start();
    stress_clients all{g.address(), 13};
    all.let_commit(40);
    const std::size_t fourth = g.add();
    all.let_commit(40);
    const auto facts = cluster::query_group(g.places(), 2000ms);
    ASSERT_EQ(facts.members.size(), 4u);
    // The leader leaves: it commits its own removal, and then no longer leads.
    const std::size_t leads = g.leader();
    std::uint64_t id = 0;
    for (const cluster::member_status& m : facts.members) {
        if (m.address == g.places()[leads]) id = m.id;
    }
    cluster::remove_member(g.places(), id, 20s);
    all.let_commit(40);
    g.at(leads).end();
    all.let_commit(40);
    EXPECT_EQ(cluster::query_group(g.places(), 2000ms).members.size(), 3u);
    EXPECT_NE(g.leader(), leads);
    EXPECT_TRUE(g.at(fourth).running());
    EXPECT_EQ(all.judge("tutti://" + g.places()[(leads + 1) % 4] + "," + g.places()[(leads + 2) % 4]), "");
}

/// Replaces each of the first `count` members with another one at another address.
void replace_members(group_server& g, std::size_t count, const std::function<void()>& after_each) {
    for (std::size_t i = 0; i < count; ++i) {
        g.add();
        std::uint64_t id = 0;
        for (const cluster::member_status& m : cluster::query_group(g.places(), 2000ms).members) {
            if (m.address == g.places()[i]) id = m.id;
        }
        cluster::remove_member(g.places(), id, 20s);
        after_each();
        g.retire(i);
    }
}

TEST_F(raft_group_test, follows_a_group_whose_members_are_all_replaced) {
    group_server g{3};
    g.start();
    const std::string first = g.places().front();
    const auto e = backend::open_raft_group({first}, {"g", 20s});
    ASSERT_TRUE(put(*e, "o1", "old"));
    std::size_t there = 3;
    replace_members(g, 3, [&] {
        // The program learns the new addresses by itself.
        const auto left =
            std::vector<std::string>(g.places().begin() + static_cast<std::ptrdiff_t>(++there - 3), g.places().end());
        until([&] {
            std::vector<std::string> now = e->members();
            return now.size() == 3 && std::ranges::is_permutation(now, left);
        });
    });
    until([&] { return put(*e, "o1", "new"); });
    EXPECT_EQ(look(*e, "o1").bytes, "new");
}

TEST_F(raft_group_test, restarts_from_the_last_surviving_member) {
    group_server g{3};
    g.start();
    const auto before = engine_at(g.address());
    for (int i = 0; i < 50; ++i) until([&] { return put(*before, "o1", std::to_string(i)); });
    const std::size_t kept = g.leader();
    const std::string address = "tutti://" + g.places()[kept];
    for (std::size_t i = 0; i < 3; ++i) g.at(i).end();
    cluster::member_options how;
    how.data_dir = g.folder_of(kept);
    cluster::force_new_group(how);
    g.start_one(kept);
    const auto after = engine_at(address);
    EXPECT_EQ(look(*after, "o1").bytes, "49");
    EXPECT_TRUE(put(*after, "o1", "new"));
    EXPECT_EQ(cluster::query_group({g.places()[kept]}, 2000ms).members.size(), 1u);
    // The members of the old group cannot reach the new one, and it cannot be founded a second time.
    for (std::size_t i = 0; i < 3; ++i) {
        if (i != kept) g.start_one(i);
    }
    until([&] { return whole(g.log_of((kept + 1) % 3)).find("another group") != std::string::npos; });
    EXPECT_EQ(look(*after, "o1").bytes, "new");
    g.at(kept).end();
    g.start_one(kept);
    EXPECT_EQ(look(*engine_at(address), "o1").bytes, "new");
    how.data_dir += "-nowhere";
    EXPECT_THROW(cluster::force_new_group(how), cluster::member_error);
}

std::string free_place() { return "127.0.0.1:" + std::to_string(cli::free_port()); }

TEST_F(raft_group_test, keeps_records_when_all_addresses_change) {
    group_server g{3};
    g.start();
    const auto before = engine_at(g.address());
    until([&] { return put(*before, "o1", "old"); });
    std::vector<cluster::moved_address> moves;
    for (std::size_t i = 0; i < 3; ++i) {
        g.at(i).end();
        moves.push_back({g.places()[i], free_place()});
    }
    // The first member moves to the former address of the second.
    moves[1].to = std::exchange(moves[0].to, g.places()[1]);
    for (std::size_t i = 0; i < 3; ++i) {
        cluster::readdress_member(g.folder_of(i), moves);
        // With one address for two members, or with an unknown address, the call fails and changes nothing.
        EXPECT_THROW(cluster::readdress_member(g.folder_of(i), {{moves[0].to, moves[2].to}}), cluster::member_error);
        EXPECT_THROW(cluster::readdress_member(g.folder_of(i), {{"127.0.0.1:1", "127.0.0.1:2"}}),
                     cluster::member_error);
    }
    for (std::size_t i = 0; i < 3; ++i) g.move_to(i, moves[i].to);
    g.start();
    const auto after = engine_at(g.address());
    EXPECT_EQ(look(*after, "o1").bytes, "old");
    until([&] { return put(*after, "o1", "new"); });
    std::vector<std::string> listed;
    for (const cluster::member_status& m : cluster::query_group(g.places(), 2000ms).members)
        listed.push_back(m.address);
    EXPECT_TRUE(std::ranges::is_permutation(listed, g.places()));
    // The leader calls a member that joins.
    g.add();
    EXPECT_EQ(cluster::query_group(g.places(), 2000ms).members.size(), 4u);
}

TEST_F(raft_group_test, announces_a_changed_address_to_other_members) {
    group_server g{3};
    g.start();
    const std::size_t moves = (g.leader() + 1) % 3;
    g.at(moves).end();
    const std::string before = g.places()[moves], after = free_place();
    cluster::readdress_member(g.folder_of(moves), {{before, after}});
    g.move_to(moves, after);
    g.start_one(moves);
    until([&] {
        for (const cluster::member_status& m : cluster::query_group(g.places(), 2000ms).members) {
            if (m.address == after) return m.votes && m.state == "follower";
        }
        return false;
    });
    // The leader tells the others, and calls the moved member at its new address.
    const auto e = engine_at("tutti://" + g.places()[(moves + 1) % 3]);
    until([&] { return put(*e, "o1", "x"); });
}

bool has_ipv6() {
    const int s = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in6 at{};
    at.sin6_family = AF_INET6;
    at.sin6_addr = in6addr_loopback;
    const bool has = s >= 0 && ::bind(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(s);
    return has;
}

TEST_F(raft_group_test, accepts_host_names_and_ipv6_addresses) {
    const std::string folder = ::testing::TempDir() + "tutti-names-" + std::to_string(::getpid());
    std::filesystem::remove_all(folder);
    const auto silent = [](cluster::member::severity, const std::string&) {};
    const std::string port = std::to_string(cli::free_port()), name = "LOCALHOST:" + port;
    const std::string second = (has_ipv6() ? "[::1]:" : "127.0.0.1:") + std::to_string(cli::free_port());
    cluster::member_options first;
    first.data_dir = folder + "/0";
    first.address = "127.0.0.1:" + port;
    first.new_group = true;
    first.advertise = name;
    {
        cluster::member one{first, silent};
        std::thread runs_one{[&] { one.run(); }};
        cluster::member two{{.data_dir = folder + "/1", .address = second, .new_group = false, .join = {name}}, silent};
        std::thread runs_two{[&] { two.run(); }};
        const auto e = backend::open_raft_group({name}, {"g", 20s});
        until([&] { return put(*e, "o1", "x"); });
        until([&] { return std::ranges::is_permutation(e->members(), std::vector{name, second}); });
        until([&] {
            const auto all = cluster::query_group({second}, 2000ms).members;
            return std::ranges::count_if(all, [](const auto& m) { return m.votes && m.error.empty(); }) == 2;
        });
        EXPECT_EQ(look(*engine_at("tutti://" + second), "o1").bytes, "x");
        one.stop();
        two.stop();
        runs_one.join();
        runs_two.join();
    }
    // The listening address may change. Only `readdress_member` changes the member's known address.
    first.address = free_place();
    {
        cluster::member again{first, silent};
        std::thread runs{[&] { again.run(); }};
        EXPECT_EQ(link_to(first.address)->address(), first.address);
        again.stop();
        runs.join();
    }
    first.advertise = free_place();
    EXPECT_THROW((cluster::member{first, silent}), cluster::member_error);
    std::filesystem::remove_all(folder);
}

std::vector<cluster::exported_object> objects_of(const cluster::engine_options& where) {
    std::vector<cluster::exported_object> all;
    static_cast<void>(cluster::export_objects(where, [&](const cluster::exported_object& o) { all.push_back(o); }));
    return all;
}

TEST_F(raft_group_test, saves_one_state_and_restores_its_versions) {
    group_server g{1}, fresh{1};
    g.start();
    fresh.start();
    cluster::engine_options where;
    where.address = g.address();
    where.prefix = "g";
    const std::string file = ::testing::TempDir() + "tutti-saved-" + std::to_string(::getpid());
    const auto e = engine_at(g.address());
    ASSERT_TRUE(put(*e, "oa", "0"));
    ASSERT_TRUE(put(*e, "ob", "0"));
    for (int i = 0; i < 5000; ++i) ASSERT_TRUE(put(*e, "ox" + std::to_string(i), std::string(100, 'x')));
    const backend::write erased{"ox0", false, {}};
    backend::request erasure;
    erasure.writes = {&erased, 1};
    e->commit(erasure);
    ASSERT_EQ(erasure.status, backend::engine_status::good);
    // Two objects are equal in every state.
    std::atomic<bool> over{false};
    std::thread writes{[&] {
        for (int i = 1; !over; ++i) {
            const backend::write both[] = {{"oa", true, std::to_string(i)}, {"ob", true, std::to_string(i)}};
            backend::request r;
            r.writes = both;
            e->commit(r);
        }
    }};
    cluster::objects_status saved;
    for (int i = 0; i < 5; ++i) {
        const auto now = objects_of(where);
        EXPECT_EQ(now.size(), 5001u);
        EXPECT_EQ(now[0].value, now[1].value);
        saved = cluster::save_objects(where, file);
        EXPECT_EQ(saved.objects, 5001u);
    }
    over = true;
    writes.join();
    // Objects are restored only into an empty group.
    EXPECT_THROW(cluster::restore_objects(where, file), cluster::connection_error);
    where.address = fresh.address();
    const std::string good = whole(file);
    for (const std::size_t at : {std::size_t{0}, std::size_t{13}, std::size_t{20}, good.size() / 2, good.size() - 1}) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1);
        std::ofstream{file, std::ios::binary} << bad;
        EXPECT_THROW(cluster::restore_objects(where, file), cluster::connection_error) << at;
    }
    std::ofstream{file, std::ios::binary} << good.substr(0, good.size() - 100);
    EXPECT_THROW(cluster::restore_objects(where, file), cluster::connection_error);
    EXPECT_TRUE(objects_of(where).empty());
    std::ofstream{file, std::ios::binary} << good;
    EXPECT_EQ(cluster::restore_objects(where, file).objects, 5001u);
    const auto back = engine_at(fresh.address());
    EXPECT_EQ(look(*back, "oa").bytes, look(*back, "ob").bytes);
    EXPECT_EQ(look(*back, "ox1").bytes, std::string(100, 'x'));
    EXPECT_FALSE(look(*back, "ox0").exists);
    // A new write has a newer version than the restored objects.
    ASSERT_TRUE(put(*back, "oa", "new"));
    EXPECT_GT(look(*back, "oa").at, saved.version);
    // The record of an erased object is newer than the object in the file. This record would hide the restored object,
    // so the restore is refused.
    const auto all = objects_of(where);
    for (std::size_t i = 0; i < all.size(); i += 64) {
        std::vector<std::string> ids;
        for (std::size_t j = i; j < std::min(i + 64, all.size()); ++j) ids.push_back("o" + all[j].id);
        std::vector<backend::write> gone;
        for (const std::string& id : ids) gone.push_back({id, false, {}});
        backend::request r;
        r.writes = gone;
        back->commit(r);
        ASSERT_EQ(r.status, backend::engine_status::good);
    }
    EXPECT_TRUE(objects_of(where).empty());
    EXPECT_THROW(cluster::restore_objects(where, file), cluster::connection_error);
    EXPECT_TRUE(objects_of(where).empty());
    std::filesystem::remove(file);
}

TEST_F(raft_group_test, treats_a_member_without_its_disk_as_new) {
    group_server g{3};
    g.start();
    stress_clients all{g.address(), 14};
    all.let_commit(40);
    const std::size_t lost = (g.leader() + 1) % 3;
    std::uint64_t id = 0;
    for (const cluster::member_status& m : cluster::query_group(g.places(), 2000ms).members) {
        if (m.address == g.places()[lost]) id = m.id;
    }
    g.at(lost).end();
    std::filesystem::remove_all(g.folder_of(lost));
    if (lost == 0) {
        // If the founder started without its disk, it would found a group of its own, and the other members would
        // refuse it.
        all.let_commit(40);
        EXPECT_EQ(all.judge(g.address()), "");
        return;
    }
    g.start_one(lost);
    // The member asks to join under another number. Its address is taken as long as the lost member is in the group.
    until([&] { return whole(g.log_of(lost)).find("not admitted yet") != std::string::npos; });
    all.let_commit(40);
    cluster::remove_member(g.places(), id, 20s);
    until([&] { return whole(g.log_of(lost)).find("has admitted this member") != std::string::npos; });
    all.let_commit(40);
    EXPECT_EQ(all.judge(g.address()), "");
}

TEST_F(raft_group_test, continues_while_one_disk_is_full) {
    group_server g{3};
    g.start();
    stress_clients all{g.address(), 15};
    all.let_commit(40);
    const std::size_t full = g.leader();
    // C-Raft creates files at full size, so with this limit it cannot create any.
    const rlimit none{4096, 4096};
    ASSERT_EQ(::prlimit(g.at(full).id(), RLIMIT_FSIZE, &none, nullptr), 0);
    until([&] { return g.at(full).has_ended(); });
    EXPECT_NE(whole(g.log_of(full)).find("make room, and start it again"), std::string::npos) << whole(g.log_of(full));
    all.let_commit(40);
    g.at(full).end();
    g.start();
    all.let_commit(40);
    EXPECT_EQ(all.judge(g.address()), "");
}

/// Flips a bit in the middle of the data in the open segment of a member's log. Returns the file.
std::string damage_log(const std::string& folder) {
    for (const auto& one : std::filesystem::directory_iterator{folder + "/log"}) {
        const std::string file = one.path().string();
        if (file.find("open-") == std::string::npos) continue;
        const std::string bytes = whole(file);
        const std::size_t end = bytes.find_last_not_of('\0');
        if (end == std::string::npos || end < 4096) continue;
        std::fstream to{file, std::ios::in | std::ios::out | std::ios::binary};
        to.seekp(static_cast<std::streamoff>(end / 2)).put(static_cast<char>(bytes[end / 2] ^ 0x10));
        return file;
    }
    throw std::runtime_error{"nothing was written to " + folder};
}

TEST_F(raft_group_test, refuses_to_start_with_a_damaged_log) {
    group_server g{3};
    g.start();
    stress_clients all{g.address(), 16};
    all.let_commit(80);
    const std::size_t hurt = (g.leader() + 1) % 3;
    g.at(hurt).end();
    const std::string file = damage_log(g.folder_of(hurt));
    const std::string before = whole(file);
    g.start_one(hurt);
    until([&] { return g.at(hurt).has_ended(); });
    EXPECT_NE(whole(g.log_of(hurt)).find(file + " is damaged at byte"), std::string::npos) << whole(g.log_of(hurt));
    EXPECT_EQ(whole(file), before);
    all.let_commit(40);
    EXPECT_FALSE(cluster::check_member_folder(g.folder_of(hurt)).damage.empty());
    const cluster::member_repair done = cluster::repair_member_folder(g.folder_of(hurt));
    EXPECT_TRUE(done.awaits_lost_entries);
    EXPECT_GT(done.lost_upto, done.now.last);
    g.at(hurt).end();
    g.start_one(hurt);
    until([&] { return whole(g.log_of(hurt)).find("has recovered the lost entries of its log") != std::string::npos; });
    all.let_commit(40);
    EXPECT_EQ(all.judge(g.address()), "");
}

// ---- sleepers

/// A block sleeps in retry, `go` takes the leader away, and another program changes an object that the block waits for.
void expect_woken(const std::function<void(group_server&, std::size_t)>& go) {
    group_server g{3};
    g.start();
    cluster::engine_options how;
    how.address = g.address();
    how.prefix = "sleep";
    how.request_timeout = 20s;
    cluster::node here{how}, there{how};
    const cluster::ref<tagged> one{here, {0, 1}}, one_there{there, {0, 1}};
    atomically([&](tx& t) { one.publish(t, {0}); });
    std::thread sleeper{[&] {
        atomically([&](tx& t) {
            if (one.read(t).tag == 0) retry(t);
        });
    }};
    until([&] { return here.status().retry_waiters != 0; });
    const std::size_t leads = g.leader();
    go(g, leads);
    atomically([&](tx& t) { one_there.write(t).tag = 1; });
    sleeper.join();
}

TEST_F(raft_group_test, wakes_sleepers_when_the_leader_is_stopped) {
    expect_woken([](group_server& g, std::size_t leads) { g.at(leads).send(SIGSTOP); });
}
// The former leader still sends signs of life, but no changes.
TEST_F(raft_group_test, wakes_sleepers_when_the_leader_steps_down) {
    expect_woken([](group_server& g, std::size_t leads) {
        for (const cluster::member_status& m : cluster::query_group(g.places(), 2000ms).members) {
            if (m.address == g.places()[leads]) return cluster::remove_member(g.places(), m.id, 20s);
        }
    });
}

// ---- large data

TEST_F(raft_group_test, compacts_a_log_of_large_commits) {
    group_server g{1};
    g.start();
    const auto e = engine_at(g.address());
    const std::string large(group::max_commit_bytes - 100, 'x');
    constexpr int commits = 60;  // 240 MiB
    // On a busy machine an answer may be lost, and then the commit is repeated.
    for (int i = 0; i < commits; ++i) until([&] { return put(*e, "o1", large); });
    // C-Raft's threads may still write or remove files.
    const auto bytes = [&] {
        std::uintmax_t all = 0;
        std::error_code gone;
        for (const auto& file : std::filesystem::directory_iterator{g.folder_of(0) + "/log"}) {
            if (const std::uintmax_t size = std::filesystem::file_size(file, gone); !gone) all += size;
        }
        return all >> 20;
    };
    until([&] { return bytes() < 200; });
    // A member that joins later gets all of the data.
    const std::size_t second = g.add();
    const auto there = [&] {
        const auto facts = cluster::query_group(g.places(), 2000ms).members;
        return facts.size() == 2 && facts[0].version == facts[1].version && facts[0].bytes == facts[1].bytes;
    };
    until(there);
    EXPECT_EQ(look(*e, "o1").bytes.size(), large.size());
    EXPECT_TRUE(g.at(second).running());
}

TEST_F(raft_group_test, drops_erased_records) {
    constexpr std::size_t most = cluster::replica::state_machine::default_max_erased, at_once = 500;
    group_server g{3};
    g.start();
    const auto e = engine_at(g.address());
    const auto facts = [&] { return cluster::query_group(g.places(), 2000ms).members; };
    const auto write_some = [&](std::size_t first, bool exists) {
        std::vector<backend::write> all;
        for (std::size_t i = first; i < first + at_once; ++i)
            all.push_back({"o" + std::to_string(i), exists, std::string(exists ? 100 : 0, 'x')});
        backend::request r;
        r.writes = all;
        e->commit(r);
        return r.status == backend::engine_status::good;
    };
    const std::size_t objects = support::rounds(4 * most);
    for (std::size_t i = 0; i < objects; i += at_once) {
        until([&] { return write_some(i, true); });
        until([&] { return write_some(i, false); });
    }
    EXPECT_LE(facts()[0].objects, most);
    // A member that joins has the same number of objects as the other members.
    const std::size_t fourth = g.add();
    until([&] {
        const auto all = facts();
        return all.size() == 4 && std::ranges::all_of(all, [&](const auto& m) { return m.version == all[0].version; });
    });
    for (const auto& m : facts()) EXPECT_EQ(m.objects, facts()[fourth].objects);
    // Programs can still use keys that never existed, and keys that existed before.
    cluster::engine_options how;
    how.address = g.address();
    how.prefix = "g";
    cluster::node here{how};
    for (const char* const name : {"new", "newer"}) {
        const cluster::ref<int> one{here, name};
        atomically([&](tx& t) { one.publish(t, 1); });
        EXPECT_EQ(atomically([&](tx& t) { return one.read(t); }), 1);
    }
    EXPECT_FALSE(look(*e, "o0").exists);
    EXPECT_GT(look(*e, "o0").at, 0u);
}

// ---- unknown clients

TEST_F(raft_group_test, rejects_unknown_clients) {
    group_server g{1}, other{1};
    g.start();
    other.start();
    const auto e = engine_at(g.address());
    ASSERT_TRUE(put(*e, "o1", "x"));
    std::string why;
    // This connection names the number of another group.
    EXPECT_EQ(member_connection::open(g.places()[0], link_to(other.places()[0])->group(),
                                      member_connection::clock::now() + 5s, why),
              nullptr);
    EXPECT_NE(why.find("another group"), std::string::npos) << why;
    // The test sends a request that is too large, then an empty frame, and then invalid bytes.
    std::string rest;
    const auto large = link_to(g.places()[0]);
    ASSERT_TRUE(ask(*large, std::string("\xff\xff\xff\x7f", 4)));
    EXPECT_EQ(hear(*large, rest, 5s), group::reply_status::refused);
    for (const std::string& bytes :
         {std::string(4, '\0'), std::string{"\1\0\0\0\x63", 5}, std::string{"\2\0\0\0\0\7", 6}}) {
        const auto one = link_to(g.places()[0]);
        ASSERT_TRUE(ask(*one, bytes));
        EXPECT_EQ(hear(*one, rest, 5s), group::reply_status::keep_alive);
    }
    // A commit beyond the limit is refused, and nothing of it is written.
    const std::string bytes(group::max_commit_bytes * 2, 'x');
    const backend::write w{"o1", true, bytes};
    backend::request r;
    r.writes = {&w, 1};
    e->commit(r);
    EXPECT_EQ(r.status, backend::engine_status::refused);
    EXPECT_EQ(look(*e, "o1").bytes, "x");
    EXPECT_THROW(static_cast<void>(engine_at("tutti://10.1.2.3:7001")), backend::engine_error);
    EXPECT_THROW(static_cast<void>(engine_at("tutti://")), backend::engine_error);
}

TEST_F(raft_group_test, locks_the_data_directory_of_a_member) {
    group_server g{1};
    g.start();
    const auto refused = [&](cluster::member_options how) {
        try {
            const cluster::member one{how, [](cluster::member::severity, const std::string&) {}};
        } catch (const cluster::member_error& e) {
            return std::string{e.what()};
        }
        return std::string{};
    };
    cluster::member_options how;
    how.data_dir = g.folder_of(0);
    EXPECT_NE(refused(how).find("another process"), std::string::npos) << refused(how);
    how.data_dir += "-beside";
    how.address = g.places()[0];
    how.new_group = true;
    EXPECT_NE(refused(how).find("cannot listen"), std::string::npos) << refused(how);
    how.new_group = false;
    how.data_dir = g.folder_of(0);
    g.at(0).end();
    how.address = "127.0.0.1:1";
    EXPECT_NE(refused(how).find("other members know"), std::string::npos) << refused(how);
    how.address = "10.0.0.1:7001";
    EXPECT_NE(refused(how).find("loopback"), std::string::npos) << refused(how);
    how.data_dir += "-new";
    how.address = "127.0.0.1:7001";
    EXPECT_NE(refused(how).find("is new: let its member begin a group"), std::string::npos) << refused(how);
    how.address = g.places()[0];
    how.join = {"127.0.0.1:1"};
    EXPECT_NE(refused(how).find("of the group to join answers"), std::string::npos) << refused(how);
}

}  // namespace
