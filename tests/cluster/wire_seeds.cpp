// wire_seeds <folder>: writes the initial inputs of wire_fuzzer, one file for each kind of message between nodes, and a
// list of them, `all`. The schema encodes them, so they always match its current version.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "cluster/directory/placement.hpp"
#include "tutti/cluster/calls.hpp"
#include "wire/bytes.hpp"
#include "wire/message.hpp"

namespace {

using namespace tutti::wire;

class seeds {
public:
    explicit seeds(std::string folder) : folder_{std::move(folder)} {}

    /// Writes frames for the protocol node.
    void serve(const std::string& name, const std::string& frames) { write(name, '\x12', frames); }
    /// Writes frames for the protocol node, sent by another process of a node that was lost.
    void rejoin(const std::string& name, const std::string& frames) { write(name, '\x92', frames); }
    /// Writes answers for a transaction, for a reserving one, for a snapshot reader, and for an irrevocable block.
    void answer(const std::string& name, const std::string& answers) {
        write(name, '\x01', answers);
        write(name + "-reserving", '\x03', answers);
        write(name + "-snapshot", '\x05', answers);
        write(name + "-irrevocable", '\x07', answers);
    }
    /// Writes answers for a transaction of a process that has replaced a former process of its node.
    void answer_successor(const std::string& name, const std::string& answers) { write(name, '\x81', answers); }
    void finish() const { std::ofstream{folder_ + "/all", std::ios::binary} << list_; }

private:
    void write(const std::string& name, char first, const std::string& bytes) {
        const std::string path = folder_ + "/" + name;
        std::ofstream{path, std::ios::binary} << first << bytes;
        if (!list_.empty()) list_ += ',';
        list_ += path;
    }

    std::string folder_, list_;
};

template <class T>
std::string frame(message_type of, const T& body, std::uint64_t call = 1) {
    const std::string bytes = encode(body);
    return encode(header{
               .length = static_cast<std::uint32_t>(bytes.size()), .type = of, .from = 1, .call = call, .clock = 9}) +
           bytes;
}

template <class T>
std::string reply(const T& body) {
    const std::string bytes = encode(body);
    std::string all(1, '\0');
    writer to{all};
    to(static_cast<std::uint16_t>(bytes.size()));
    to(std::uint64_t{9});
    return all + bytes;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    seeds all{argv[1]};
    // Objects at home on the node that receives the frames.
    std::vector<object_id> here;
    for (object_id id{0, 1}; here.size() < 3; ++id.low) {
        if (tutti::cluster::home_of(id, 3) == 0) here.push_back(id);
    }
    const transaction_name who{.node = 1, .slot = 2, .sequence = 3};
    const prepare both{.who = who,
                       .as = {.rank = 1, .age = 9},
                       .decides = decider::sender,
                       .reads = {{here[0], 0}},
                       .writes = {{here[1], 0, action::put, "bytes"}, {here[2], 0, action::leave, ""}}};
    prepare decisive = both;
    decisive.decides = decider::receiver;
    prepare held = both;
    held.decides = decider::receiver_held;
    const std::string prepared = frame(message_type::prepare, both),
                      ids = frame(message_type::fetch, fetch{.at = newest, .ids = {here[0], here[1]}});
    all.serve("fetch", ids + frame(message_type::fetch, fetch{.at = 5, .ids = {here[2]}}));
    const std::string to_keep =
        frame(message_type::fetch, fetch{.at = newest, .keeps = true, .ids = {here[0], here[1]}});
    all.serve("copies", to_keep + to_keep + to_keep + prepared +
                            frame(message_type::invalidate_reply, invalidation{here[1], 1, 7}) + prepared);
    all.serve("invalidate", frame(message_type::invalidate, invalidation{here[0], 9}) +
                                frame(message_type::invalidate_reply, invalidation{here[0], newest}));
    all.serve("validate", frame(message_type::validate, validate{{{here[0], 0}, {here[1], 1}}}));
    all.serve("watch", frame(message_type::watch, validate{{{here[0], 0}, {here[1], 0}}}) +
                           frame(message_type::prepare, decisive));
    all.serve("commit", prepared + ids + frame(message_type::decide, decide{who, true, 9}) + ids);
    all.serve("abort", prepared + frame(message_type::decide, decide{who, false, 0}) + prepared);
    all.serve("decide", frame(message_type::prepare, decisive) + ids);
    all.serve("held",
              frame(message_type::prepare, held) + ids + frame(message_type::decide, decide{who, true, 1}) + ids);
    all.serve("held-until-lost", frame(message_type::prepare, held) + frame(message_type::prepare, held) + ids);
    // Node 2 also takes part in a commit of node 1. Node 1 decides the commit, or is lost before that. The queries are
    // about a commit of node 2 that is in progress, and about an unknown one.
    prepare several = both;
    several.decides = decider::sender_of_several;
    several.others = {2};
    const transaction_name honest{.node = 2, .slot = 3, .sequence = 1};
    const std::string asks =
        frame(message_type::fate_query, fate_query{honest}) + frame(message_type::fate_query, fate_query{{2, 3, 2}});
    all.serve("several",
              frame(message_type::prepare, several) + ids + frame(message_type::decide, decide{who, true, 9}) + ids);
    all.serve("several-until-lost", asks + frame(message_type::prepare, several) + ids);
    prepare all_decide = several;
    all_decide.decides = decider::all_of_several;
    all.serve("all-decide",
              frame(message_type::prepare, all_decide) + ids + frame(message_type::withdraw, withdraw{who}) + ids);
    all.serve("withdraw",
              frame(message_type::withdraw, withdraw{who}) + frame(message_type::prepare, all_decide) + ids);
    all.serve("withdraw-of-another", frame(message_type::withdraw, withdraw{honest}));
    for (const transaction_fate f : {transaction_fate::unknown, transaction_fate::aborted, transaction_fate::committed,
                                     transaction_fate::prepared}) {
        const std::uint64_t version = f == transaction_fate::committed ? 9 : 0;
        all.serve("verdict-" + std::to_string(static_cast<int>(f)),
                  asks + frame(message_type::fate_report, fate_report{honest, f, version}) + ids);
    }
    all.serve("verdict-by-hand",
              frame(message_type::fate_report, fate_report{honest, transaction_fate::committed, 9, true}) + ids);
    all.serve("verdict-newest",
              frame(message_type::fate_report, fate_report{honest, transaction_fate::committed, newest}) + ids);
    all.serve("verdict-of-its-own",
              frame(message_type::prepare, several) +
                  frame(message_type::fate_report, fate_report{who, transaction_fate::aborted, 0}));
    const std::string loss = frame(message_type::lost_node, lost_node{.node = 2, .first = 5});
    all.serve("lost-node", loss + loss + frame(message_type::lost_node, lost_node{2, 0, true}) + to_keep + prepared);
    all.serve("lost-node-of-its-own", frame(message_type::lost_node, lost_node{.node = 1}) + ids);
    all.serve("place", frame(message_type::owner_update, owner_update{here[0], 1, 5}) + ids);
    const claim names{.who = who, .root_execution = who, .age = 9, .names = {{here[0], true}, {here[1], false}}};
    claim later = names;
    ++later.who.sequence;
    all.serve("names", frame(message_type::claim, names) + frame(message_type::claim, later) +
                           frame(message_type::release, release{who}) + frame(message_type::claim, names));
    const reserve wanted{
        .who = who, .as = {}, .irrevocable = true, .before_write = false, .values = true, .ids = {here[0], here[1]}};
    reserve alone = wanted;
    alone.before_write = true;
    reserve ranked = wanted, of_another_thread = wanted, ahead_of_clock = wanted;
    ranked.irrevocable = false;
    ranked.as = {.rank = 2, .age = 9};
    of_another_thread.who.slot = 4;
    ahead_of_clock.as.age = newest;
    all.serve("assert", frame(message_type::reserve, ranked) + frame(message_type::reserve, of_another_thread) +
                            prepared + ids + frame(message_type::release, release{who}) + prepared);
    all.serve("age-newest", frame(message_type::reserve, ahead_of_clock) + ids);
    all.serve("reserve", frame(message_type::reserve, wanted) + prepared + frame(message_type::reserve, alone) + ids +
                             frame(message_type::release, release{who}) + frame(message_type::reserve, wanted));
    // Calls between servers: two to run, of which the second does not find a server; answers with and without a waiting
    // caller; a call that is withdrawn.
    const tutti::cluster::forwarded_call wants{.procedure = "put",
                                               .arguments = {"1", "", "three"},
                                               .routing_object = here[0],
                                               .priority = 3,
                                               .due_in_us = 1000,
                                               .resp3 = true,
                                               .no_redirect = false};
    all.serve("run", frame(message_type::run, wants) + frame(message_type::run, wants, 7) + ids);
    for (const auto fate : {tutti::cluster::forwarded_outcome::ran, tutti::cluster::forwarded_outcome::declined,
                            tutti::cluster::forwarded_outcome::elsewhere}) {
        const tutti::cluster::forwarded_reply is{.result = fate, .owner = 2, .outcome = 1, .reply = "+OK\r\n"};
        all.serve("ran-" + std::to_string(static_cast<int>(fate)),
                  frame(message_type::run_reply, is) + frame(message_type::run_reply, is, 7));
    }
    all.serve("recall", frame(message_type::run, wants) + frame(message_type::cancel_run, cancel_run{true}) +
                            frame(message_type::cancel_run, cancel_run{false}, 7) + frame(message_type::run, wants));
    // Returns: the questions and reports of a process, about some objects, in one message or in several.
    const list_part some{.places = {{here[0], 1, 5}, {here[1], 0, 3}}}, more{.part = 1, .parts = 2, .places = {}};
    const std::string gathers = frame(message_type::rejoin_request, rejoin_request{1, {1, 2, 3}}) +
                                frame(message_type::rejoin_request, rejoin_request{2, {1, 2, 3}});
    const std::string opens = frame(message_type::rejoin_done, rejoin_done{.era = 1, .version = 9, .list = some}),
                      admits = frame(message_type::rejoin_ack, rejoin_ack{.era = 1, .serves = true});
    all.rejoin("return", gathers + opens + opens + admits + ids);
    all.rejoin("return-in-parts",
               gathers + frame(message_type::rejoin_done, rejoin_done{.era = 2, .version = 9, .list = more}) + ids);
    all.rejoin("return-too-soon", ids + opens);
    all.rejoin("ownership_report",
               frame(message_type::ownership_report, ownership_report{1, 1, 0, some}) + admits + opens);
    all.serve("return-of-one-that-runs", gathers + admits + opens + ids);
    // Versions that would exhaust the clock.
    all.serve("decide-newest", prepared + frame(message_type::decide, decide{who, true, newest}) + ids);
    all.serve("place-newest", frame(message_type::owner_update, owner_update{here[0], 1, newest}) + ids);
    const object_view late{
        .where = lookup_result::here, .owner = 1, .exists = true, .version = 4, .valid_at = newest, .bytes = "bytes"};
    const object_view ahead{.where = lookup_result::here,
                            .owner = 1,
                            .exists = true,
                            .version = newest,
                            .valid_at = newest,
                            .bytes = "bytes"};
    for (const auto& [name, view] : {std::pair{"late", late}, std::pair{"ahead", ahead}}) {
        const std::string one = reply(fetch_reply{{view}}), two = reply(fetch_reply{{view, view}});
        all.answer(std::string{name} + "-one", one + one + one + one);
        all.answer(std::string{name} + "-two", two + two + two + two);
    }
    // The answer claims that the asking node has locked the object, which is false unless that node had a predecessor.
    const object_view yours{.where = lookup_result::in_doubt, .owner = 0, .bytes = ""};
    const std::string doubt = reply(fetch_reply{{yours}}), doubts = reply(fetch_reply{{yours, yours}});
    all.answer("in-doubt-of-one-that-asks", doubt + doubt + doubt);
    all.answer("in-doubt-of-one-that-asks-two", doubts + doubts + doubts);
    all.answer_successor("in-doubt-of-a-former-one", doubt + doubts + doubt);
    header heartbeat{.type = message_type::heartbeat, .from = 1, .clock = 9};
    all.serve("heartbeat", encode(heartbeat) + ids);
    for (std::uint8_t w = 0; w <= static_cast<std::uint8_t>(lookup_result::too_large); ++w) {
        object_view view{.where = static_cast<lookup_result>(w),
                         .owner = 2,
                         .exists = true,
                         .version = 4,
                         .valid_at = 9,
                         .bytes = "bytes"};
        const std::string one = reply(fetch_reply{{view}}), two = reply(fetch_reply{{view, view}});
        const std::string name = "answer-" + std::to_string(w);
        all.answer(name + "-one",
                   one + one + one + one + reply(validate_reply{1}) + one + reply(prepare_reply{true, 9}));
        all.answer(name + "-two", two + two + two + two + reply(prepare_reply{true, 9}));
        view.shared = true;
        const std::string kept = reply(fetch_reply{{view}});
        all.answer(name + "-kept", kept + kept + reply(validate_reply{1}) + kept + reply(prepare_reply{true, 9}));
        for (const lock_refusal why : {lock_refusal::outranked, lock_refusal::locked, lock_refusal::stale}) {
            const std::string no = reply(prepare_reply{.yes = false, .version = 0, .why = why});
            all.answer(name + "-no-" + std::to_string(static_cast<int>(why)),
                       two + two + two + two + no + no + two + no);
        }
    }
    all.finish();
    return 0;
}
