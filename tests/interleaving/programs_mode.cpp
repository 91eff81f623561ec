// Visible and irrevocable blocks, and blocks that are killed.
#include "base/clock.hpp"
#include "program.hpp"

namespace interleaving {
namespace {

constexpr tutti::options visible{.mode = tutti::mode::visible};
constexpr tutti::options irrevocable{.mode = tutti::mode::irrevocable};

void update_x_y(actor& me) {
    me.transact([](block& b) {
        b.read(x);
        b.write(x);
        b.write(y);
    });
}

void read_visibly(actor& me) {
    me.transact(visible, [](block& b) {
        b.read(x);
        b.read(y);
    });
}

void become_irrevocable_late(actor& me) {
    me.transact([](block& b) {
        b.read(x);
        b.become_irrevocable();
        b.read(y);
        b.write(y);
    });
}

void irrevocable_from_the_start(actor& me) {
    me.transact(irrevocable, [](block& b) {
        b.read(y);
        b.read(x);
        b.write(x);
    });
}

/// A block that must end 20 ms after its begin. Its first attempt fails after 1 ms, so the block is known to take 1 ms.
/// The block then becomes visible when 6 ms are left, and irrevocable when 4 ms are left. This happens in place, at the
/// first write after `SpentMicroseconds` have passed.
template <int SpentMicroseconds>
void update_before_deadline(actor& me) {
    using namespace std::chrono_literals;
    me.transact({.deadline = 20ms, .when_missed = tutti::missed_deadline::run_irrevocable}, [&](block& b) {
        if (b.number_of_attempt() == 1) {
            b.let_time_pass(1ms);
            b.restart();
        }
        b.read(x);
        b.let_time_pass(std::chrono::microseconds{SpentMicroseconds});
        b.write(y);
        b.read(x);
        b.write(z);
    });
}

void kill_and_update(actor& me) {
    me.kill(0);
    me.transact([](block& b) {
        b.read(y);
        b.write(x);
    });
}

/// Uses p and q directly, in the middle of a block that has read or written before.
template <bool Writes>
void become_serial_with_p_q(actor& me) {
    me.transact([](block& b) {
        if constexpr (Writes) b.write(x);
        else b.read(x);
        b.become_serial();
        b.read_directly(p);
        b.write_directly(p);
        b.write_directly(q);
    });
}

void update_p_q(actor& me) {
    me.transact([](block& b) {
        b.read(p);
        b.write(p);
        b.read(q);
        b.write(q);
    });
}

void update_p_q_and_handle(actor& me) {
    me.transact([](block& b) {
        b.write(p);
        b.write(q);
        b.handle_after_commit();
    });
}

void read_p_q(actor& me) {
    me.transact([](block& b) {
        b.read(p);
        b.read(q);
    });
}

template <int Times>
void as_biased_owner(actor& me) {
    for (int i = 0; i < Times; ++i) {
        me.transact_as_biased_owner([](block& b) {
            b.read_directly(p);
            b.write_directly(p);
            b.write_directly(q);
        });
    }
}

/// Begins blocks that run alone. If the algorithm runs one transaction at a time, ordinary blocks do the same instead.
template <int Times>
void begin_serial(actor& me) {
    for (int i = 0; i < Times; ++i) {
        const bool alone = me.transact_serial([](block& b) {
            b.read_directly(p);
            b.write_directly(p);
            b.write_directly(q);
        });
        if (!alone) update_p_q(me);
    }
}

}  // namespace

std::vector<program> mode_programs() {
    return {
        {"visible_reader_and_writer", {read_visibly, update_x_y}},
        {"visible_readers_and_writer", {read_visibly, read_visibly, update_x_y}},
        {"visible_writers",
         {[](actor& me) {
              me.transact(visible, [](block& b) {
                  b.read(x);
                  b.read(y);
                  b.write(x);
              });
          },
          [](actor& me) {
              me.transact(visible, [](block& b) {
                  b.read(y);
                  b.read(x);
                  b.write(y);
              });
          }}},
        // By its own policy, each block lets the other block go first: the first block because it is younger, the
        // second because of its priority. The locks determine the ages.
        {"visible_writers_whose_policies_disagree",
         {[](actor& me) {
              me.transact({.mode = tutti::mode::visible, .policy = tutti::policy::timestamp}, [](block& b) {
                  b.acquire(1);
                  b.read(x);
                  b.write(y);
              });
          },
          [](actor& me) {
              me.transact({.mode = tutti::mode::visible, .policy = tutti::policy::priority, .priority = -1},
                          [](block& b) {
                              b.acquire(2);
                              b.read(y);
                              b.write(x);
                          });
          }}},
        // The blocks share no variable, but their commits meet. While the irrevocable block commits, the visible block
        // may wait for the third block.
        {"commits_of_every_mode",
         {[](actor& me) { me.transact(irrevocable, [](block& b) { b.write(x); }); },
          [](actor& me) { me.transact(visible, [](block& b) { b.write(y); }); },
          [](actor& me) { me.transact([](block& b) { b.write(z); }); }}},
        {"become_visible_late",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.become_visible();
                  b.read(y);
                  b.write(z);
              });
          },
          update_x_y}},
        {"deadline_makes_a_block_visible", {update_before_deadline<14'000>, update_x_y}},
        {"deadline_makes_a_block_irrevocable", {update_before_deadline<16'000>, update_x_y}},
        {"deadline_while_another_block_is_irrevocable", {update_before_deadline<16'000>, become_irrevocable_late}},
        // The block is irrevocable only because of its deadline. It still waits, and gives up irrevocability meanwhile.
        {"deadline_and_retry",
         {[](actor& me) {
              me.transact({.deadline = tutti::base::now(), .when_missed = tutti::missed_deadline::run_irrevocable},
                          [](block& b) {
                              if (!b.written(x)) b.retry();
                              b.write(y);
                          });
          },
          update_x_y}},
        {"visible_plain_words",
         {[](actor& me) {
              me.transact(visible, [](block& b) {
                  b.read(p);
                  b.read(x);
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.write(x);
                  b.write(p);
              });
          }}},
        {"visible_reader_and_store_outside",
         {read_visibly,
          [](actor& me) {
              me.store(x);
              me.store(y);
          }}},
        {"irrevocable_from_the_start", {irrevocable_from_the_start, update_x_y}},
        {"become_irrevocable_late", {become_irrevocable_late, update_x_y}},
        {"irrevocable_in_a_nested_block_that_is_cancelled",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.nested([](block& n) {
                      n.write(x);
                      n.become_irrevocable();
                      n.cancel();
                  });
                  b.read(x);
                  b.read(y);
              });
          },
          update_x_y}},
        // The first block's read is stale, and the mark does not show this.
        {"marked_after_it_was_overwritten",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.read(y);
                  b.write(z);
              });
          },
          [](actor& me) {
              update_x_y(me);
              read_visibly(me);
          }}},
        {"two_irrevocable_at_once", {become_irrevocable_late, irrevocable_from_the_start}},
        {"three_irrevocable_at_once", {become_irrevocable_late, irrevocable_from_the_start, become_irrevocable_late}},
        {"irrevocable_and_readers",
         {irrevocable_from_the_start, read_visibly,
          [](actor& me) {
              me.transact({.read_only = true}, [](block& b) {
                  b.read(x);
                  b.read(y);
              });
          }}},
        {"irrevocable_and_accesses_outside",
         {become_irrevocable_late,
          [](actor& me) {
              me.store(x);
              me.load(y);
          }}},
        {"irrevocable_after_its_writes",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(y);
                  b.read(x);
                  b.become_irrevocable();
                  b.read(z);
                  b.write(z);
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(y);
                  b.read(z);
                  b.write(x);
              });
          }}},
        {"irrevocable_block_is_left",
         {[](actor& me) {
              me.transact(irrevocable, [](block& b) {
                  b.write(x);
                  b.write(p);
                  b.cancel();
              });
              me.transact([](block& b) {
                  b.write(y);
                  b.become_irrevocable();
                  b.fail();
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.read(p);
                  b.read(y);
                  b.write(y);
              });
          }}},
        {"killed_while_it_runs",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.write(y);
                  b.read(z);
              });
          },
          kill_and_update}},
        {"killed_reader",
         {[](actor& me) {
              me.transact({.read_only = true}, [](block& b) {
                  b.read(x);
                  b.read(y);
              });
          },
          kill_and_update}},
        // The killer disables the path that skips the check for kill requests. The victim is about to enable it again.
        {"killed_while_its_snapshot_moves",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.read(y);
                  b.read(z);
              });
          },
          [](actor& me) {
              me.transact([](block& b) { b.write(y); });
              me.kill(0);
          }}},
        {"killed_visible_reader", {read_visibly, kill_and_update}},
        {"killed_in_a_conflict_with_a_visible_reader", {update_x_y, read_visibly, [](actor& me) { me.kill(0); }}},
        {"killed_while_it_becomes_irrevocable", {become_irrevocable_late, kill_and_update}},
        {"irrevocable_block_is_not_killed", {irrevocable_from_the_start, kill_and_update}},
        {"become_serial_beside_a_writer", {become_serial_with_p_q<true>, update_p_q}},
        {"become_serial_beside_a_reader", {become_serial_with_p_q<true>, read_p_q}},
        {"become_serial_beside_two", {become_serial_with_p_q<false>, update_p_q, read_p_q}},
        {"become_serial_beside_a_visible_reader",
         {become_serial_with_p_q<true>,
          [](actor& me) {
              me.transact(visible, [](block& b) {
                  b.read(p);
                  b.read(q);
              });
          }}},
        {"become_serial_beside_one_that_becomes_irrevocable",
         {become_serial_with_p_q<false>, irrevocable_from_the_start}},
        {"become_serial_beside_one_that_retries",
         {become_serial_with_p_q<true>,
          [](actor& me) {
              me.transact([](block& b) {
                  if (!b.written(x)) b.retry();
                  b.read(p);
                  b.read(q);
              });
          }}},
        {"two_become_serial", {become_serial_with_p_q<true>, become_serial_with_p_q<false>}},
        {"the_biased_owner_beside_a_writer", {as_biased_owner<1>, update_p_q}},
        {"the_biased_owner_beside_a_reader", {as_biased_owner<1>, read_p_q}},
        {"the_biased_owner_again_and_again", {as_biased_owner<2>, read_p_q}},
        {"the_biased_owner_beside_an_irrevocable_reader",
         {as_biased_owner<1>,
          [](actor& me) {
              me.transact(irrevocable, [](block& b) {
                  b.read(p);
                  b.read(q);
              });
          }}},
        // The inner block needs the slot of the other transaction. That transaction must not wait for the biased owner.
        {"the_biased_owner_becomes_irrevocable_in_open_nesting",
         {[](actor& me) {
              me.transact_as_biased_owner([](block& b) {
                  b.open_nested(
                      1,
                      [](block& i) {
                          i.become_irrevocable();
                          i.write(z);
                      },
                      [](block&) {});
              });
          },
          irrevocable_from_the_start}},
        {"the_biased_owner_beside_a_serial_block", {as_biased_owner<1>, become_serial_with_p_q<false>}},
        {"the_biased_owner_beside_a_handler", {as_biased_owner<2>, update_p_q_and_handle}},
        {"open_nested_and_serial_beside_a_serial_block",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.open_nested(1, [](block& i) { i.become_serial(); }, [](block&) {});
                  b.read(p);
                  b.write(x);
                  b.read(q);
              });
          },
          begin_serial<2>}},
        {"two_biased_owners", {as_biased_owner<1>, as_biased_owner<1>}},
        {"begin_serial_beside_a_writer", {begin_serial<1>, update_p_q}},
        {"begin_serial_beside_a_reader", {begin_serial<1>, read_p_q}},
        // The second block finds all other threads stopped, unless another thread has begun a transaction meanwhile.
        {"begin_serial_again_beside_a_writer", {begin_serial<2>, update_p_q}},
        {"begin_serial_again_beside_a_reader", {begin_serial<2>, read_p_q}},
        {"begin_serial_again_beside_two", {begin_serial<2>, read_p_q, update_p_q}},
        {"begin_serial_beside_a_handler", {begin_serial<2>, update_p_q_and_handle}},
        {"two_begin_serial", {begin_serial<2>, begin_serial<2>}},
        {"two_begin_serial_beside_a_reader", {begin_serial<1>, begin_serial<1>, read_p_q}},
        {"begin_serial_beside_one_that_becomes_serial", {begin_serial<1>, become_serial_with_p_q<true>}},
        {"two_begin_serial_beside_one_that_becomes_serial",
         {begin_serial<1>, begin_serial<1>, become_serial_with_p_q<false>}},
        {"begin_serial_beside_an_irrevocable_reader",
         {begin_serial<1>,
          [](actor& me) {
              me.transact(irrevocable, [](block& b) {
                  b.read(p);
                  b.read(q);
              });
          }}},
        {"begin_serial_again_beside_the_biased_owner", {begin_serial<2>, as_biased_owner<1>}},
        {"begin_serial_beside_one_that_retries",
         {begin_serial<1>,
          [](actor& me) {
              me.transact([](block& b) {
                  if (!b.written(p)) b.retry();
                  b.read(q);
              });
          }}},
        {"killed_by_the_one_that_it_waits_for",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(x);
                  b.become_irrevocable();
                  b.write(y);
              });
          },
          [](actor& me) {
              me.transact(visible, [](block& b) {
                  b.read(y);
                  b.read(x);
              });
          }}},
        {"evicted_while_suspended",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(z);
                  b.write(x);
                  if (b.number_of_attempt() == 1) b.be_suspended();
                  b.read(y);
                  b.write(y);
              });
          },
          [](actor& me) {
              me.await_suspension();
              if (me.kill(0)) me.evict(0);
              else me.wake();
              me.transact([](block& b) {
                  b.read(x);
                  b.write(x);
              });
              me.wake();
          }}},
    };
}

}  // namespace interleaving
