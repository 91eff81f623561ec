#include "growth/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace bench::growth {

settings parse(int argc, char** argv) {
    settings s;
    CLI::App app{"One point of a curve: nanoseconds (or bytes) at a size."};
    int milliseconds = 50;
    auto* const curve = app.add_option("curve", s.curve, "name of the curve; without one, all are listed as JSON");
    app.add_option("size", s.at.size, "size of the point")->check(CLI::Range(1, 10'000'000))->needs(curve);
    app.add_option("--milliseconds", milliseconds, "milliseconds to measure; default: 50")
        ->check(CLI::Range(1, 60'000));
    app.add_flag("--without", s.without, "measure the same without transactions");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        std::exit(app.exit(e));
    }
    s.at.time = std::chrono::milliseconds{milliseconds};
    return s;
}

}  // namespace bench::growth
