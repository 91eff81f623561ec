// Statistics for C.
#include <cstdio>
#include <sstream>

#include "api/c_boundary.hpp"
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
            std::vector<tutti_rival_statistics> rivals;
            for (const tutti::rival_statistics& r : s.rivals)
                rivals.push_back({r.site, static_cast<tutti_abort_cause>(r.cause), r.aborts});
            const tutti_site_statistics site{.name = s.name.c_str(),
                                             .file = s.file.c_str(),
                                             .function = s.function.c_str(),
                                             .line = s.line,
                                             .commits = s.commits,
                                             .aborts = s.aborts,
                                             .aborts_by_cause = s.aborts_by_cause.data(),
                                             .abort_causes = s.aborts_by_cause.size(),
                                             .commits_by_restarts = s.commits_by_restarts.data(),
                                             .restart_classes = s.commits_by_restarts.size(),
                                             .irrevocable = s.irrevocable,
                                             .irrevocable_reason = s.irrevocable_reason.c_str(),
                                             .durations = s.durations.data(),
                                             .duration_classes = s.durations.size(),
                                             .rewinds = s.rewinds,
                                             .deadlines_met = s.deadlines_met.data(),
                                             .deadlines_missed = s.deadlines_missed.data(),
                                             .modes = mode_count,
                                             .deadlines_refused = s.deadlines_refused,
                                             .id = s.id,
                                             .rivals = rivals.data(),
                                             .rival_count = rivals.size(),
                                             .lost_nanoseconds = s.lost_nanoseconds};
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
