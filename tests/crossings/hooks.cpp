// Handlers and participants.
#include <new>

#include "actor.hpp"

namespace crossings {

tutti::vote voter::prepare() {
    who_.note({.what = happening::told, .of = step::join, .a = number_, .b = static_cast<int>(telling::prepare)});
    switch (node_.first % 4) {
        case 1: return who_.count_of(node_)++ == 0 ? tutti::vote::restart : tutti::vote::commit;
        case 2: return tutti::vote::cancel;
        case 3: throw failure{planned + 900};
        default: return tutti::vote::commit;
    }
}
void voter::commit() noexcept {
    who_.note({.what = happening::told, .of = step::join, .a = number_, .b = static_cast<int>(telling::commit)});
}
void voter::abort() noexcept {
    who_.note({.what = happening::told, .of = step::join, .a = number_, .b = static_cast<int>(telling::abort)});
}
void voter::on_rollback() noexcept {
    who_.note({.what = happening::told, .of = step::join, .a = number_, .b = static_cast<int>(telling::rolled_back)});
}

void actor::run_hook(tx& t, const node& n) {
    const int number = ++hooks_;
    const captured held{n.options};
    // The call that registers the hook may end by a restart, before or after the registration.
    const auto hooked = [&](point at, bool surely = true) {
        trace_.note(
            {.what = happening::hooked, .of = n.what, .a = number, .b = static_cast<int>(at), .c = surely ? 1 : 0});
    };
    const auto do_register = [&n](const auto& call) {
        for (std::uint64_t at = 1;; ++at) {
            try {
                const failing here{(n.options & starved) != 0, false, at};
                return call();
            } catch (const std::bad_alloc&) {
                if ((n.options & starved) == 0) throw;
            }
        }
    };
    const auto in_between = [this, &n, number](point at, const auto& act) {
        trace_.note({.what = happening::runs, .of = n.what, .a = number, .b = static_cast<int>(at)});
        const int outside = std::exchange(innermost_, at == point::before_commit ? innermost_ : 0);
        long what = 0;
        try {
            act();
        } catch (const failure& f) {
            what = f.number;
        } catch (const tutti::cancelled&) {
            what = cancelled_thrown;
        } catch (const tutti::usage_error&) {
            what = usage_error_thrown;
        } catch (const tutti::interrupted&) {
            what = interrupted_thrown;
        } catch (const tutti::deadline_missed&) {
            what = missed_thrown;
        }
        innermost_ = outside;
        trace_.note({.what = happening::has_run, .of = n.what, .a = number, .c = what});
        switch (what) {
            case 0: return;
            case cancelled_thrown: throw tutti::cancelled{};
            case usage_error_thrown: throw tutti::usage_error{"of a hook"};
            case interrupted_thrown: throw tutti::interrupted{};
            case missed_thrown: throw tutti::deadline_missed{};
            default: throw failure{what};
        }
    };
    switch (n.what) {
        case step::before_commit:
            hooked(point::before_commit, false);
            do_register([&] {
                t.before_commit([this, &n, held, in_between](tx& inner) {
                    in_between(point::before_commit, [&] { run(inner, n.body); });
                });
            });
            return hooked(point::before_commit);
        case step::at_commit:
            hooked(point::at_commit, false);
            do_register([&] { t.at_commit([held, in_between] { in_between(point::at_commit, [] {}); }); });
            return hooked(point::at_commit);
        case step::on_commit:
            hooked(point::on_commit, false);
            do_register([&] {
                t.on_commit(
                    [this, &n, held, in_between] { in_between(point::on_commit, [&] { run_at_top(n.body, true); }); });
            });
            return hooked(point::on_commit);
        case step::on_abort:
            hooked(point::on_abort, false);
            do_register([&] {
                t.on_abort([this, &n, held, in_between](tutti::abort_cause) {
                    in_between(point::on_abort, [&] {
                        // If only a nested block is rolled back, its transaction continues, so the hook must not begin
                        // another one.
                        if (!tutti::detail::access::running(tutti::detail::current_or_attach()))
                            run_at_top(n.body, false);
                    });
                });
            });
            return hooked(point::on_abort);
        case step::join:
            hooked(point::participant, false);
            do_register([&] { t.join(voters_.emplace_back(*this, number, n)); });
            return hooked(point::participant);
        default: return;
    }
}

}  // namespace crossings
