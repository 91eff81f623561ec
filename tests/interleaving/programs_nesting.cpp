// Nested blocks, and blocks that end without effect.
#include "program.hpp"

namespace interleaving {
namespace {

void read_all_write_z(actor& me) {
    me.transact([](block& b) {
        b.read(x);
        b.read(y);
        b.read(p);
        b.write(z);
    });
}

void update_x_y(actor& me) {
    me.transact([](block& b) {
        b.read(z);
        b.write(y);
        b.write(x);
    });
}

/// The inner block commits while the outer one owns x.
void use_plain_memory_under_its_lock(actor& me) {
    me.transact({.mode = tutti::mode::irrevocable}, [](block& b) {
        b.read(p);
        b.acquire(1);
        b.write(y);
    });
}

template <const spot& Written>
void own_an_abstract_lock(actor& me) {
    me.transact([](block& b) {
        b.acquire(1);
        b.write(Written);
    });
}

void own_x_and_write_y_open_nested(actor& me) {
    me.transact([](block& b) {
        b.write(x);
        b.open_nested(1, [](block& i) { i.write(y); }, [](block& u) { u.write(y); });
    });
}

}  // namespace

std::vector<program> nesting_programs() {
    return {
        {"nested_block_commits",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(x);
                  b.nested([](block& n) {
                      n.read(x);
                      n.write(x);
                      n.write(y);
                  });
                  b.read(x);
                  b.read(y);
              });
          },
          read_all_write_z}},
        {"nested_block_is_cancelled",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(x);
                  b.nested([](block& n) {
                      n.read(x);
                      n.write(x);
                      n.write(y);
                      n.write(p);
                      n.cancel();
                  });
                  b.read(x);
                  b.read(y);
                  b.read(p);
              });
          },
          read_all_write_z}},
        // The reader looks at the orec of x twice, and the cancel restores x in between.
        {"value_of_a_block_that_is_cancelled",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(x);
                  b.cancel();
              });
          },
          [](actor& me) { me.load(x); }}},
        {"value_of_a_nested_block_that_is_cancelled",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.nested([](block& n) {
                      n.write(x);
                      n.cancel();
                  });
              });
          },
          [](actor& me) { me.transact([](block& b) { b.read(x); }); }}},
        {"nested_block_throws",
         {[](actor& me) {
              me.transact([](block& b) {
                  try {
                      b.nested([](block& n) {
                          n.read(y);
                          n.write(x);
                          n.fail();
                      });
                  } catch (const refused&) {
                      b.read(x);
                  }
                  b.write(z);
              });
          },
          update_x_y}},
        {"nested_block_restarts",
         {[](actor& me) {
              me.transact([](block& b) {
                  int tries = 0;
                  b.write(x);
                  b.nested([&tries](block& n) {
                      n.read(y);
                      n.write(x);
                      if (tries++ == 0) n.restart();
                      n.read(x);
                  });
                  b.read(x);
              });
          },
          update_x_y}},
        {"cancelled_reads_still_count",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.nested([](block& n) {
                      n.read(x);
                      n.cancel();
                  });
                  b.read(y);
                  b.write(z);
              });
          },
          update_x_y}},
        {"conflict_after_a_checkpoint",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(z);
                  b.write(p);
                  b.checkpoint([](block& n) {
                      n.read(x);
                      n.write(p);
                      n.read(y);
                      n.write(y);
                  });
              });
          },
          update_x_y}},
        {"conflict_around_checkpoints",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.checkpoint([](block& n) {
                      n.read(z);
                      n.checkpoint([](block& m) {
                          m.read(y);
                          m.write(w);
                      });
                  });
              });
          },
          update_x_y}},
        {"conflicts_of_three_with_checkpoints",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.checkpoint([](block& n) {
                      n.read(y);
                      n.write(y);
                      n.checkpoint([](block& m) { m.read(z); });
                  });
              });
          },
          update_x_y, [](actor& me) { me.transact([](block& b) { b.write(z); }); }}},
        {"orecs_taken_in_opposite_order_after_checkpoints",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.checkpoint([](block& n) {
                      n.write(x);
                      n.checkpoint([](block& m) { m.write(y); });
                  });
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.write(y);
                  b.checkpoint([](block& n) { n.write(x); });
              });
          }}},
        {"deadlock_after_checkpoints",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.checkpoint([](block& n) {
                      n.write(x);
                      n.checkpoint([](block& m) { m.write(y); });
                  });
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.checkpoint([](block& n) {
                      n.write(y);
                      n.checkpoint([](block& m) { m.write(x); });
                  });
              });
          }}},
        // The second block sleeps on x, without owning anything, when the first one releases x in order to wait for the
        // second.
        {"orec_released_to_a_transaction_then_awaited",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.checkpoint([](block& n) {
                      n.write(x);
                      n.write(y);
                  });
              });
          },
          [](actor& me) {
              me.transact({.mode = tutti::mode::visible}, [](block& b) {
                  b.read(y);
                  b.read(x);
              });
          }}},
        // If a part of the block ran again, it would leave a mark on x that the block's end does not find.
        {"conflict_of_a_visible_block_after_a_checkpoint",
         {[](actor& me) {
              me.transact({.mode = tutti::mode::visible}, [](block& b) {
                  b.write(z);
                  b.checkpoint([](block& n) {
                      n.read(x);
                      n.write(y);
                  });
              });
          },
          [](actor& me) {
              me.transact([](block& b) { b.write(y); });
              me.transact([](block& b) { b.write(x); });
          }}},
        {"alternatives_after_a_checkpoint",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.checkpoint([](block& n) {
                      n.either(
                          [](block& m) {
                              if (!m.written(x)) m.retry();
                          },
                          [](block& m) {
                              m.read(y);
                              m.write(y);
                          });
                  });
              });
          },
          update_x_y}},
        {"open_nested_and_undone",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.open_nested(
                      1,
                      [](block& i) {
                          i.read(z);
                          i.write(z);
                      },
                      [](block& u) {
                          u.read(z);
                          u.write(z);
                      });
                  b.read(y);
                  b.write(p);
              });
          },
          update_x_y,
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(z);
                  b.read(x);
              });
          }}},
        {"open_nested_in_a_nested_block_that_is_cancelled",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(p);
                  b.nested([](block& n) {
                      n.open_nested(1, [](block& i) { i.write(x); }, [](block& u) { u.write(x); });
                      n.cancel();
                  });
                  b.read(y);
              });
          },
          update_x_y}},
        {"open_nested_in_a_visible_block",
         {[](actor& me) {
              me.transact({.mode = tutti::mode::visible}, [](block& b) {
                  b.read(x);
                  b.open_nested(
                      1,
                      [](block& i) {
                          i.read(z);
                          i.write(z);
                      },
                      [](block& u) { u.write(z); });
                  b.read(y);
                  b.write(p);
              });
          },
          update_x_y}},
        {"open_nested_in_a_cancelled_part_of_a_visible_block",
         {[](actor& me) {
              me.transact({.mode = tutti::mode::visible}, [](block& b) {
                  b.read(y);
                  b.nested([](block& n) {
                      n.open_nested(1, [](block& i) { i.write(z); }, [](block& u) { u.write(z); });
                      n.cancel();
                  });
                  b.read(x);
              });
          },
          update_x_y}},
        // For algorithms with marks, this is a usage error.
        {"open_nested_overwrites_a_read_of_the_visible_block",
         {[](actor& me) {
              me.transact({.mode = tutti::mode::visible}, [](block& b) {
                  b.read(z);
                  try {
                      if (b.number_of_attempt() == 1) {
                          b.open_nested(1, [](block& i) { i.write(z); }, [](block& u) { u.write(z); });
                      }
                  } catch (const tutti::usage_error&) {
                      b.read(y);
                  }
                  b.read(x);
              });
          },
          update_x_y}},
        {"open_nested_and_undone_in_an_irrevocable_block",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(y);
                  b.nested([](block& n) {
                      n.open_nested(1, [](block& i) { i.write(z); }, [](block& u) { u.write(z); });
                      n.become_irrevocable();
                      n.cancel();
                  });
                  b.read(x);
                  b.write(p);
              });
          },
          update_x_y}},
        {.name = "one_abstract_lock_for_two",
         .threads = {own_an_abstract_lock<x>, own_an_abstract_lock<y>},
         .is_always_woken = true},
        {"abstract_locks_in_opposite_order",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.open_nested(1, [](block& i) { i.write(x); }, [](block& u) { u.write(x); });
                  b.open_nested(2, [](block& i) { i.write(y); }, [](block& u) { u.write(y); });
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.open_nested(2, [](block& i) { i.write(y); }, [](block& u) { u.write(y); });
                  b.open_nested(1, [](block& i) { i.write(x); }, [](block& u) { u.write(x); });
              });
          }}},
        // The inner blocks must not sleep, because the outer blocks own data that the others need.
        {"open_nested_in_blocks_that_own_what_the_other_wants",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(x);
                  b.open_nested(1, [](block& i) { i.read(y); }, [](block&) {});
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.write(y);
                  b.open_nested(2, [](block& i) { i.read(x); }, [](block&) {});
              });
          }}},
        {"open_nested_in_a_block_that_another_waits_for",
         {own_x_and_write_y_open_nested,
          [](actor& me) {
              me.transact([](block& b) {
                  b.write(y);
                  b.write(x);
              });
          }}},
        {"open_nested_in_a_block_that_a_user_of_plain_memory_waits_for",
         {own_x_and_write_y_open_nested,
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(p);
                  b.read(x);
              });
          }}},
        {"open_nested_in_a_block_that_an_irrevocable_user_of_plain_memory_waits_for",
         {own_x_and_write_y_open_nested,
          [](actor& me) {
              me.transact({.mode = tutti::mode::irrevocable}, [](block& b) {
                  b.read(p);
                  b.write(x);
              });
          }}},
        {"open_nested_read_in_a_block_that_a_user_of_plain_memory_waits_for",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(x);
                  b.open_nested(1, [](block& i) { i.read(y); }, [](block&) {});
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(p);
                  b.read(x);
              });
          },
          [](actor& me) { me.transact([](block& b) { b.write(y); }); }}},
        {"undone_while_an_irrevocable_user_of_plain_memory_waits_for_its_lock",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.open_nested(1, [](block& i) { i.write(x); }, [](block& u) { u.write(x); });
                  b.fail();
              });
          },
          use_plain_memory_under_its_lock}},
        {"undone_reading_while_an_irrevocable_user_of_plain_memory_waits_for_its_lock",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.open_nested(1, [](block& i) { i.write(x); }, [](block& u) { u.read(z); });
                  b.fail();
              });
          },
          use_plain_memory_under_its_lock, [](actor& me) { me.transact([](block& b) { b.write(z); }); }}},
        {"two_levels",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.nested([](block& n) {
                      n.write(x);
                      n.nested([](block& m) {
                          m.write(x);
                          m.write(y);
                          m.cancel();
                      });
                      n.read(x);
                      n.nested([](block& m) { m.write(y); });
                  });
                  b.read(y);
              });
          },
          read_all_write_z}},
        {"nested_in_visible",
         {[](actor& me) {
              me.transact({.mode = tutti::mode::visible}, [](block& b) {
                  b.nested([](block& n) {
                      n.read(x);
                      n.write(y);
                      n.cancel();
                  });
                  b.read(y);
                  b.write(z);
              });
          },
          update_x_y}},
        {"exception_leaves",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(x);
                  b.write(p);
                  b.nested([](block& n) {
                      n.write(x);
                      n.write(p);
                  });
                  b.read(y);
                  b.fail();
              });
              me.load(x);
          },
          read_all_write_z}},
        {"cancel_leaves",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(y);
                  b.write(x);
                  b.cancel();
              });
              update_x_y(me);
          },
          read_all_write_z}},
        {"cancel_leaves_by_a_jump",
         {[](actor& me) {
              me.transact_jumping([](block& b) {
                  b.write(x);
                  b.read(y);
                  b.cancel();
              });
          },
          update_x_y}},
        {"restart_once",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(y);
                  b.write(x);
                  if (b.number_of_attempt() == 1) b.restart();
                  b.write(y);
              });
          },
          read_all_write_z}},
    };
}

}  // namespace interleaving
