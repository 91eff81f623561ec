// Plain memory that becomes private or public, and objects that are created and destroyed.
#include "program.hpp"

namespace interleaving {
namespace {

/// While x has not been written, all threads share p and q.
void use_p_q_while_public(actor& me) {
    me.transact([](block& b) {
        if (b.written(x)) return;
        b.read(p);
        b.write(p);
        b.read(q);
        b.write(q);
    });
}

void use_p_q_while_public_in_the_language(actor& me) {
    const bool ran = me.transact_in_the_language([](block& b) {
        if (b.written(x)) return;
        b.read(p);
        b.write(q);
        if (b.number_of_attempt() == 1) b.restart();
        b.read(q);
    });
    if (!ran) use_p_q_while_public(me);
}

template <tutti::mode Mode, bool ReadOnly>
void read_p_q_while_public(actor& me) {
    me.transact({.read_only = ReadOnly, .mode = Mode}, [](block& b) {
        if (b.written(x)) return;
        b.read(p);
        b.read(q);
    });
}
constexpr auto read_unlogged = read_p_q_while_public<tutti::mode::optimistic, true>;
constexpr auto read_logged = read_p_q_while_public<tutti::mode::optimistic, false>;

void privatize(actor& me) {
    me.transact([](block& b) { b.write(x); });
    me.peek(p);
    me.poke(p);
    me.poke(q);
    me.peek(q);
}

/// The second half of a privatization. `is_private` is true if this thread has read that the first half happened.
void take_over(actor& me, bool is_private) {
    if (!is_private) return;
    me.peek(p);
    me.poke(p);
}

template <const spot& S>
void publish(actor& me) {
    me.transact([](block& b) { b.write(S); });
}
constexpr auto publish_x = publish<x>;

void take_over_by_a_block(actor& me) {
    bool is_private = false;
    me.transact([&](block& b) { is_private = b.written(x); });
    take_over(me, is_private);
}

/// The roll-back of the nested block releases the orec of both words.
template <tutti::mode Mode>
void read_p2_beside_p_and_cancel(actor& me) {
    me.transact({.mode = Mode}, [](block& b) {
        b.nested([](block& n) {
            n.write(p);
            n.read(p2);
            n.cancel();
        });
        b.read(y);
        b.write(z);
    });
}

void update_p2_y(actor& me) {
    me.transact([](block& b) {
        b.write(p2);
        b.write(y);
    });
}

void make(actor& me) {
    me.transact([](block& b) { b.make(); });
}

void drop(actor& me) {
    me.transact([](block& b) {
        if (const object o = b.find()) b.drop(o);
    });
}

void read_object(actor& me) {
    me.transact([](block& b) {
        const object o = b.find();
        if (o == 0) return;
        b.read(o);
        b.read(x);
        b.read(o);
    });
}

void write_object(actor& me) {
    me.transact([](block& b) {
        const object o = b.find();
        if (o == 0) return;
        b.write(o);
        b.read(o);
    });
}

void make_and_drop(actor& me) {
    make(me);
    drop(me);
}

}  // namespace

std::vector<program> memory_programs() {
    return {
        {"privatize_from_a_writer", {privatize, use_p_q_while_public}},
        {"privatize_from_a_reader", {privatize, read_logged}},
        {"privatize_from_an_unlogged_reader", {privatize, read_unlogged}},
        {"privatize_from_a_visible_reader", {privatize, read_p_q_while_public<tutti::mode::visible, false>}},
        {"privatize_from_an_irrevocable_reader", {privatize, read_p_q_while_public<tutti::mode::irrevocable, false>}},
        {"privatize_from_a_language_block", {privatize, use_p_q_while_public_in_the_language}},
        {"hand_over_from_a_language_block", {publish_x, use_p_q_while_public_in_the_language, take_over_by_a_block}},
        {"privatize_from_two", {privatize, use_p_q_while_public, read_logged}},
        {"hand_over_to_a_block", {publish_x, use_p_q_while_public, take_over_by_a_block}},
        {"hand_over_to_a_block_from_a_reader", {publish_x, read_unlogged, take_over_by_a_block}},
        {"hand_over_to_the_second_block",
         {publish_x, use_p_q_while_public,
          [](actor& me) {
              me.transact([](block& b) { b.read(y); });
              take_over_by_a_block(me);
          }}},
        {"hand_over_to_a_block_with_plain_memory",
         {publish_x, use_p_q_while_public,
          [](actor& me) {
              bool is_private = false;
              me.transact([&](block& b) {
                  b.read(r);
                  is_private = b.written(x);
              });
              take_over(me, is_private);
          }}},
        // A transaction that makes nothing private overwrites the value that it has read.
        {"hand_over_by_an_overwritten_value",
         {publish_x,
          [](actor& me) {
              me.transact([](block& b) {
                  if (!b.written(x)) b.read(p);
              });
          },
          take_over_by_a_block,
          [](actor& me) {
              me.transact({.privatization = tutti::privatization::waived}, [](block& b) {
                  if (b.written(x)) b.write(x);
              });
          }}},
        // The first block checks which transactions quiesce, and the second one relies on that result.
        {"hand_over_with_a_known_result",
         {publish_x, use_p_q_while_public, [](actor& me) { me.transact([](block& b) { b.read(x); }); },
          take_over_by_a_block}},
        // The clock starts anew in the second block, after the first block has got its result.
        {"hand_over_to_a_block_after_an_update",
         {publish_x, use_p_q_while_public,
          [](actor& me) {
              me.transact([](block& b) { b.read(r); });
              me.transact([](block& b) { b.write(y); });
              take_over_by_a_block(me);
          }}},
        // Another thread restarts the clock when the first block is over, but still checks which transactions quiesce.
        {"hand_over_to_a_block_beside_an_update",
         {publish_x, use_p_q_while_public,
          [](actor& me) {
              me.transact([](block& b) { b.read(r); });
              take_over_by_a_block(me);
          },
          [](actor& me) { me.transact([](block& b) { b.write(y); }); }}},
        // The block reads the informing word under an orec of its own, and releases that orec.
        {"hand_over_to_a_nested_block_that_is_cancelled",
         {publish<p>,
          [](actor& me) {
              me.transact([](block& b) {
                  if (b.written(p)) return;
                  b.read(q);
                  b.write(q);
                  b.read(q);
              });
          },
          [](actor& me) {
              bool is_private = false;
              me.transact([&](block& b) {
                  b.nested([&](block& n) {
                      n.write(p2);
                      is_private = n.written(p);
                      n.cancel();
                  });
              });
              if (!is_private) return;
              me.peek(q);
              me.poke(q);
          }}},
        {"hand_over_to_a_load", {publish_x, use_p_q_while_public, [](actor& me) { take_over(me, me.load(x) != 0); }}},
        {"hand_over_to_a_block_that_is_cancelled",
         {publish_x, use_p_q_while_public,
          [](actor& me) {
              bool is_private = false;
              me.transact([&](block& b) {
                  is_private = b.written(x);
                  b.cancel();
              });
              take_over(me, is_private);
          }}},
        {"privatize_irrevocably",
         {[](actor& me) {
              me.transact({.mode = tutti::mode::irrevocable}, [](block& b) { b.write(x); });
              me.poke(p);
              me.peek(q);
          },
          use_p_q_while_public}},
        {"privatize_by_a_store_outside_and_a_block",
         {[](actor& me) {
              me.store(y);
              privatize(me);
          },
          use_p_q_while_public}},
        {"privatize_from_a_reader_that_was_asleep",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(r);
                  if (!b.written(y)) b.retry();
                  if (b.written(x)) return;
                  b.read(p);
                  b.read(q);
              });
          },
          [](actor& me) {
              publish<y>(me);
              publish<z>(me);
              privatize(me);
          }}},
        // The memory that the inner block made private may be used when the outer block, which makes nothing private,
        // has ended.
        {"privatize_in_open_nesting",
         {[](actor& me) {
              me.transact({.privatization = tutti::privatization::waived}, [](block& b) {
                  b.open_nested(1, [](block& i) { i.write(x); }, [](block& u) { u.write(x); });
              });
              me.poke(p);
              me.peek(q);
          },
          use_p_q_while_public}},
        // The outer block only reads. It waits for privatizations of other transactions, but not for its own inner
        // block.
        {"privatize_in_open_nesting_of_a_reader",
         {[](actor& me) {
              me.transact(
                  [](block& b) { b.open_nested(1, [](block& i) { i.write(x); }, [](block& u) { u.write(x); }); });
              me.poke(p);
              me.peek(q);
          },
          use_p_q_while_public}},
        // The second inner block publishes nothing and takes the slow path.
        {"privatize_in_open_nesting_before_another_block",
         {[](actor& me) {
              me.transact({.privatization = tutti::privatization::waived}, [](block& b) {
                  b.open_nested(1, [](block& i) { i.write(x); }, [](block& u) { u.write(x); });
                  b.open_nested(
                      2,
                      [](block& i) {
                          i.become_visible();
                          i.read(y);
                      },
                      [](block&) {});
              });
              me.poke(p);
              me.peek(q);
          },
          use_p_q_while_public}},
        // The outer block is rolled back, and the inner block's undo changes nothing. A thread that reads the resulting
        // value waits no longer than until both have ended.
        {"privatize_in_open_nesting_and_roll_back",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.open_nested(1, [](block& i) { i.write(x); }, [](block& u) { u.read(x); });
                  b.cancel();
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(p);
                  b.read(x);
              });
          }}},
        {"privatize_what_it_wrote",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(p);
                  b.write(p);
                  b.write(x);
              });
              me.peek(p);
              me.poke(p);
          },
          use_p_q_while_public}},
        {"privatize_from_one_that_rolls_back",
         {privatize,
          [](actor& me) {
              me.transact([](block& b) {
                  if (b.written(x)) return;
                  b.write(p);
                  b.write(q);
                  b.cancel();
              });
          }}},
        {"two_words_under_one_orec",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(p);
                  b.nested([](block& n) {
                      n.write(p2);
                      n.cancel();
                  });
                  b.read(p2);
                  b.write(p2);
                  if (b.number_of_attempt() == 1) b.restart();
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(p);
                  b.read(p2);
              });
          }}},
        {"orec_released_under_a_reader", {read_p2_beside_p_and_cancel<tutti::mode::optimistic>, update_p2_y}},
        {"orec_released_under_an_irrevocable_reader",
         {read_p2_beside_p_and_cancel<tutti::mode::irrevocable>, update_p2_y}},
        {"publish",
         {[](actor& me) {
              me.poke(p);
              me.poke(q);
              me.transact([](block& b) { b.write(x); });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  if (!b.written(x)) return;
                  b.read(p);
                  b.read(q);
                  b.write(p);
              });
          }}},
        {"privatize_and_publish_again",
         {[](actor& me) {
              privatize(me);
              me.transact([](block& b) { b.write(y); });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  if (b.written(x) && !b.written(y)) return;
                  b.read(p);
                  b.write(q);
              });
          }}},
        {"object_is_dropped_under_a_reader", {make_and_drop, read_object}},
        {"object_is_dropped_under_a_writer", {make_and_drop, write_object}},
        {"object_is_dropped_twice", {make, drop, drop}},
        {"object_of_a_rolled_back_block",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.make();
                  b.write(x);
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  b.read(x);
                  b.write(x);
              });
              read_object(me);
          }}},
        {"object_of_a_block_that_fails",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.make();
                  b.nested([](block& n) {
                      n.write(n.find());
                      n.drop(n.find());
                      n.cancel();
                  });
                  b.read(b.find());
              });
              me.transact([](block& b) {
                  b.drop(b.find());
                  b.fail();
              });
          },
          write_object}},
        {"wide_value_is_replaced_under_a_reader",
         {[](actor& me) {
              me.transact([](block& b) { b.write(w); });
              me.transact([](block& b) { b.write(w); });
          },
          [](actor& me) {
              me.transact({.read_only = true}, [](block& b) {
                  b.read(w);
                  b.read(x);
                  b.read(w);
              });
          }}},
    };
}

}  // namespace interleaving
