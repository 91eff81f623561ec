#include "journal.hpp"

#include <algorithm>

namespace interleaving {

void journal::clear() {
    history_.initial.clear();
    history_.attempts.clear();
    places_.clear();
    lines_.clear();
    std::ranges::fill(threads_, per_thread{});
    now_ = 0;
    complaint_.reset();
}

int journal::add_place(std::string name) {
    places_.push_back(std::move(name));
    history_.initial.push_back(0);
    return static_cast<int>(places_.size()) - 1;
}

value journal::fresh(int thread) { return (thread + 1) * 1000 + ++of(thread).values; }

instant journal::now() { return ++now_; }

instant journal::add_event(int thread, const char* text, int place, value v) {
    lines_.push_back({scheduler::point(), thread, text, place, v});
    return of(thread).last = now();
}

attempt& journal::current(int thread) { return history_.attempts[static_cast<std::size_t>(of(thread).attempt)]; }
int journal::running(int thread) const { return of(thread).attempt; }
int journal::depth(int thread) const { return of(thread).depth; }

void journal::expect(int thread) { add_event(thread, "starts a block"); }

void journal::enter(int thread) {
    per_thread& t = of(thread);
    const instant begin = t.last;
    const bool again = t.attempt >= 0;
    const instant entered = add_event(thread, again ? "was rolled back and enters again" : "enters");
    if (again) current(thread).end = entered;
    t.attempt = static_cast<int>(history_.attempts.size());
    t.depth = 0;
    t.partial_rollbacks = 0;
    attempt& a = history_.attempts.emplace_back();
    a.thread = thread;
    a.begin = begin;
}

void journal::ask_to_commit(int thread) { current(thread).asked = add_event(thread, "asks to commit"); }

void journal::ended(int thread, bool committed) {
    if (of(thread).attempt < 0) return;
    attempt& a = current(thread);
    a.end = add_event(thread, committed ? "has committed" : "has been left without effect");
    a.committed = committed;
    of(thread).attempt = -1;
}

void journal::read(int thread, int place, value v) {
    current(thread).operations.push_back({operation::kind::read, place, v, add_event(thread, "reads", place, v)});
}

void journal::write(int thread, int place, value v) {
    current(thread).operations.push_back({operation::kind::write, place, v, add_event(thread, "writes", place, v)});
}

void journal::open(int thread) {
    ++of(thread).depth;
    current(thread).operations.push_back({operation::kind::open, 0, 0, add_event(thread, "opens a nested block")});
}

void journal::close(int thread) {
    --of(thread).depth;
    current(thread).operations.push_back({operation::kind::close, 0, 0, add_event(thread, "closes the nested block")});
}

void journal::undo_to(int thread, int depth) {
    for (; of(thread).depth > depth; --of(thread).depth) {
        current(thread).operations.push_back(
            {operation::kind::undo, 0, 0, add_event(thread, "undoes the nested block")});
    }
}

bool journal::record_partial_rollback(int thread, int depth, std::uint32_t times) {
    per_thread& t = of(thread);
    if (t.partial_rollbacks == times) return false;
    t.partial_rollbacks = times;
    attempt next = current(thread);
    current(thread).end = add_event(thread, "was rolled back to a nested block");
    std::size_t kept = 0;
    int open = 0;
    for (std::size_t i = 0; i < next.operations.size(); ++i) {
        const auto what = next.operations[i].what;
        if (what == operation::kind::open && open++ == depth) kept = i;
        if (what == operation::kind::close || what == operation::kind::undo) --open;
    }
    next.operations.resize(kept);
    t.depth = depth;
    t.attempt = static_cast<int>(history_.attempts.size());
    history_.attempts.push_back(std::move(next));
    return true;
}

void journal::irrevocable(int thread) { current(thread).irrevocable = add_event(thread, "is irrevocable"); }

void journal::gave_up(int thread, const char* how) {
    add_event(thread, how);
    if (of(thread).depth == 0) current(thread).gave_up = true;
}

void journal::doom(int attempt) { history_.attempts[static_cast<std::size_t>(attempt)].doomed = true; }

bool journal::is_doomed(int thread) const {
    const int attempt = running(thread);
    return attempt >= 0 && history_.attempts[static_cast<std::size_t>(attempt)].doomed;
}

void journal::record_lone_access(int thread, instant begin, operation::kind what, int place, value v) {
    const bool reads = what == operation::kind::read;
    const instant end = add_event(thread, reads ? "reads outside of blocks" : "writes outside of blocks", place, v);
    attempt& a = history_.attempts.emplace_back();
    a.thread = thread;
    a.begin = a.asked = begin;
    a.end = end;
    a.committed = true;
    a.operations.push_back({what, place, v, end});
}

void journal::note(int thread, const char* text) { add_event(thread, text); }

void journal::report_error(std::string what) {
    if (!complaint_) complaint_ = std::move(what);
}

std::optional<std::string> journal::verdict() const {
    if (complaint_) return complaint_;
    if (auto wrong = find_violation(history_)) {
        for (std::size_t i = 0; i < places_.size(); ++i) {
            const std::string number = "place " + std::to_string(i) + ' ';
            if (const auto at = wrong->find(number); at != std::string::npos) {
                wrong->replace(at, number.size(), places_[i] + ' ');
                break;
            }
        }
        return "not opaque: " + *wrong;
    }
    return find_broken_promise(history_);
}

std::string journal::trace() const {
    std::string text = "  point  thread\n";
    for (const line& l : lines_) {
        std::string point = std::to_string(l.point);
        point.insert(0, 7 - std::min<std::size_t>(7, point.size()), ' ');
        text += point + "  " + std::string(static_cast<std::size_t>(l.thread) * 2, ' ') +
                static_cast<char>('A' + l.thread) + ' ' + l.text;
        if (l.place >= 0) text += ' ' + places_[static_cast<std::size_t>(l.place)] + " = " + std::to_string(l.v);
        text += '\n';
    }
    return text;
}

}  // namespace interleaving
