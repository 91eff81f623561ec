#include "report.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "report_view.hpp"

namespace tutti::tools {

void report(const report_options& options) {
    const report_view view = view_of(read_report(options.file));
    if (options.html.empty() || options.html == "-") {
        const std::string text = options.html.empty() ? as_text(view) : as_html(view);
        std::fputs(text.c_str(), stdout);
        return;
    }
    const std::string page = as_html(view);
    std::FILE* const to = std::fopen(options.html.c_str(), "we");
    const bool written = to != nullptr && std::fwrite(page.data(), 1, page.size(), to) == page.size();
    if ((to != nullptr && std::fclose(to) != 0) || !written)
        throw std::runtime_error{options.html + " cannot be written: " + std::strerror(errno)};
}

}  // namespace tutti::tools
