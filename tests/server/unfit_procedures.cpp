// A shared object that a server must not load, because of its compilation or a missing part. Its initializer reports
// that it was loaded anyway.
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
