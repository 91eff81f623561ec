// tutti-stamp: makes the input, runs, checks, and reports.
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tutti/tutti.hpp>

#include "cli/program.hpp"
#include "stamp/language.hpp"
#include "stamp/options.hpp"
#include "stamp/report.hpp"

namespace {

using namespace stamp;

run_function function_of(const command& c, const program& p) {
#if defined(STAMP_LANGUAGE)
    if (c.which == build::language) return language_build_of(p);
#endif
    return c.which == build::sequential ? p.sequential : p.library;
}

report_row run_one(const command& c, const program& p) {
    const std::size_t usual = c.quick ? p.quick : p.usual;
    const run_settings how{.threads = c.threads, .size = c.size.value_or(usual), .seed = c.seed};
    return {.of = &p,
            .build = name_of(c.which),
            .algorithm = c.which == build::library ? tutti::algorithm() : "-",
            .how = how,
            .outcome = function_of(c, p)(how),
            .lengths = library::lengths};
}

int run(const command& c) {
    if (!c.algorithm.empty()) tutti::use_algorithm(c.algorithm);
    library::mode = c.mode;
    library::times_blocks = c.lengths;
    int status = cli::success;
    std::vector<std::string> objects;
    if (!c.json) fmt::print("{}", table_head());
    for (const program* p : c.programs) {
        const report_row row = run_one(c, *p);
        if (c.json) objects.push_back(json_row(row));
        else fmt::print("{}", table_row(row));
        std::fflush(stdout);
        if (row.outcome.wrong.empty()) continue;
        fmt::print(stderr, "tutti-stamp: {}: the result is wrong: {}\n", p->name, row.outcome.wrong);
        status = cli::failed;
    }
    if (c.json) fmt::print("[{}]\n", fmt::join(objects, ",\n "));
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    return cli::run_program(
        "tutti-stamp", "give a smaller --size", [&] { return parse_command_line(argc, argv); }, run);
}
