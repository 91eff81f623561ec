// Blocks that conflict on variables: the classical anomalies.
#include "program.hpp"

namespace interleaving {
namespace {

void update_x(actor& me) {
    me.transact([](block& b) {
        b.read(x);
        b.write(x);
    });
}

void write_x_y(actor& me) {
    me.transact([](block& b) {
        b.write(x);
        b.write(y);
    });
}

template <const spot& From, const spot& To>
void copy(actor& me) {
    me.transact([](block& b) {
        b.read(From);
        b.write(To);
    });
}

template <const spot& Written>
void guard_x_y(actor& me) {
    me.transact([](block& b) {
        b.read(x);
        b.read(y);
        b.write(Written);
    });
}

void read_only_x_y_x(actor& me) {
    me.transact({.read_only = true}, [](block& b) {
        b.read(x);
        b.read(y);
        b.read(x);
    });
}

}  // namespace

std::vector<program> conflict_programs() {
    return {
        {"lost_update", {update_x, update_x}},
        {"lost_update_of_three", {update_x, update_x, update_x}},
        {"write_skew", {guard_x_y<x>, guard_x_y<y>}},
        {"cycle_of_three", {copy<x, y>, copy<y, z>, copy<z, x>}},
        {"blind_writes_in_opposite_orders",
         {write_x_y,
          [](actor& me) {
              me.transact([](block& b) {
                  b.write(y);
                  b.write(x);
              });
          }}},
        {"zombie_that_would_write",
         {write_x_y,
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.read(y);
                  b.write(z);
              });
          }}},
        {"zombie_that_reads_after_its_write",
         {write_x_y,
          [](actor& me) {
              me.transact([](block& b) {
                  b.write(z);
                  b.read(y);
                  b.read(x);
              });
          }}},
        {"unlogged_snapshot", {write_x_y, read_only_x_y_x}},
        {"unlogged_snapshot_of_two_commits",
         {[](actor& me) {
              write_x_y(me);
              write_x_y(me);
          },
          read_only_x_y_x}},
        {"snapshot_is_extended",
         {copy<z, y>, copy<z, x>,
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.read(y);
                  b.read(z);
                  b.write(z);
              });
          }}},
        // A thread that waits for this commit is told that the commit will not happen.
        {"update_that_fails",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.write(x);
                  b.fail();
              });
          },
          update_x}},
        {"own_writes_are_read",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(x);
                  b.read(x);
                  b.write(x);
                  b.read(y);
                  b.read(x);
              });
          },
          guard_x_y<y>}},
        {"real_time",
         {[](actor& me) {
              update_x(me);
              update_x(me);
          },
          [](actor& me) {
              read_only_x_y_x(me);
              guard_x_y<y>(me);
          }}},
        {"restarts_jump",
         {[](actor& me) {
              me.transact_jumping([](block& b) {
                  b.read(x);
                  b.read(y);
                  b.write(x);
              });
          },
          [](actor& me) {
              me.transact_jumping([](block& b) {
                  b.read(y);
                  b.read(x);
                  b.write(y);
              });
          }}},
        {"loads_outside_of_blocks",
         {write_x_y,
          [](actor& me) {
              me.load(x);
              me.load(y);
              me.load(x);
          }}},
        // In deferred mode, the second block may keep the version of the first (version_clock.hpp, 8).
        {"load_outside_across_a_block_of_the_last_writer",
         {[](actor& me) {
              me.transact([](block& b) { b.write(x); });
              me.transact([](block& b) {
                  b.read(y);
                  b.write(x);
                  b.read(y);
                  b.write(x);
              });
          },
          [](actor& me) { me.load(x); }}},
        {"stores_outside_of_blocks",
         {guard_x_y<x>,
          [](actor& me) {
              me.store(y);
              me.store(x);
          }}},
        {"stores_and_loads_outside_of_blocks",
         {[](actor& me) {
              me.store(x);
              me.load(y);
          },
          [](actor& me) {
              me.store(y);
              me.load(x);
          },
          update_x}},
        {"wide_values",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(w);
                  b.write(x);
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.read(w);
                  b.write(w);
              });
              me.load(w);
          }}},
        {"plain_words_and_variables",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(p);
                  b.read(x);
                  b.write(p);
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.read(p);
                  b.write(x);
              });
          }}},
        {"plain_words_torn",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(p);
                  b.write(q);
              });
          },
          [](actor& me) {
              me.transact({.read_only = true}, [](block& b) {
                  b.read(p);
                  b.read(q);
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(q);
                  b.write(p);
              });
          }}},
    };
}

}  // namespace interleaving
