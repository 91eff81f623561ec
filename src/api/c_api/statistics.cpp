// Statistics for C.
#include <cstdio>
#include <sstream>

#include "api/c_api/boundary.hpp"
#include "tutti/statistics.hpp"

using tutti::mode_count;
using tutti::api::reported;

int tutti_enable_statistics(bool on) {
    return reported([on] { tutti::enable_statistics(on); });
}

int tutti_reset_statistics() {
    return reported([] { tutti::reset_statistics(); });
}

int tutti_statistics(void (*visit)(const tutti_site_statistics*, void*), void* argument) {
    return reported([=] {
        if (visit == nullptr) throw tutti::usage_error{"tutti_statistics: the visitor is null"};
        for (const tutti::site_statistics& s : tutti::statistics()) {
            std::vector<tutti_conflicting_site_statistics> conflicting_sites;
            for (const tutti::conflicting_site_statistics& r : s.conflicting_sites)
                conflicting_sites.push_back({r.site, static_cast<tutti_abort_cause>(r.cause), r.aborts});
            tutti_site_statistics site{};
            site.name = s.name.c_str();
            site.file = s.file.c_str();
            site.function = s.function.c_str();
            site.line = s.line;
            site.id = s.id;
            site.aborts = s.aborts;
            site.irrevocable_reason = s.irrevocable_reason.c_str();
            site.conflicting_sites = conflicting_sites.data();
            site.conflicting_site_count = conflicting_sites.size();
            site.abort_causes = s.aborts_by_cause.size();
            site.restart_classes = s.commits_by_restarts.size();
            site.duration_classes = s.durations.size();
            site.modes = mode_count;
            site.hardware_abort_reasons = s.hardware_aborts.size();
#define TUTTI_SITE_COUNTER(name) site.name = s.name;
#define TUTTI_SITE_COUNTERS(name) site.name = s.name.data();
#include "observe/site_counters.def"
#undef TUTTI_SITE_COUNTER
#undef TUTTI_SITE_COUNTERS
            visit(&site, argument);
        }
    });
}

int tutti_print_statistics(FILE* to) {
    return reported([to] {
        if (to == nullptr) throw tutti::usage_error{"tutti_print_statistics: the file is null"};
        std::ostringstream table;
        tutti::print_statistics(table);
        const std::string text = table.str();
        std::fwrite(text.data(), 1, text.size(), to);
    });
}
