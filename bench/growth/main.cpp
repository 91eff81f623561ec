// Measures one point of one curve under the algorithm of the process, or lists the curves.
#include <cstdio>
#include <string>

#include <tutti/algorithm.hpp>

#include "growth/command_line.hpp"
#include "growth/curves.hpp"

namespace {

using namespace bench::growth;

void print_list() {
    const auto text = [](const char* key, std::string_view value) {
        std::printf("\"%s\": \"%.*s\", ", key, static_cast<int>(value.size()), value.data());
    };
    std::printf("{\"algorithms\": [");
    const char* separator = "";
    for (const auto& a : tutti::available_algorithms()) {
        std::printf("%s\"%.*s\"", separator, static_cast<int>(a.name.size()), a.name.data());
        separator = ", ";
    }
    std::printf("],\n\"curves\": [");
    separator = "\n";
    for (const curve& c : curves()) {
        std::printf("%s{", separator);
        text("family", c.family);
        text("name", c.name);
        text("of", c.of);
        text("over", c.over);
        text("beside", c.beside);
        std::printf(
            "\"linear\": %s, \"largest\": %zu, \"without\": %s, \"concurrent\": %s, \"bytes\": %s, \"threads\": %s}",
            c.expected == due::linear ? "true" : "false", c.largest, c.without ? "true" : "false",
            c.concurrent ? "true" : "false", c.bytes ? "true" : "false", c.threads ? "true" : "false");
        separator = ",\n";
    }
    std::printf("\n]}\n");
}

}  // namespace

int main(int argc, char** argv) {
    const settings how = parse(argc, argv);
    if (how.curve.empty()) {
        print_list();
        return 0;
    }
    for (const curve& c : curves()) {
        if (c.name != how.curve) continue;
        const measured& run = how.without ? c.without : c.run;
        if (!run) break;
        try {
            std::printf("%.17g\n", run(how.at));
            return 0;
        } catch (const wrong_result_error& wrong) {
            std::fprintf(stderr, "BROKEN: %s\n", wrong.what());
            return 1;
        }
    }
    std::fprintf(stderr, "there is no curve of that name; without one, all are listed\n");
    return 2;
}
