// member_seeds <folder>: writes the initial inputs of member_fuzzer, one file for each kind of message to a member, and
// a list of them, `all`. The schema encodes them, so they always match its current version.
#include <fstream>
#include <string>

#include "cluster/backend/group_protocol.hpp"
#include "cluster/replica/state_machine.hpp"

namespace {

using namespace tutti::cluster;
using namespace tutti::cluster::backend::group;
using replica::log_entry_builder;

class seeds {
public:
    explicit seeds(std::string folder) : folder_{std::move(folder)} {}
    /// Writes an input; `attacked` is the target in member_fuzzer's first byte. Pieces have nine bytes.
    void write(const std::string& name, unsigned attacked, const std::string& bytes) {
        const std::string path = folder_ + "/" + name;
        std::ofstream{path, std::ios::binary} << static_cast<char>(8 * 8 + attacked) << bytes;
        if (!list_.empty()) list_ += ',';
        list_ += path;
    }
    void finish() const { std::ofstream{folder_ + "/all", std::ios::binary} << list_; }

private:
    std::string folder_, list_;
};

/// Removes the name and the format at the front, and the checksum.
std::string content(const std::string& checksummed, std::size_t front) {
    return checksummed.substr(front, checksummed.size() - front - 8);
}

std::string in_log(log_entry_builder& e) {
    const std::string its = content(e.finish(), 3);
    std::string all;
    tutti::wire::writer{all}(static_cast<std::uint16_t>(its.size()));
    return all + its;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    constexpr unsigned log = 0, snapshot = 1, call = 2, port = 3, requests = 4;
    seeds all{argv[1]};

    const std::string status = frame(request_kind::status, empty_body{});
    const transaction_request put{{{"oa", 0}}, {{"oa", true, "1"}, {"ob", true, "2"}}},
        erase{{{"oa", 2}}, {{"oa", false, ""}}};
    const std::string commit = frame(request_kind::commit, commit_request{{put, erase}}),
                      get = frame(request_kind::get, get_request{0, {{"oa", 2}}, {"oa", "ob"}}),
                      prepare = frame(request_kind::prepare, prepare_request{{"id", 9}, put}),
                      finish = frame(request_kind::finish, finish_request{"id", true}),
                      let_go = frame(request_kind::finish, finish_request{"id", false}),
                      follow = frame(request_kind::follow, follow_request{"o", "p", 1, true});
    all.write("status", requests, status + status);
    all.write("commit", requests, commit + get + frame(request_kind::get, get_request{2, {}, {"oa"}}) + status);
    all.write("forget", requests, commit + frame(request_kind::forget, forget_request{{"oa"}}) + get);
    all.write("prepare", requests, prepare + get + commit + finish + get + status);
    all.write("let-go", requests, prepare + let_go + commit);
    const list_request listed{"o", 4, {0, 1, 2, 3}, 0, 0, 0, 0}, changed{"o", 4, {0, 1, 2, 3}, 1, 0, 0, 0};
    all.write("list", requests,
              commit + prepare + frame(request_kind::list, listed) + frame(request_kind::list, changed));
    all.write("import", requests,
              frame(request_kind::import_records,
                    import_request{{{"oa", 0}}, {{"oa", {true, 9, "1"}}, {"ob", {false, 0, ""}}}, 5}) +
                  get + commit);
    all.write("follow", requests, commit + follow);
    all.write("follow-now", requests, frame(request_kind::follow, follow_request{"o", "p", from_now, false}));
    all.write("follow-never", requests,
              frame(request_kind::follow, follow_request{"o", "p", 1u << 20, false}) + status);
    all.write("add", requests, frame(request_kind::add, change_request{3, "127.0.0.1:1"}) + status);
    all.write("remove", requests, frame(request_kind::remove, change_request{3, "127.0.0.1:1"}) + status);
    all.write("large", requests, std::string("\xff\xff\xff\x7f", 4));
    all.write("empty", requests, std::string(4, '\0'));

    hello program, member;
    member.kind = peer_kind::member;
    member.group = 7;
    member.own_id = 3;
    member.expected_id = 1;
    member.text_length = 11;
    hello late = program, none = program;
    late.version = 1;
    none.magic = 0;
    const auto encode = [](const hello& h) { return tutti::wire::encode(h); };
    all.write("hello", port, encode(program) + status);
    all.write("hello-member", port, encode(member) + "127.0.0.1:1" + "more");
    all.write("hello-late", port, encode(late));
    all.write("hello-none", port, encode(none) + status);
    all.write("hello-tls", port, std::string("\x16\x03\x01\x02", 4) + std::string(80, '\x01'));

    welcome yes, no;
    yes.group = 7;
    yes.own_id = 3;
    no.refused = 1;
    no.text = "is not wanted";
    all.write("welcome", call, frame(yes) + "more");
    all.write("refused", call, frame(no));
    all.write("alert", call, std::string("\x15\x03\x03\x00\x02\x02\x28", 7));

    const backend::check seen{"oa", 0};
    const backend::write writes[] = {{"oa", true, "1"}, {"ob", false, ""}};
    const tutti::cluster::backend::key forgotten[] = {"ob"};
    log_entry_builder first, second, third;
    first.add_commit({&seen, 1}, writes);
    first.add_prepare({"id", 9}, {}, {&writes[1], 1});
    second.add_forget(forgotten);
    second.add_finish("id", true);
    third.add_prepare({"id", 9}, {&seen, 1}, writes);
    third.add_finish("id", false);
    const backend::change imported[] = {{"oc", {true, 99, "1"}}, {"oa", {}}};
    third.add_import({&seen, 1}, imported, 0);
    replica::state_machine some;
    log_entry_builder made;
    made.add_commit({}, writes);
    made.add_prepare({"id", 9}, {&seen, 1}, {&writes[1], 1});
    all.write("log", log, in_log(first) + in_log(second));
    all.write("log-of-one", log, in_log(third));
    some.apply(made.finish());
    all.write("snapshot", snapshot, content(some.save(), 12));
    all.finish();
    return 0;
}
