// What atomic blocks can do with the C++ runtime and libstdc++: one program of several files, compiled at each level of
// optimization by the headers of libtutti-c.
#pragma once

#include "libc/blocks.hpp"

namespace cxx {

extern "C" [[gnu::transaction_pure]] unsigned in_transaction() noexcept __asm__("_ITM_inTransaction");

/// The block around it has its barriers, or runs in hardware: it does not run alone, and can be rolled back.
[[gnu::transaction_pure, gnu::noinline]] inline void expect_not_alone() { EXPECT(in_transaction() == 1); }

/// run(e, body), and the block does not run alone at its end.
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
