// retry and or_else. A lost wake-up leaves a thread asleep forever, which the scheduler reports.
#include "program.hpp"

namespace interleaving {
namespace {

template <const spot& S>
void wait_for(block& b) {
    if (!b.written(S)) b.retry();
}

void consume_x(actor& me) {
    me.transact([](block& b) {
        wait_for<x>(b);
        b.read(y);
        b.write(z);
    });
}

template <const spot& S>
void produce(actor& me) {
    me.transact([](block& b) { b.write(S); });
}

/// Leaves by an exception as soon as it is woken.
void fail_on_x(actor& me) {
    me.transact([](block& b) {
        wait_for<x>(b);
        b.fail();
    });
}

/// Only reads, so that its commit wakes no thread.
void await_x(actor& me) { me.transact(wait_for<x>); }

void wait_for_x_with_a_time_limit(actor& me) {
    me.transact([](block& b) {
        if (!b.written(x)) b.retry_with_a_time_limit();
    });
}

void produce_y_then_x(actor& me) {
    produce<y>(me);
    produce<x>(me);
}

template <class Second>
void choose(actor& me, Second second) {
    me.transact([second](block& b) {
        b.either(
            [](block& first) {
                first.write(z);
                wait_for<x>(first);
            },
            second);
    });
}

}  // namespace

std::vector<program> waiting_programs() {
    return {
        {"consumer_waits", {consume_x, produce_y_then_x}},
        {"two_consumers", {consume_x, consume_x, produce<x>}},
        {"two_read_only_waiters", {await_x, await_x, produce<x>}},
        // The threads are woken in turn. The first ones do not continue, or not for long.
        {"woken_behind_one_that_fails", {fail_on_x, await_x, produce<x>}},
        {"woken_behind_one_that_cancels",
         {[](actor& me) {
              me.transact([](block& b) {
                  wait_for<x>(b);
                  b.cancel();
              });
          },
          await_x, produce<x>}},
        {"woken_behind_one_whose_time_is_up", {wait_for_x_with_a_time_limit, await_x, produce<x>}},
        {"woken_behind_one_that_keeps_waiting",
         {[](actor& me) {
              me.transact([](block& b) {
                  if (!b.written(x) || !b.written(y)) b.retry();
              });
          },
          await_x,
          [](actor& me) {
              produce<x>(me);
              produce<y>(me);
          }}},
        {"woken_behind_one_that_is_killed", {await_x, await_x, produce<x>, [](actor& me) { me.kill(0); }}},
        {"woken_behind_an_alternative", {[](actor& me) { choose(me, wait_for<y>); }, await_x, produce<x>}},
        {"woken_behind_one_that_waits_for_both",
         {[](actor& me) { choose(me, wait_for<y>); }, [](actor& me) { me.transact(wait_for<y>); }, await_x,
          [](actor& me) {
              me.transact([](block& b) {
                  b.write(x);
                  b.write(y);
              });
          }}},
        // The second change happens while the wake-up for the first change is in progress.
        {"woken_between_two_changes",
         {await_x, await_x, await_x,
          [](actor& me) {
              produce<x>(me);
              produce<x>(me);
          }}},
        {"three_threads_take_turns",
         {[](actor& me) {
              produce<x>(me);
              me.transact([](block& b) {
                  if (!b.written(z)) b.retry();
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  wait_for<x>(b);
                  b.write(y);
              });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  wait_for<y>(b);
                  b.write(z);
              });
          }}},
        {"two_producers", {consume_x, produce<x>, produce<y>}},
        {"ping_pong",
         {[](actor& me) {
              produce<x>(me);
              me.transact([](block& b) { wait_for<y>(b); });
          },
          [](actor& me) {
              me.transact([](block& b) {
                  wait_for<x>(b);
                  b.write(y);
              });
          }}},
        {"consumer_woken_by_a_store_outside",
         {consume_x,
          [](actor& me) {
              me.store(y);
              me.store(x);
          }}},
        {"read_only_consumer",
         {[](actor& me) {
              me.transact({.read_only = true}, [](block& b) {
                  b.read(y);
                  wait_for<x>(b);
              });
          },
          produce_y_then_x}},
        {"visible_consumer",
         {[](actor& me) {
              me.transact({.mode = tutti::mode::visible}, [](block& b) {
                  wait_for<x>(b);
                  b.write(z);
              });
          },
          produce_y_then_x}},
        {"consumer_of_a_plain_word",
         {[](actor& me) {
              me.transact([](block& b) {
                  wait_for<p>(b);
                  b.write(q);
              });
          },
          produce<p>}},
        {"consumer_of_a_wide_value", {[](actor& me) { me.transact([](block& b) { wait_for<w>(b); }); }, produce<w>}},
        {"consumer_that_jumps", {[](actor& me) { me.transact_jumping(wait_for<x>); }, produce_y_then_x}},
        {"consumer_that_wrote_before",
         {[](actor& me) {
              me.transact([](block& b) {
                  b.write(z);
                  b.write(y);
                  wait_for<x>(b);
              });
          },
          produce_y_then_x}},
        {"woken_by_a_read_of_a_cancelled_block",
         {[](actor& me) {
              me.transact([](block& b) {
                  bool there = false;
                  b.nested([&there](block& n) {
                      there = n.written(x);
                      n.cancel();
                  });
                  if (!there) b.retry();
              });
          },
          produce<x>}},
        {"woken_by_an_irrevocable_block",
         {consume_x, [](actor& me) { me.transact({.mode = tutti::mode::irrevocable}, [](block& b) { b.write(x); }); }}},
        {"woken_after_a_roll_back",
         {consume_x,
          [](actor& me) {
              me.transact([](block& b) {
                  b.write(x);
                  b.fail();
              });
              produce<x>(me);
          }}},
        {"either_waits_for_both", {[](actor& me) { choose(me, wait_for<y>); }, produce<x>, produce<y>}},
        {"either_is_woken_by_the_first", {[](actor& me) { choose(me, wait_for<y>); }, produce<x>}},
        {"either_is_woken_by_the_second", {[](actor& me) { choose(me, wait_for<y>); }, produce<y>}},
        {"either_falls_through",
         {[](actor& me) {
              choose(me, [](block& second) {
                  second.read(z);
                  second.write(y);
              });
          },
          produce<x>}},
        {"retry_with_a_time_limit",
         {[](actor& me) {
              me.transact([](block& b) {
                  if (!b.written(x)) b.retry_with_a_time_limit();
                  b.write(z);
              });
          },
          produce<x>}},
    };
}

}  // namespace interleaving
