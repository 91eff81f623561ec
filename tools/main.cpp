// The command `tutti`.
#include <cstdio>
#include <exception>

#include "command_line.hpp"
#include "serve.hpp"
#include "timeline.hpp"
#include "top.hpp"

namespace {

enum exit_status : int { all_is_well = 0, failed = 1, bad_usage = 2 };

}  // namespace

int main(int argc, char** argv) {
    try {
        const auto parsed = tutti::tools::parse_command_line(argc, argv);
        if (const auto* help = std::get_if<tutti::tools::help_text>(&parsed)) {
            std::fputs(help->text.c_str(), stdout);
            return all_is_well;
        }
        if (const auto* top = std::get_if<tutti::tools::top_options>(&parsed)) {
            tutti::tools::top(*top);
            return all_is_well;
        }
        if (const auto* timeline = std::get_if<tutti::tools::timeline_options>(&parsed)) {
            tutti::tools::timeline(*timeline);
            return all_is_well;
        }
        tutti::tools::serve(std::get<tutti::tools::serve_options>(parsed));
        return all_is_well;
    } catch (const tutti::tools::command_line_error& e) {
        std::fprintf(stderr, "tutti: %s\n", e.what());
        return bad_usage;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "tutti: %s\n", e.what());
        return failed;
    }
}
