// Blocks that read a snapshot, beside writers of all kinds.
#include "program.hpp"

namespace interleaving {
namespace {

constexpr tutti::options snapshot{.mode = tutti::mode::snapshot};

template <const spot&... S>
void read_in_snapshot(actor& me) {
    me.transact(snapshot, [](block& b) { (static_cast<void>(b.read(S)), ...); });
}
template <const spot&... S>
void write(actor& me) {
    me.transact([](block& b) { (b.write(S), ...); });
}
template <const spot& S, const spot& T>
void write_one_after_the_other(actor& me) {
    write<S>(me);
    write<T>(me);
}
/// Commits twice. A commit makes no memory private, so it need not wait for a snapshot of plain words.
template <const spot& S, const spot& T, const spot& U>
void write_twice_without_waiting(actor& me) {
    constexpr tutti::options waived{.privatization = tutti::privatization::waived};
    me.transact(waived, [](block& b) { b.write(S); });
    me.transact(waived, [](block& b) {
        b.write(T);
        b.write(U);
    });
}
template <const spot& S, const spot& T>
void read_and_write(actor& me) {
    me.transact([](block& b) {
        b.read(S);
        b.write(T);
    });
}
template <const spot& S, const spot& T>
void write_and_cancel(actor& me) {
    me.transact([](block& b) {
        b.write(S);
        b.write(T);
        b.cancel();
    });
}

}  // namespace

std::vector<program> snapshot_programs() {
    return {
        {"snapshot_beside_a_writer", {read_in_snapshot<x, y>, write<x, y>}},
        {"snapshot_beside_two_commits", {read_in_snapshot<x, y>, write_one_after_the_other<y, x>}},
        {"snapshot_beside_two_writers", {read_in_snapshot<x, y>, read_and_write<x, y>, read_and_write<y, x>}},
        {"two_snapshots_beside_a_writer", {read_in_snapshot<x, y>, read_in_snapshot<y, x>, write<x, y>}},
        {"a_second_snapshot_beside_two_commits",
         {read_in_snapshot<z>, read_in_snapshot<x, y>, write_one_after_the_other<y, x>}},
        {"snapshot_twice",
         {[](actor& me) {
              read_in_snapshot<x, y>(me);
              read_in_snapshot<y, x>(me);
          },
          write_one_after_the_other<x, y>}},
        {"snapshot_after_an_own_commit",
         {[](actor& me) {
              write<x>(me);
              read_in_snapshot<x, y>(me);
          },
          write<y, x>}},
        {"snapshot_of_plain_words", {read_in_snapshot<p, q>, write<p, q>}},
        {"snapshot_of_two_words_under_one_orec", {read_in_snapshot<p, p2>, write_one_after_the_other<p2, p>}},
        {"snapshot_of_two_words_under_one_orec_and_a_variable",
         {read_in_snapshot<y, p>, write_twice_without_waiting<p2, p, y>}},
        {"snapshot_of_two_words_under_one_orec_beside_two",
         {read_in_snapshot<p2, p>, write<p2>, write_one_after_the_other<p, p2>}},
        {"snapshot_beside_a_roll_back", {read_in_snapshot<x, y>, write_and_cancel<x, y>, write<y>}},
        {"snapshot_of_plain_words_beside_a_roll_back", {read_in_snapshot<p, p2>, write_and_cancel<p, p2>, write<p2>}},
        {"snapshot_beside_a_nested_roll_back",
         {read_in_snapshot<x, y>,
          [](actor& me) {
              me.transact([](block& b) {
                  b.write(x);
                  b.nested([](block& n) {
                      n.write(y);
                      n.cancel();
                  });
                  b.write(y);
              });
          }}},
        {"snapshot_of_a_wide_value", {read_in_snapshot<w, x>, write<x, w>, write<w>}},
        {"snapshot_of_an_object_that_is_dropped",
         {[](actor& me) {
              me.transact(snapshot, [](block& b) {
                  const object o = b.find();
                  if (o == 0) return;
                  b.read(o);
                  b.read(x);
                  b.read(o);
              });
          },
          [](actor& me) {
              me.transact([](block& b) { b.make(); });
              me.transact([](block& b) {
                  if (const object o = b.find()) b.drop(o);
              });
              write<x>(me);
          }}},
        {"snapshot_beside_an_irrevocable_writer",
         {read_in_snapshot<x, y>,
          [](actor& me) {
              me.transact({.mode = tutti::mode::irrevocable}, [](block& b) {
                  b.write(x);
                  b.write(y);
              });
          }}},
        {"snapshot_beside_a_visible_reader",
         {read_in_snapshot<x, y>,
          [](actor& me) {
              me.transact({.mode = tutti::mode::visible}, [](block& b) {
                  b.read(x);
                  b.write(y);
              });
          },
          write<x>}},
        {"snapshot_beside_a_serial_block",
         {read_in_snapshot<x, p>,
          [](actor& me) {
              me.transact_serial([](block& b) {
                  b.write_directly(p);
                  b.write(x);
              });
          }}},
        {"snapshot_that_retries",
         {[](actor& me) {
              me.transact(snapshot, [](block& b) {
                  if (!b.written(x)) b.retry();
                  b.read(y);
              });
          },
          write<y, x>}},
        {"snapshot_that_is_evicted",
         {[](actor& me) {
              me.transact(snapshot, [](block& b) {
                  b.read(x);
                  b.be_suspended();
                  b.read(y);
              });
          },
          [](actor& me) {
              me.await_suspension();
              if (me.kill(0)) me.evict(0);
              me.wake();
              write<x, y>(me);
          }}},
        {"privatize_from_a_snapshot",
         {[](actor& me) {
              write<x>(me);
              me.peek(p);
              me.poke(p);
              me.poke(q);
          },
          [](actor& me) {
              me.transact(snapshot, [](block& b) {
                  if (b.written(x)) return;
                  b.read(p);
                  b.read(q);
              });
          }}},
        {"an_unlogged_reader_takes_a_snapshot",
         {[](actor& me) {
              me.transact({.read_only = true}, [](block& b) {
                  b.read(x);
                  b.read(y);
                  b.read(z);
              });
          },
          write_one_after_the_other<x, y>, write_one_after_the_other<y, z>}},
    };
}

}  // namespace interleaving
