// The C++ runtime and libstdc++ in atomic blocks. One program of several files, which the headers of libtutti-c compile
// at each optimization level.
#pragma once

#include "libc/blocks.hpp"

namespace cxx {

extern "C" [[gnu::transaction_pure]] unsigned in_transaction() noexcept __asm__("_ITM_inTransaction");

/// Expects that the block has its barriers, or runs in hardware: it does not run alone, and can be rolled back.
[[gnu::transaction_pure, gnu::noinline]] inline void expect_not_alone() { EXPECT(in_transaction() == 1); }

/// Calls run(e, body), and expects that the block does not run alone at its end.
template <class Body>
void run_beside(ending e, const Body& body) {
    run(e, [&body] {
        body();
        expect_not_alone();
    });
}

void try_statics();
void try_casts();
void try_objects();
[[noreturn]] void fail_assertion();

}  // namespace cxx
