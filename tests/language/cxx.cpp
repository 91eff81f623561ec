#include "cxx.hpp"

#include <cstring>
#include <thread>

namespace {

int blocks = 0;

/// Begins blocks in two threads, so that the runtime no longer runs blocks of one thread without barriers.
void begin_in_two_threads() {
    const auto one = [] { run(ending::commit, [] { ++blocks; }); };
    one();
    std::thread{one}.join();
    EXPECT(blocks == 2);
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    begin_in_two_threads();
    const auto is = [argv](const char* name) { return std::strcmp(argv[1], name) == 0; };
    if (is("statics")) cxx::try_statics();
    else if (is("casts")) cxx::try_casts();
    else if (is("objects")) cxx::try_objects();
    else if (is("assertion")) cxx::fail_assertion();
    else EXPECT(!"known");
}
