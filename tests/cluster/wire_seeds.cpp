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

    /// Writes frames for the site.
    void serve(const std::string& name, const std::string& frames) { write(name, '\x12', frames); }
    /// Writes frames for the site, sent by another process of a node that was lost.
    void come_back(const std::string& name, const std::string& frames) { write(name, '\x92', frames); }
    /// Writes answers for a transaction, for a shielded one, for a snapshot reader, and for an irrevocable block.
    void answer(const std::string& name, const std::string& answers) {
        write(name, '\x01', answers);
        write(name + "-shielded", '\x03', answers);
        write(name + "-snapshot", '\x05', answers);
        write(name + "-bound", '\x07', answers);
    }
    /// Writes answers for a transaction of a process that follows another one.
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
std::string frame(kind of, const T& body, std::uint64_t call = 1) {
    const std::string bytes = encode(body);
    return encode(header{
               .length = static_cast<std::uint32_t>(bytes.size()), .kind = of, .from = 1, .call = call, .clock = 9}) +
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
    const std::string prepared = frame(kind::prepare, both),
                      ids = frame(kind::fetch, fetch{.at = newest, .ids = {here[0], here[1]}});
    all.serve("fetch", ids + frame(kind::fetch, fetch{.at = 5, .ids = {here[2]}}));
    const std::string to_keep = frame(kind::fetch, fetch{.at = newest, .keeps = true, .ids = {here[0], here[1]}});
    all.serve("copies", to_keep + to_keep + to_keep + prepared + frame(kind::invalidated, invalidation{here[1], 1, 7}) +
                            prepared);
    all.serve("invalidate", frame(kind::invalidate, invalidation{here[0], 9}) +
                                frame(kind::invalidated, invalidation{here[0], newest}));
    all.serve("validate", frame(kind::validate, validate{{{here[0], 0}, {here[1], 1}}}));
    all.serve("watch", frame(kind::watch, validate{{{here[0], 0}, {here[1], 0}}}) + frame(kind::prepare, decisive));
    all.serve("commit", prepared + ids + frame(kind::decide, decide{who, true, 9}) + ids);
    all.serve("abort", prepared + frame(kind::decide, decide{who, false, 0}) + prepared);
    all.serve("decide", frame(kind::prepare, decisive) + ids);
    all.serve("held", frame(kind::prepare, held) + ids + frame(kind::decide, decide{who, true, 1}) + ids);
    all.serve("held-until-lost", frame(kind::prepare, held) + frame(kind::prepare, held) + ids);
    // A commit that another node has prepared as well, before and after this node is lost, and a commit in progress.
    prepare several = both;
    several.decides = decider::sender_of_several;
    several.others = {2};
    const transaction_name honest{.node = 2, .slot = 3, .sequence = 1};
    const std::string asks = frame(kind::inquire, inquire{honest}) + frame(kind::inquire, inquire{{2, 3, 2}});
    all.serve("several", frame(kind::prepare, several) + ids + frame(kind::decide, decide{who, true, 9}) + ids);
    all.serve("several-until-lost", asks + frame(kind::prepare, several) + ids);
    prepare all_decide = several;
    all_decide.decides = decider::all_of_several;
    all.serve("all-decide", frame(kind::prepare, all_decide) + ids + frame(kind::withdraw, withdraw{who}) + ids);
    all.serve("withdraw", frame(kind::withdraw, withdraw{who}) + frame(kind::prepare, all_decide) + ids);
    all.serve("withdraw-of-another", frame(kind::withdraw, withdraw{honest}));
    for (const fate f : {fate::unknown, fate::aborted, fate::committed, fate::prepared}) {
        const std::uint64_t version = f == fate::committed ? 9 : 0;
        all.serve("verdict-" + std::to_string(static_cast<int>(f)),
                  asks + frame(kind::verdict, verdict{honest, f, version}) + ids);
    }
    all.serve("verdict-by-hand", frame(kind::verdict, verdict{honest, fate::committed, 9, true}) + ids);
    all.serve("verdict-newest", frame(kind::verdict, verdict{honest, fate::committed, newest}) + ids);
    all.serve("verdict-of-its-own",
              frame(kind::prepare, several) + frame(kind::verdict, verdict{who, fate::aborted, 0}));
    const std::string loss = frame(kind::lost_node, lost_node{.node = 2, .first = 5});
    all.serve("lost-node", loss + loss + frame(kind::lost_node, lost_node{2, 0, true}) + to_keep + prepared);
    all.serve("lost-node-of-its-own", frame(kind::lost_node, lost_node{.node = 1}) + ids);
    all.serve("place", frame(kind::place, place{here[0], 1, 5}) + ids);
    const claim names{.who = who, .family = who, .age = 9, .names = {{here[0], true}, {here[1], false}}};
    claim later = names;
    ++later.who.sequence;
    all.serve("names", frame(kind::claim, names) + frame(kind::claim, later) + frame(kind::release, release{who}) +
                           frame(kind::claim, names));
    const reserve wanted{.who = who, .as = {}, .firm = true, .alone = false, .values = true, .ids = {here[0], here[1]}};
    reserve alone = wanted;
    alone.alone = true;
    reserve ranked = wanted, of_another_thread = wanted, ahead_of_clock = wanted;
    ranked.firm = false;
    ranked.as = {.rank = 2, .age = 9};
    of_another_thread.who.slot = 4;
    ahead_of_clock.as.age = newest;
    all.serve("assert", frame(kind::reserve, ranked) + frame(kind::reserve, of_another_thread) + prepared + ids +
                            frame(kind::release, release{who}) + prepared);
    all.serve("age-newest", frame(kind::reserve, ahead_of_clock) + ids);
    all.serve("reserve", frame(kind::reserve, wanted) + prepared + frame(kind::reserve, alone) + ids +
                             frame(kind::release, release{who}) + frame(kind::reserve, wanted));
    // Calls between servers: two to run, of which the second does not find a server; answers with and without a waiting
    // caller; a call that is withdrawn.
    const tutti::cluster::forwarded_call wants{.procedure = "put",
                                               .arguments = {"1", "", "three"},
                                               .about = here[0],
                                               .priority = 3,
                                               .due_in_us = 1000,
                                               .resp3 = true,
                                               .for_good = false};
    all.serve("run", frame(kind::run, wants) + frame(kind::run, wants, 7) + ids);
    for (const auto fate : {tutti::cluster::forwarded_fate::ran, tutti::cluster::forwarded_fate::declined,
                            tutti::cluster::forwarded_fate::elsewhere}) {
        const tutti::cluster::forwarded_answer is{.fate = fate, .owner = 2, .ending = 1, .answer = "+OK\r\n"};
        all.serve("ran-" + std::to_string(static_cast<int>(fate)), frame(kind::ran, is) + frame(kind::ran, is, 7));
    }
    all.serve("recall", frame(kind::run, wants) + frame(kind::recall, recall{true}) +
                            frame(kind::recall, recall{false}, 7) + frame(kind::run, wants));
    // Returns: the questions and reports of a process, about some objects, in one message or in several.
    const part_of_list some{.places = {{here[0], 1, 5}, {here[1], 0, 3}}}, more{.part = 1, .parts = 2, .places = {}};
    const std::string gathers = frame(kind::gather, gather{1, {1, 2, 3}}) + frame(kind::gather, gather{2, {1, 2, 3}});
    const std::string opens = frame(kind::opened, opened{.era = 1, .version = 9, .list = some}),
                      admits = frame(kind::admitted, admitted{.era = 1, .serves = true});
    all.come_back("return", gathers + opens + opens + admits + ids);
    all.come_back("return-in-parts", gathers + frame(kind::opened, opened{.era = 2, .version = 9, .list = more}) + ids);
    all.come_back("return-too-soon", ids + opens);
    all.come_back("survey", frame(kind::survey, survey{1, 1, 0, some}) + admits + opens);
    all.serve("return-of-one-that-runs", gathers + admits + opens + ids);
    // Versions that would exhaust the clock.
    all.serve("decide-newest", prepared + frame(kind::decide, decide{who, true, newest}) + ids);
    all.serve("place-newest", frame(kind::place, place{here[0], 1, newest}) + ids);
    const object_view late{
        .where = whereabouts::here, .owner = 1, .exists = true, .version = 4, .valid_at = newest, .bytes = "bytes"};
    const object_view ahead{.where = whereabouts::here,
                            .owner = 1,
                            .exists = true,
                            .version = newest,
                            .valid_at = newest,
                            .bytes = "bytes"};
    for (const auto& [name, view] : {std::pair{"late", late}, std::pair{"ahead", ahead}}) {
        const std::string one = reply(fetched{{view}}), two = reply(fetched{{view, view}});
        all.answer(std::string{name} + "-one", one + one + one + one);
        all.answer(std::string{name} + "-two", two + two + two + two);
    }
    // The answer claims that the asking node has locked the object, which is false unless that node had a predecessor.
    const object_view yours{.where = whereabouts::in_doubt, .owner = 0, .bytes = ""};
    const std::string doubt = reply(fetched{{yours}}), doubts = reply(fetched{{yours, yours}});
    all.answer("in-doubt-of-one-that-asks", doubt + doubt + doubt);
    all.answer("in-doubt-of-one-that-asks-two", doubts + doubts + doubts);
    all.answer_successor("in-doubt-of-a-former-one", doubt + doubts + doubt);
    header beat{.kind = kind::beat, .from = 1, .clock = 9};
    all.serve("beat", encode(beat) + ids);
    for (std::uint8_t w = 0; w <= static_cast<std::uint8_t>(whereabouts::too_large); ++w) {
        object_view view{.where = static_cast<whereabouts>(w),
                         .owner = 2,
                         .exists = true,
                         .version = 4,
                         .valid_at = 9,
                         .bytes = "bytes"};
        const std::string one = reply(fetched{{view}}), two = reply(fetched{{view, view}});
        const std::string name = "answer-" + std::to_string(w);
        all.answer(name + "-one", one + one + one + one + reply(checked{1}) + one + reply(answered{true, 9}));
        all.answer(name + "-two", two + two + two + two + reply(answered{true, 9}));
        view.shared = true;
        const std::string kept = reply(fetched{{view}});
        all.answer(name + "-kept", kept + kept + reply(checked{1}) + kept + reply(answered{true, 9}));
        for (const obstacle why : {obstacle::outranked, obstacle::locked, obstacle::stale}) {
            const std::string no = reply(answered{.yes = false, .version = 0, .why = why});
            all.answer(name + "-no-" + std::to_string(static_cast<int>(why)),
                       two + two + two + two + no + no + two + no);
        }
    }
    all.finish();
    return 0;
}
