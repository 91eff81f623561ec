#include "trace.hpp"

namespace crossings {
namespace {

constexpr const char* happenings[] = {"enters", "asks",   "caught", "leaves",  "did", "is_strict",
                                      "strict", "hooked", "runs",   "has_run", "told"};
constexpr const char* enclosures[] = {"outermost", "closed", "flat", "apart", "first", "last", "undo"};
constexpr const char* wishes[] = {"to end", "to cancel", "to throw", "to restart", "to retry"};
constexpr const char* outcomes[] = {"done", "cancelled", "threw"};
constexpr const char* points[] = {"before_commit", "at_commit", "on_commit", "on_abort", "participant", "undo"};
constexpr const char* tellings[] = {"prepare", "commit", "abort", "rolled_back"};

}  // namespace

std::string print(const event& e) {
    std::string out = std::to_string(e.when) + " " + happenings[static_cast<int>(e.what)];
    const std::string number = " " + std::to_string(e.a);
    const std::string with = e.c != 0 ? " " + std::to_string(e.c) : "";
    switch (e.what) {
        case happening::enters: return out + number + " " + enclosures[e.b];
        case happening::asks: return out + number + " " + wishes[e.b] + with;
        case happening::leaves: return out + number + " " + outcomes[e.b] + with;
        case happening::did:
            return out + " " + name_of(e.of) + " " + std::to_string(e.first) + " " + std::to_string(e.second) + " = " +
                   std::to_string(e.c);
        case happening::hooked: return out + number + " " + points[e.b] + (e.c == 0 ? ", perhaps" : "");
        case happening::runs: return out + number + " " + points[e.b];
        case happening::told: return out + number + " " + tellings[e.b];
        default: return out + number + with;
    }
}

}  // namespace crossings
