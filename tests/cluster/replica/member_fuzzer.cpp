// A libFuzzer target. It covers bytes that arrive at a member's port or answer its call, in pieces of any size. Such
// bytes may only end their connection; every valid request is answered once, and an invalid one never. It also covers
// entries of the log and snapshots, whose author may be another member. Each is read completely or not at all, and two
// members derive the same state. The first byte chooses the target and the size of the pieces.
//
// After a member's hello, C-Raft reads the connection, which is not attacked here.
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "cluster/replica/checksummed.hpp"
#include "cluster/replica/lone_member.hpp"

namespace tutti::cluster::replica::testing {
namespace {

using namespace backend::group;
namespace protocol = backend::group;
using backend::engine_error;

/// Time limits, in turns of the member, each a millisecond of its time.
constexpr std::size_t max_turns = 200;  // for an answer that may never come
// for an answer that must come; it is late only if the kernel is busy with other processes
constexpr std::size_t max_idle_turns = 2200;
constexpr std::size_t turns_at_once = 190;  // from this turn on, each turn also takes some real time

std::uint16_t a_port() {
    std::uint16_t port = 0;
    static_cast<void>(socket_end::listen(port));
    return port;
}

std::string hello_of(peer_kind who) {
    hello result;
    result.kind = who;
    result.group = group_number;
    return wire::encode(result);
}

/// Runs another turn, and gives a slow kernel time to deliver.
void turn(lone_member& one, std::size_t turns) {
    one.turn();
    if (turns >= turns_at_once) std::this_thread::sleep_for(std::chrono::milliseconds{5});
}

/// The bytes from a member, split into its welcome and the outcomes of its answers.
struct heard {
    bool ended = false;  // true when the connection has ended
    bool welcomed = false;
    std::vector<protocol::reply_status> answers;  // without notifications and signs of life

    bool operator==(const heard&) const = default;
    void take(std::string_view all) {
        bool first = true;
        while (!all.empty()) {
            std::uint32_t length = 0;
            demand(all.size() >= sizeof length);
            all.copy(reinterpret_cast<char*>(&length), sizeof length);
            demand(all.size() >= sizeof length + length);
            std::string_view message = all.substr(sizeof length, length);
            all.remove_prefix(sizeof length + length);
            protocol::reply_status result{};
            if (std::exchange(first, false)) {
                welcome w;
                demand(wire::decode(message, w) && (w.refused != 0 || (w.group == group_number && w.own_id == own_id)));
                welcomed = w.refused == 0;
            } else {
                demand(welcomed && take_head(message, result));
                if (result != protocol::reply_status::stream) answers.push_back(result);
            }
        }
    }
};

/// Sends the bytes in pieces. Reads until the member closes the connection, or for `most` turns.
heard say(lone_member& to, std::uint16_t port, std::string_view bytes, std::size_t piece, std::size_t most) {
    socket_end mine = socket_end::connect(port);
    std::string all;
    heard what;
    for (; !bytes.empty() && !what.ended; bytes.remove_prefix(std::min(piece, bytes.size()))) {
        mine.send(bytes.substr(0, piece));
        to.turn();
        what.ended = !mine.receive(all);
    }
    mine.send_no_more();
    for (std::size_t turns = 0; !what.ended && turns < most; ++turns) {
        turn(to, turns);
        what.ended = !mine.receive(all);
    }
    what.take(all);
    return what;
}

/// Lets another program work as if nothing had happened: it writes a record that hostile programs cannot name, and
/// reads it back.
void let_honest_program_work(lone_member& at, std::uint16_t port, const std::string& bytes) {
    static constexpr const char* secret = "o0xc2b2ae3d27d4eb4f";
    const protocol::transaction_request put{{}, {{secret, true, bytes}}};
    const heard result = say(at, port,
                             hello_of(peer_kind::program) + frame(request_kind::commit, commit_request{{put}}) +
                                 frame(request_kind::get, get_request{0, {}, {secret}}),
                             4096, max_idle_turns);
    demand(result.ended && result.welcomed &&
           result.answers == std::vector{protocol::reply_status::done, protocol::reply_status::done});
    backend::read_snapshot now;
    std::vector<backend::record> found;
    const key k{secret};
    demand(at.state().get(now, backend::freshness::now, {}, {&k, 1}, found) == backend::engine_status::good);
    demand(found.at(0).exists && found.at(0).bytes == bytes);
}

/// The number of valid requests before the first invalid one; at least `surely` of them are answered.
struct expected {
    std::size_t sound = 0, surely = 0;
};

bool is_sound(request_kind what, std::string_view body) {
    const auto is = [body](auto request) { return wire::decode(body, request); };
    switch (what) {
        case request_kind::get: return is(get_request{});
        case request_kind::commit: return is(commit_request{});
        case request_kind::forget: return is(forget_request{});
        case request_kind::follow: return is(follow_request{});
        case request_kind::status: return is(empty_body{});
        case request_kind::add:
        case request_kind::remove: return is(change_request{});
        case request_kind::prepare: return is(prepare_request{});
        case request_kind::finish: return is(finish_request{});
        case request_kind::list: return is(list_request{});
        case request_kind::import_records: return is(import_request{});
    }
    return false;
}

expected expect(std::string_view bytes) {
    expected all;
    bool sure = true;
    while (bytes.size() >= 4) {
        std::uint32_t length = 0;
        bytes.copy(reinterpret_cast<char*>(&length), sizeof length);
        const bool whole = bytes.size() >= sizeof length + length;
        if (length > max_frame) {  // refused; the connection ends
            ++all.sound;
            all.surely += sure ? 1 : 0;
            break;
        }
        if (!whole) break;
        std::string_view message = bytes.substr(sizeof length, length);
        bytes.remove_prefix(sizeof length + length);
        request_kind what{};
        if (!take_head(message, what) || !is_sound(what, message)) break;
        ++all.sound;
        // A member that joins must get the log first. A request after `follow` is not answered.
        sure = sure && what != request_kind::add && what != request_kind::remove;
        all.surely += sure ? 1 : 0;
        sure = sure && what != request_kind::follow;
    }
    return all;
}

heard attack_port(std::string_view bytes, std::size_t piece, bool as_program) {
    static const std::uint16_t port = a_port();
    lone_member one{port};
    let_honest_program_work(one, port, "before");
    const expected all = as_program ? expect(bytes) : expected{};
    const bool has_to_end = all.surely == all.sound;
    const heard result = say(one, port, (as_program ? hello_of(peer_kind::program) : "") + std::string{bytes}, piece,
                             has_to_end ? max_idle_turns : max_turns);
    if (as_program) {
        demand(result.welcomed && result.answers.size() >= all.surely && result.answers.size() <= all.sound);
        demand(result.ended || !has_to_end);
    } else {
        demand(result.ended);
    }
    let_honest_program_work(one, port, "after");
    return result;
}

/// The member calls another one, which answers with these bytes.
void attack_call(std::string_view bytes, std::size_t piece) {
    static const std::uint16_t port = a_port();
    unsigned results = 0;
    {
        lone_member one{port};
        // The member listens already, so the kernel cannot choose the member's port for the other member.
        std::uint16_t others = 0;
        const socket_end listens = socket_end::listen(others);
        one.call(3, others, [&results](int) { ++results; });
        std::optional<socket_end> mine;
        for (std::size_t turns = 0; turns < max_idle_turns && !mine; ++turns) {
            turn(one, turns);
            if (std::optional<socket_end> came = listens.accept()) mine.emplace(std::move(*came));
        }
        demand(mine.has_value());
        for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
            mine->send(bytes.substr(0, piece));
            one.turn();
        }
        mine->send_no_more();
        std::string result;
        bool goes_on = true;
        for (std::size_t turns = 0; turns < max_idle_turns && goes_on; ++turns) {
            turn(one, turns);
            goes_on = mine->receive(result);
        }
        demand(results == 1 && !goes_on);
        demand(result.starts_with(std::string_view{hello_of(peer_kind::member)}.substr(0, 12)));
        let_honest_program_work(one, port, "after");
    }
    demand(results == 1);
}

std::string with_checksum(std::string_view name, std::string_view content) {
    std::string all = begin_checksummed(name, 2);
    all += content;
    finish_checksummed(all);
    return all;
}

/// Splits the bytes into entries of the log, each with a two-byte length in front.
void attack_log(std::string_view bytes) {
    state_machine one, other;
    while (bytes.size() >= 2) {
        std::uint16_t length = 0;
        bytes.copy(reinterpret_cast<char*>(&length), sizeof length);
        const std::string its = with_checksum("GE", bytes.substr(2, length));
        bytes.remove_prefix(std::min(bytes.size(), std::size_t{2} + length));
        const std::string before = one.save();
        const applied_entry result = one.apply(its);
        demand(result.is_readable == other.apply(its).is_readable && (result.is_readable || one.save() == before));
        demand(result.is_readable || !result.why.empty());
    }
    const std::string all = one.save();
    demand(all == other.save());
    state_machine loaded;
    loaded.load(all);
    demand(loaded.save() == all);
}

/// Loads the bytes as a snapshot into a member with other data.
void attack_snapshot(std::string_view bytes) {
    state_machine one;
    log_entry_builder e;
    const backend::write w{"o1", true, "mine"};
    e.add_commit({}, {&w, 1});
    one.apply(e.finish());
    const std::string before = one.save();
    try {
        one.load(with_checksum("tutti-group", bytes));
    } catch (const engine_error&) {
        demand(one.save() == before);
        return;
    }
    const std::string now = one.save();
    state_machine other;
    other.load(now);
    demand(other.save() == now);
}

}  // namespace
}  // namespace tutti::cluster::replica::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tutti::cluster::replica::testing;
    if (size == 0) return 0;
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    const std::size_t piece = data[0] / 8 + 1u;
    switch (data[0] % 8) {
        case 0: attack_log(bytes); break;
        case 1: attack_snapshot(bytes); break;
        case 2: attack_call(bytes, piece); break;
        case 3: demand(attack_port(bytes, bytes.size() + 1, false) == attack_port(bytes, piece, false)); break;
        default: demand(attack_port(bytes, bytes.size() + 1, true) == attack_port(bytes, piece, true)); break;
    }
    return 0;
}
