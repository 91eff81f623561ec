// dynamic_cast in atomic blocks; the macro that replaces it must keep the language's semantics.
#include <thread>
#include <type_traits>
#include <typeinfo>

#include "cxx.hpp"

namespace {

struct shape {
    [[gnu::transaction_safe]] virtual ~shape() {}
    int kind = 0;
};
struct circle : shape {
    circle() { kind = 1; }
    int radius = 3;
};
struct square : shape {
    square() { kind = 2; }
    int side = 4;
};
struct unit_circle final : circle {};

struct left {
    virtual ~left() = default;
    int of_left = 5;
};
struct right {
    virtual ~right() = default;
    int of_right = 6;
};
struct both : left, right {
    int of_both = 7;
};
struct hidden : private right, public left {
    right* as_right() { return dynamic_cast<right*>(this); }  // only a member may access that base
};
struct top {
    virtual ~top() = default;
    int of_top = 8;
};
struct one_side : virtual top {
    int of_one = 9;
};
struct other_side : virtual top {
    int of_other = 10;
};
struct bottom : one_side, other_side {};
struct twice_left : left {};
struct twice_right : left {};
struct twice : twice_left, twice_right {};

shape* a_circle = new unit_circle;
shape* a_square = new square;
shape* nothing = nullptr;
left* a_both = new both;
left* a_hidden = new hidden;
top* a_bottom = new bottom;
twice_left* a_twice = new twice;

int sum = 0;

/// Does the same in blocks and in plain code.
void sum_up() {
    sum = 0;
    if (auto* const c = dynamic_cast<circle*>(a_circle)) sum += c->radius;
    if (dynamic_cast<unit_circle*>(a_circle) != nullptr) sum += 100;
    if (dynamic_cast<square*>(a_circle) != nullptr) sum += 10'000;
    if (dynamic_cast<const circle*>(nothing) != nullptr) sum += 10'000;
    if (const auto* const r = dynamic_cast<const right*>(a_both)) sum += r->of_right;
    if (auto* const b = dynamic_cast<both*>(a_both)) sum += b->of_both;
    if (dynamic_cast<right*>(a_hidden) != nullptr) sum += 10'000;
    if (auto* const o = dynamic_cast<other_side*>(a_bottom)) sum += o->of_other + o->of_top;
    if (auto* const o = dynamic_cast<one_side*>(dynamic_cast<other_side*>(a_bottom))) sum += o->of_one;
    if (dynamic_cast<void*>(dynamic_cast<right*>(a_both)) == static_cast<void*>(a_both)) sum += 1000;
    if (dynamic_cast<twice_right*>(a_twice) != nullptr) sum += 2000;
    sum += dynamic_cast<square&>(*a_square).side;
    sum += dynamic_cast<square&&>(*a_square).side;
    dynamic_cast<circle&>(*a_circle).radius += 1;
}
constexpr int expected_sum = 3 + 100 + 6 + 7 + (10 + 8) + 9 + 1000 + 2000 + 4 + 4;

void agrees() {
    circle& changed = static_cast<circle&>(*a_circle);
    sum_up();
    EXPECT(sum == expected_sum && changed.radius == 4);
    for (const ending e : every_ending) {
        changed.radius = 3;
        sum = -1;
        cxx::run_beside(e, [] { sum_up(); });
        if (e == ending::cancel) EXPECT(sum == -1 && changed.radius == 3);
        else EXPECT(sum == expected_sum && changed.radius == 4);
    }
    EXPECT(static_cast<hidden*>(a_hidden)->as_right()->of_right == 6);
}

void refuses() {
    sum = 0;
    bool caught = false;
    try {
        cxx::run_beside(ending::restarts, [] {
            ++sum;
            sum += dynamic_cast<square&>(*a_circle).side;
        });
    } catch (const std::bad_cast&) {
        caught = true;
    }
    EXPECT(caught && sum == 1);  // the exception committed
}

void names_types() {
    cxx::run_beside(ending::restarts, [] { sum = typeid(*a_square) == typeid(square) ? 1 : 2; });
    EXPECT(sum == 1);
    bool caught = false;
    try {
        cxx::run_beside(ending::restarts, [] { sum = typeid(*nothing) == typeid(square) ? 3 : 4; });
    } catch (const std::bad_typeid&) {
        caught = true;
    }
    EXPECT(caught && sum == 1);
}

/// One thread destroys the object that the other casts.
shape* moving = new circle;

void replace(int turn) {
    shape* const old = moving;
    if (turn % 3 == 0) moving = new square;
    else moving = new circle;
    delete old;
}

int mistakes = 0, casts = 0;

void look() {
    const auto* const c = dynamic_cast<circle*>(moving);
    const auto* const s = dynamic_cast<square*>(moving);
    ++casts;
    if ((c != nullptr) != (moving->kind == 1) || (s != nullptr) != (moving->kind == 2)) ++mistakes;
}

void beside_destructors() {
    constexpr int turns = 20'000;
    std::thread other{[] {
        for (int i = 0; i != turns; ++i) {
            run(i % 5 == 0 ? ending::cancel : ending::commit, [&i] { replace(i); });
        }
    }};
    for (int i = 0; i != turns; ++i) run(ending::commit, [] { look(); });
    other.join();
    EXPECT(mistakes == 0 && casts == turns);
}

// The rules for the operator outside of blocks.
struct base {
    constexpr virtual bool is_derived() const { return false; }
};
struct derived final : base {
    constexpr bool is_derived() const override { return true; }
    int value = 11;
};
constexpr int in_a_constant() {
    derived d;
    base& b = d;
    return dynamic_cast<derived&>(b).value + (dynamic_cast<derived*>(&b) != nullptr ? 1 : 0);
}
static_assert(in_a_constant() == 12);
static_assert(noexcept(dynamic_cast<circle*>(nothing)) && !noexcept(dynamic_cast<circle&>(*nothing)));
static_assert(std::is_same_v<decltype(dynamic_cast<const circle*>(nothing)), const circle*>);
static_assert(std::is_same_v<decltype(dynamic_cast<circle&>(*nothing)), circle&>);
template <class To, class From>
concept castable = requires(From from) { dynamic_cast<To>(from); };
static_assert(castable<circle*, shape*>);

}  // namespace

void cxx::try_casts() {
    agrees();
    refuses();
    names_types();
    beside_destructors();
}
