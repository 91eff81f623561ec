// The tests of the programs after STAMP rely on their checks. Here each check gets wrong results.
#include <gtest/gtest.h>

#include "stamp/programs/bayes.hpp"
#include "stamp/programs/intruder.hpp"
#include "stamp/programs/kmeans.hpp"
#include "stamp/programs/labyrinth.hpp"
#include "stamp/programs/ssca2.hpp"
#include "stamp/programs/vacation.hpp"
#include "stamp/programs/yada.hpp"

namespace {

using build = stamp::sequential;

void expect_complaint(const std::string& wrong, const std::string& about) {
    EXPECT_NE(wrong.find(about), wrong.npos) << "it says '" << wrong << "'";
}

TEST(checks, intruder_sees_lost_repeated_and_changed_flows) {
    using namespace stamp::intruder;
    const traffic input{200, 1};
    std::vector<std::vector<finding>> found(1);
    detector<build>{input}.work(found[0]);
    ASSERT_EQ(check(input, found), "");
    auto other = found;
    other[0].pop_back();
    expect_complaint(check(input, other), "never complete");
    other[0].push_back(other[0].front());
    expect_complaint(check(input, other), "twice");
    other = found;
    other[0][0].digest ^= 1;
    expect_complaint(check(input, other), "another text");
    other = found;
    other[0][0].attack = !other[0][0].attack;
    expect_complaint(check(input, other), "judged wrongly");
}

TEST(checks, kmeans_sees_one_point_in_another_cluster) {
    using namespace stamp::kmeans;
    const auto wanted = expected(make_points(500, 1), 15);
    ASSERT_EQ(check(wanted, wanted), "");
    auto other = wanted;
    other.cluster_of[7] = (other.cluster_of[7] + 1) % 15;
    expect_complaint(check(other, wanted), "points");
    other = wanted;
    ++other.centres[3][0];
    expect_complaint(check(other, wanted), "centres");
}

TEST(checks, vacation_sees_a_booking_that_no_customer_has) {
    using namespace stamp::vacation;
    agency<build> where{10};
    const auto stock = where.fill(stamp::random_source{1});
    stamp::plain_context t;
    where.book(t, 3, {0, 4});
    ASSERT_EQ(where.check(), "");
    ASSERT_EQ(where.stock(), stock);
    where.offered(t, 0, 4)->used.set(t, 2);
    expect_complaint(where.check(), "booked 2 times");
    where.offered(t, 0, 4)->used.set(t, 0);
    EXPECT_NE(where.stock(), stock);
}

TEST(checks, labyrinth_sees_gaps_thefts_and_lost_wires) {
    using namespace stamp::labyrinth;
    const maze m{20, 1};
    router<build> r{m};
    std::vector<std::vector<result>> results(1);
    r.work(results[0]);
    ASSERT_EQ(check(m, r, results), "");
    auto other = results;
    other[0].pop_back();
    expect_complaint(check(m, r, other), "dealt with");
    other = results;
    other[0][0].way.pop_back();
    expect_complaint(check(m, r, other), "lead");
    other = results;
    auto& way = other[0][0].way;
    ASSERT_GT(way.size(), 2u);
    way.erase(way.begin() + 1);
    expect_complaint(check(m, r, other), "gap");
    other = results;
    std::swap(other[0][0].of.number, other[0][1].of.number);
    expect_complaint(check(m, r, other), "its own");
}

TEST(checks, ssca2_sees_an_edge_that_is_another) {
    using namespace stamp::ssca2;
    const auto edges = make_edges(100, 1);
    auto other = edges;
    ASSERT_EQ(check(edges, other), "");
    std::swap(other[5].ends[0], other[5].ends[1]);
    other[6].ends[0] ^= 1;
    expect_complaint(check(edges, other), "edges");
    other.pop_back();
    expect_complaint(check(edges, other), "edges");
}

TEST(checks, yada_sees_a_broken_mesh) {
    using namespace stamp::yada;
    mesh<build> m;
    bad_ones<build> bad;
    refiner<build> one{m, bad};
    one.insert({side / 2, side / 2});
    const auto all = all_of(m);
    ASSERT_EQ(all.size(), 4u);
    ASSERT_EQ(check<build>(all), "");
    expect_complaint(check<build>({all.begin(), all.end() - 1}), "cover");
    stamp::plain_context t;
    all[0]->is_removed.set(t, true);
    expect_complaint(check<build>(all), "removed");
    all[0]->is_removed.set(t, false);
    auto* const neighbour = all[0]->neighbour[1].get(t);
    all[0]->neighbour[1].set(t, nullptr);
    expect_complaint(check<build>(all), "hole");
    all[0]->neighbour[1].set(t, all[0]);
    expect_complaint(check<build>(all), "agree");
    all[0]->neighbour[1].set(t, neighbour);
    ASSERT_EQ(check<build>(all), "");
    one.insert({side / 2, side / 2 + 10});
    expect_complaint(check<build>(all_of(m)), "angle");
    for (auto* e : all_of(m)) delete e;
}

TEST(checks, bayes_sees_a_cycle_and_a_wrong_score) {
    using namespace stamp::bayes;
    const records data{500, 1};
    network<build> n{data};
    ASSERT_EQ(check(data, n), "");
    stamp::plain_context t;
    proposal best = n.best_for(t, 5);
    ASSERT_GT(best.gain, 0);
    best.gain *= 2;
    ASSERT_TRUE(n.apply(t, best));
    expect_complaint(check(data, n), "score");
    n.set_parents(t, 0, only(1));
    n.set_parents(t, 1, only(0));
    EXPECT_TRUE(has_cycle(n));
}

}  // namespace
