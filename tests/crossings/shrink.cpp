#include "shrink.hpp"

#include <algorithm>

namespace crossings {
namespace {

/// Calls f(body, index) for every step, until it returns true.
bool visit(std::vector<node>& body, const std::function<bool(std::vector<node>&, std::size_t)>& f) {
    for (std::size_t i = 0; i < body.size(); ++i) {
        if (f(body, i)) return true;
        if (visit(body[i].body, f) || visit(body[i].other, f)) return true;
    }
    return false;
}

/// Calls `change(body, index)` for step number `which` of the program. Returns false if that step does not exist.
bool at_step(program& p, std::size_t which, const std::function<void(std::vector<node>&, std::size_t)>& change) {
    std::size_t number = 0;
    for (auto& t : p.threads) {
        const bool found = visit(t, [&](std::vector<node>& body, std::size_t i) {
            if (number++ != which) return false;
            change(body, i);
            return true;
        });
        if (found) return true;
    }
    return false;
}

void take_out(std::vector<node>& body, std::size_t i) { body.erase(body.begin() + static_cast<std::ptrdiff_t>(i)); }
void replace_by_body(std::vector<node>& body, std::size_t i) {
    node n = std::move(body[i]);
    take_out(body, i);
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(i), n.body.begin(), n.body.end());
}
void replace_by_other(std::vector<node>& body, std::size_t i) {
    node n = std::move(body[i]);
    take_out(body, i);
    body.insert(body.begin() + static_cast<std::ptrdiff_t>(i), n.other.begin(), n.other.end());
}
void clear_numbers(std::vector<node>& body, std::size_t i) { body[i].first = body[i].second = 0; }
void clear_first(std::vector<node>& body, std::size_t i) { body[i].first = 0; }
void clear_second(std::vector<node>& body, std::size_t i) { body[i].second = 0; }

}  // namespace

program shrink(program p, const std::function<bool(const program&)>& fails, int most_tries) {
    const auto attempt = [&](program candidate) {
        prune(candidate);
        if (candidate.threads.empty() || most_tries <= 0) return false;
        if (print(candidate) == print(p)) return false;
        --most_tries;
        if (!fails(candidate)) return false;
        p = std::move(candidate);
        return true;
    };
    for (bool changed = true; changed && most_tries > 0;) {
        changed = false;
        for (std::size_t i = 0; i < p.threads.size() && p.threads.size() > 1; ++i) {
            program candidate = p;
            candidate.threads.erase(candidate.threads.begin() + static_cast<std::ptrdiff_t>(i));
            if (attempt(std::move(candidate))) changed = true, --i;
        }
        for (const int copies : {1, p.copies / 2, p.copies - 1}) {
            if (copies < 1 || copies >= p.copies) continue;
            program candidate = p;
            candidate.copies = copies;
            if (attempt(std::move(candidate))) changed = true;
        }
        for (const auto& change :
             {take_out, replace_by_body, replace_by_other, clear_numbers, clear_first, clear_second}) {
            for (std::size_t i = 0;;) {
                program candidate = p;
                if (!at_step(candidate, i, change)) break;
                if (attempt(std::move(candidate))) changed = true;
                else ++i;
            }
        }
        for (std::size_t i = 0;; ++i) {
            unsigned options = 0;
            program copy = p;
            if (!at_step(copy, i, [&](auto& body, std::size_t k) { options = body[k].options; })) break;
            for (unsigned bit = 1; bit <= options; bit <<= 1) {
                if ((options & bit) == 0) continue;
                program candidate = p;
                at_step(candidate, i, [&](auto& body, std::size_t k) { body[k].options &= ~bit; });
                if (attempt(std::move(candidate))) changed = true;
            }
        }
    }
    return p;
}

}  // namespace crossings
