#include "program.hpp"

#include <array>
#include <cctype>
#include <stdexcept>

namespace crossings {
namespace {

struct description {
    const char* name;
    group of;
    bool changes;
};

constexpr description descriptions[] = {
#define CROSSINGS_STEP(name, group_, writes) {#name, group::group_, writes},
#include "steps.def"
#undef CROSSINGS_STEP
};

constexpr std::array<const char*, 10> option_names = {"swallows", "read_only", "visible",     "irrevocable", "timed",
                                                      "refuses",  "strictly",  "holds_block", "starved",     "fragile"};

void print(std::string& out, const std::vector<node>& body, std::size_t indent) {
    for (const node& n : body) {
        out += '\n';
        out.append(indent, ' ');
        out += '(';
        out += name_of(n.what);
        for (std::size_t i = 0; i < option_names.size(); ++i)
            if ((n.options >> i & 1) != 0) out += std::string{":"} + option_names[i];
        out += ' ' + std::to_string(n.first) + ' ' + std::to_string(n.second);
        print(out, n.body, indent + 2);
        if (!n.other.empty()) {
            out += '\n';
            out.append(indent, ' ');
            out += "(or";
            print(out, n.other, indent + 2);
            out += ')';
        }
        out += ')';
    }
}

class parser {
public:
    explicit parser(std::string_view text) : text_{text} {}

    program whole() {
        program p;
        expect("(");
        expect("program");
        p.copies = number();
        while (next() == '(') {
            expect("(");
            expect("thread");
            p.threads.push_back(body());
            expect(")");
        }
        expect(")");
        return p;
    }

private:
    char next() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    void expect(std::string_view word) {
        next();
        if (text_.substr(at_, word.size()) != word)
            throw std::invalid_argument{"expected " + std::string{word} + " at " + std::to_string(at_)};
        at_ += word.size();
    }
    std::string word() {
        next();
        std::string out;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
            out += text_[at_++];
        return out;
    }
    int number() {
        next();
        std::string out;
        while (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-'))
            out += text_[at_++];
        if (out.empty()) throw std::invalid_argument{"expected a number at " + std::to_string(at_)};
        return std::stoi(out);
    }
    std::vector<node> body() {
        std::vector<node> out;
        while (next() == '(' && text_.substr(at_, 3) != "(or") {
            expect("(");
            node n{.what = named(word()), .options = 0, .first = 0, .second = 0, .body = {}, .other = {}};
            while (at_ < text_.size() && text_[at_] == ':') {
                ++at_;
                n.options |= option_named(word());
            }
            n.first = number();
            n.second = number();
            n.body = body();
            if (next() == '(') {
                expect("(or");
                n.other = body();
                expect(")");
            }
            expect(")");
            out.push_back(std::move(n));
        }
        return out;
    }
    static step named(const std::string& name) {
        for (int i = 0; i < step_count; ++i)
            if (name == descriptions[i].name) return static_cast<step>(i);
        throw std::invalid_argument{"there is no step " + name};
    }
    static unsigned option_named(const std::string& name) {
        for (std::size_t i = 0; i < option_names.size(); ++i)
            if (name == option_names[i]) return 1u << i;
        throw std::invalid_argument{"there is no option " + name};
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

std::size_t size_of(const std::vector<node>& body) {
    std::size_t n = 0;
    for (const node& s : body) n += 1 + size_of(s.body) + size_of(s.other);
    return n;
}

void collect(const std::vector<node>& body, std::set<std::string>& names) {
    for (const node& s : body) {
        names.insert(name_of(s.what));
        for (std::size_t i = 0; i < option_names.size(); ++i)
            if ((s.options >> i & 1) != 0) names.insert(std::string{":"} + option_names[i]);
        collect(s.body, names);
        collect(s.other, names);
    }
}

}  // namespace

const char* name_of(step s) noexcept { return descriptions[static_cast<int>(s)].name; }
group group_of(step s) noexcept { return descriptions[static_cast<int>(s)].of; }
bool writes(step s) noexcept { return descriptions[static_cast<int>(s)].changes; }

std::string print(const program& p) {
    std::string out = "(program " + std::to_string(p.copies);
    for (const auto& t : p.threads) {
        out += "\n (thread";
        print(out, t, 2);
        out += ')';
    }
    return out + ")\n";
}

program parse(std::string_view text) { return parser{text}.whole(); }

std::size_t size_of(const program& p) {
    std::size_t n = 0;
    for (const auto& t : p.threads) n += 1 + size_of(t);
    return n;
}

std::set<std::string> ingredients(const program& p) {
    std::set<std::string> names;
    const std::size_t threads = p.threads.size() * static_cast<std::size_t>(p.copies);
    if (threads > 1) names.insert("threads");
    if (threads > 3) names.insert("many_threads");
    for (const auto& t : p.threads) collect(t, names);
    return names;
}

}  // namespace crossings
