// An object that no server may load, because of how it is compiled or of what it lacks. Its initializer tells whether
// it was loaded all the same.
#include <cstdlib>
#include <string>
#include <vector>

#if !defined(WITHOUT_LAYOUT) && !defined(WITHOUT_PROCEDURES)
#include <tutti/server/procedure.hpp>
#endif

namespace {

[[maybe_unused]] const bool was_loaded = (std::abort(), true);

}  // namespace

#if defined(WITHOUT_LAYOUT)
extern "C" __attribute__((visibility("default"))) void tutti_server_procedures_5(void*) {}
#elif !defined(WITHOUT_PROCEDURES)
TUTTI_PROCEDURES(server) {
    server.add("names", {}, [](std::vector<std::string> all) { return all; });
}
#endif
