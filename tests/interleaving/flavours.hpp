// The configurations under which programs run: every algorithm; for those with a version clock, clock states that only
// many commits would reach; and one policy of each kind.
#pragma once

#include <array>
#include <string_view>

#include "pristine.hpp"

namespace interleaving {

struct flavour {
    std::string_view name;  ///< the name as a test suite
    std::string_view algorithm;
    clock_state clock = clock_state::counting;
    std::string_view policy = "patient";  ///< any other policy runs only the programs about conflicts and modes
    unsigned hardware_fails = 0;          ///< one of this many steps of a hardware attempt fails; 0: none
};

inline constexpr std::array<flavour, 24> flavours{{
    {"wb_etl", "wb-etl"},
    {"wb_etl_deferred", "wb-etl", clock_state::deferred},
    {"wb_etl_switching", "wb-etl", clock_state::about_to_switch},
    {"wt_etl", "wt-etl"},
    {"wt_etl_deferred", "wt-etl", clock_state::deferred},
    {"wt_etl_switching", "wt-etl", clock_state::about_to_switch},
    {"wb_ctl", "wb-ctl"},
    {"wb_ctl_switching", "wb-ctl", clock_state::about_to_switch},
    {"norec", "norec"},
    {"hytm", "hytm"},
    {"hytm_failing", "hytm", clock_state::counting, "patient", 2},
    {"htm_failing", "htm", clock_state::counting, "patient", 2},
    {"serial", "serial"},
    {"global_lock", "global-lock"},
    {"wt_etl_late", "wt-etl", clock_state::late},
    {"wb_etl_ending", "wb-etl", clock_state::ending},
    {"wt_etl_ending", "wt-etl", clock_state::ending},
    {"wb_ctl_ending", "wb-ctl", clock_state::ending},
    {"wb_etl_aggressive", "wb-etl", clock_state::late, "aggressive"},
    {"wb_etl_timestamp", "wb-etl", clock_state::counting, "timestamp"},
    {"wb_etl_serialize", "wb-etl", clock_state::counting, "serialize"},
    {"wb_ctl_aggressive", "wb-ctl", clock_state::late, "aggressive"},
    {"wb_ctl_timestamp", "wb-ctl", clock_state::counting, "timestamp"},
    {"norec_aggressive", "norec", clock_state::late, "aggressive"},
}};

}  // namespace interleaving
