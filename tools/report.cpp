#include "report.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/output_file.hpp"
#include "report_view.hpp"

namespace tutti::tools {

void show(const program_report& figures, const std::string& html) {
    const bool in_a_file = !html.empty() && html != "-";
    cli::output_file page{"--html", in_a_file ? html : std::string{}};
    const report_view view = view_of(figures);
    const std::string text = html.empty() ? as_text(view) : as_html(view);
    if (page.is_open()) {
        page.write(text);
    } else if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
        throw std::runtime_error{std::string{"the report cannot be written: "} + std::strerror(errno)};
    }
}

void report(const report_options& options) { show(read_report(options.file), options.html); }

}  // namespace tutti::tools
