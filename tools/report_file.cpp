#include "report_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tutti::tools {
namespace {

using nlohmann::json;

struct not_a_report : std::runtime_error {
    using std::runtime_error::runtime_error;
};

const json& field(const json& of, const char* name) {
    if (!of.is_object() || !of.contains(name)) throw not_a_report{std::string{"it lacks '"} + name + "'"};
    return of.at(name);
}
[[noreturn]] void refuse(const char* name, const char* wanted) {
    throw not_a_report{std::string{"'"} + name + "' is not " + wanted};
}
std::uint64_t number(const json& of, const char* name) {
    const json& f = field(of, name);
    if (!f.is_number_unsigned()) refuse(name, "a whole number");
    return f.get<std::uint64_t>();
}
std::string text(const json& of, const char* name) {
    const json& f = field(of, name);
    if (!f.is_string()) refuse(name, "a text");
    return f.get<std::string>();
}
const json& list(const json& of, const char* name) {
    const json& f = field(of, name);
    if (!f.is_array()) refuse(name, "a list");
    return f;
}
bool truth(const json& of, const char* name) {
    const json& f = field(of, name);
    if (!f.is_boolean()) refuse(name, "true or false");
    return f.get<bool>();
}
/// Reads an index into a list of `size` elements.
std::size_t index(const json& of, const char* name, std::size_t size) {
    const std::uint64_t i = number(of, name);
    if (i >= size) refuse(name, "the index of an element of the file");
    return static_cast<std::size_t>(i);
}

class reader {
public:
    explicit reader(const json& from) : from_{from} {
        if (text(from, "format") != "tutti-report") refuse("format", "'tutti-report'");
        if (number(from, "version") != 4) refuse("version", "4, the version that this command reads");
    }

    program_report read() {
        program_report r{.program = text(from_, "program"),
                         .process = number(from_, "process"),
                         .algorithm = text(from_, "algorithm"),
                         .policy = text(from_, "policy"),
                         .nanoseconds = number(from_, "nanoseconds"),
                         .sites = {},
                         .blocks = {},
                         .transactions = {}};
        for (const json& s : list(from_, "sites")) r.sites.push_back(site(s));
        if (from_.contains("blocks")) {
            for (const json& b : list(from_, "blocks")) r.blocks.push_back(block(b));
        }
        if (from_.contains("transactions")) {
            for (const json& t : list(from_, "transactions")) r.transactions.push_back(transaction(t));
        }
        return r;
    }

private:
    std::optional<code_address> where(const json& of, const char* name) const {
        const json& f = field(of, name);
        if (f.is_null()) return std::nullopt;
        const json& objects = list(from_, "objects");
        const json& object = objects.at(index(f, "object", objects.size()));
        if (!object.is_string()) refuse("objects", "a list of texts");
        return code_address{object.get<std::string>(), number(f, "offset"), text(f, "symbol")};
    }

    std::optional<std::size_t> one_of(const char* kind, const json& of, const char* name) const {
        if (field(of, name).is_null()) return std::nullopt;
        return index(of, name, list(from_, kind).size());
    }

    site_report site(const json& from) const {
        site_report s{.name = text(from, "name"),
                      .file = text(from, "file"),
                      .line = number(from, "line"),
                      .function = text(from, "function"),
                      .commits = number(from, "commits"),
                      .cancelled = number(from, "cancelled"),
                      .partial_rollbacks = number(from, "partial_rollbacks"),
                      .lost_nanoseconds = number(from, "lost_nanoseconds"),
                      .irrevocable = number(from, "irrevocable"),
                      .irrevocable_reason = text(from, "irrevocable_reason"),
                      .p50_nanoseconds = number(from, "p50_nanoseconds"),
                      .p99_nanoseconds = number(from, "p99_nanoseconds"),
                      .deadlines_met = number(from, "deadlines_met"),
                      .deadlines_missed = number(from, "deadlines_missed"),
                      .deadlines_refused = number(from, "deadlines_refused"),
                      .hardware_commits = number(from, "hardware_commits"),
                      .hardware_aborts = {},
                      .aborts = {}};
        for (const json& h : list(from, "hardware_aborts"))
            s.hardware_aborts.push_back({text(h, "reason"), number(h, "times")});
        for (const json& a : list(from, "aborts")) {
            s.aborts.push_back({.cause = text(a, "cause"),
                                .partial = false,
                                .ends = truth(a, "ends"),
                                .with = one_of("sites", a, "with"),
                                .times = number(a, "times")});
        }
        return s;
    }

    transaction_report transaction(const json& from) const {
        return {
            .context = number(from, "context"),
            .thread = number(from, "thread"),
            .state = text(from, "state"),
            .attempt = number(from, "attempt"),
            .site = one_of("sites", from, "site"),
            .asked_to_abort = truth(from, "asked_to_abort"),
            .suspended = truth(from, "suspended"),
            .waits_for = field(from, "waits_for").is_null() ? std::nullopt : std::optional{number(from, "waits_for")}};
    }

    abort_count aborts(const json& from) const {
        return {.cause = text(from, "cause"),
                .partial = truth(from, "partial"),
                .ends = false,
                .with = one_of("blocks", from, "with"),
                .times = number(from, "times")};
    }

    switch_count switches(const json& from) const {
        const std::string reason = text(from, "reason");
        const bool is_call = reason == "library-call";
        return {reason,
                number(from, "times"),
                number(from, "accesses"),
                number(from, "timed"),
                number(from, "nanoseconds_before"),
                number(from, "nanoseconds_whole"),
                where(from, "where"),
                where(from, "callee"),
                is_call ? text(from, "function") : std::string{},
                is_call ? text(from, "why") : std::string{},
                is_call ? text(from, "instead") : std::string{}};
    }

    block_report block(const json& from) const {
        const std::optional<code_address> at = where(from, "at");
        if (!at) refuse("at", "a place");
        block_report b{.at = *at,
                       .executions = number(from, "executions"),
                       .commits = number(from, "commits"),
                       .cancelled = number(from, "cancelled"),
                       .only_one = number(from, "only_one"),
                       .nested = number(from, "nested"),
                       .lost_nanoseconds = number(from, "lost_nanoseconds"),
                       .alone_nanoseconds = number(from, "alone_nanoseconds"),
                       .waits = {},
                       .aborts = {},
                       .switches = {}};
        for (const json& w : list(from, "waits")) {
            b.waits.push_back({.with = one_of("blocks", w, "with"), .nanoseconds = number(w, "nanoseconds")});
        }
        for (const json& a : list(from, "aborts")) b.aborts.push_back(aborts(a));
        for (const json& s : list(from, "switches")) b.switches.push_back(switches(s));
        return b;
    }

    const json& from_;
};

}  // namespace

program_report parse_report(std::istream& from, const std::string& source) {
    try {
        const json all = json::parse(from);
        return reader{all}.read();
    } catch (const json::exception& e) {
        throw std::runtime_error{source + " is not JSON: " + e.what()};
    } catch (const not_a_report& e) {
        throw std::runtime_error{source + " is not a report of a program: " + e.what()};
    }
}

program_report read_report(const std::string& file) {
    std::ifstream from{file};
    if (!from) throw std::runtime_error{file + " cannot be read: " + std::strerror(errno)};
    return parse_report(from, file);
}

}  // namespace tutti::tools
