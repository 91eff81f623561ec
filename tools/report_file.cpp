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
/// The number of something in a list of `size`.
std::size_t index(const json& of, const char* name, std::size_t size) {
    const std::uint64_t i = number(of, name);
    if (i >= size) refuse(name, "the number of anything in the file");
    return static_cast<std::size_t>(i);
}

class reader {
public:
    explicit reader(const json& from) : from_{from} {
        if (text(from, "format") != "tutti-report") refuse("format", "'tutti-report'");
        if (number(from, "version") != 1) refuse("version", "1, which is the one that this command reads");
    }

    report_figures read() {
        report_figures r{text(from_, "program"), text(from_, "algorithm"), number(from_, "nanoseconds"), {}};
        for (const json& b : list(from_, "blocks")) r.blocks.push_back(block(b));
        return r;
    }

private:
    std::optional<place> where(const json& of, const char* name) const {
        const json& f = field(of, name);
        if (f.is_null()) return std::nullopt;
        const json& objects = list(from_, "objects");
        const json& object = objects.at(index(f, "object", objects.size()));
        if (!object.is_string()) refuse("objects", "a list of texts");
        return place{object.get<std::string>(), number(f, "offset"), text(f, "symbol")};
    }

    abort_count aborts(const json& from) const {
        const json& partial = field(from, "partial");
        if (!partial.is_boolean()) refuse("partial", "true or false");
        abort_count a{text(from, "cause"), partial.get<bool>(), std::nullopt, number(from, "times")};
        if (!field(from, "with").is_null()) a.with = index(from, "with", list(from_, "blocks").size());
        return a;
    }

    switch_count switches(const json& from) const {
        return {text(from, "reason"),
                number(from, "times"),
                number(from, "accesses"),
                number(from, "timed"),
                number(from, "nanoseconds_before"),
                number(from, "nanoseconds_whole"),
                where(from, "where"),
                where(from, "callee")};
    }

    block_figures block(const json& from) const {
        const std::optional<place> at = where(from, "at");
        if (!at) refuse("at", "a place");
        block_figures b{.at = *at,
                        .executions = number(from, "executions"),
                        .commits = number(from, "commits"),
                        .cancelled = number(from, "cancelled"),
                        .only_one = number(from, "only_one"),
                        .nested = number(from, "nested"),
                        .lost_nanoseconds = number(from, "lost_nanoseconds"),
                        .aborts = {},
                        .switches = {}};
        for (const json& a : list(from, "aborts")) b.aborts.push_back(aborts(a));
        for (const json& s : list(from, "switches")) b.switches.push_back(switches(s));
        return b;
    }

    const json& from_;
};

}  // namespace

report_figures read_report(const std::string& file) {
    std::ifstream from{file};
    if (!from) throw std::runtime_error{file + " cannot be read: " + std::strerror(errno)};
    try {
        const json all = json::parse(from);
        return reader{all}.read();
    } catch (const json::exception& e) {
        throw std::runtime_error{file + " is not JSON: " + e.what()};
    } catch (const not_a_report& e) {
        throw std::runtime_error{file + " is not a report of a program: " + e.what()};
    }
}

}  // namespace tutti::tools
