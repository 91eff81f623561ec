// The scene keeps its invariants, and the check of snapshots detects each broken invariant.
#include <gtest/gtest.h>

#include "support/effort.hpp"
#include "swarm/physics.hpp"
#include "swarm/snapshot.hpp"

namespace swarm {
namespace {

constexpr int objects = 100;

snapshot snapshot_of(scene& world) {
    snapshot seen;
    take_snapshot(world, {}, seen);
    return seen;
}

class swarm_check : public testing::Test {
protected:
    scene world_{objects, 7};
    snapshot seen_ = snapshot_of(world_);
};

TEST_F(swarm_check, accepts_the_start) { EXPECT_EQ(violation_in(seen_, world_), ""); }

TEST_F(swarm_check, notices_an_impulse_that_nobody_gave) {
    ++seen_[3].speed.y;
    EXPECT_NE(violation_in(seen_, world_).find("momentum"), std::string::npos);
}

TEST_F(swarm_check, notices_an_object_in_the_list_of_another_cell) {
    seen_[3].position.x ^= 0x8000;
    EXPECT_NE(violation_in(seen_, world_).find("cell"), std::string::npos);
}

TEST_F(swarm_check, notices_an_object_in_two_lists) {
    seen_.push_back(seen_.front());
    EXPECT_NE(violation_in(seen_, world_).find("twice"), std::string::npos);
}

TEST_F(swarm_check, notices_an_object_in_no_list) {
    seen_.pop_back();
    EXPECT_NE(violation_in(seen_, world_).find("99 of 100"), std::string::npos);
}

TEST_F(swarm_check, ends_when_a_list_is_a_circle) {
    object& any = world_[seen_.front().id];
    any.next.store(seen_.front().id);
    EXPECT_NE(violation_in(snapshot_of(world_), world_).find("twice"), std::string::npos);
}

TEST(swarm_scene, an_object_that_is_not_where_its_cell_says_cannot_move) {
    scene world{objects, 7};
    const point from = world[0].position.load();
    point elsewhere = from, far = from;
    elsewhere.x ^= 0x8000;
    far.y ^= 0x8000;
    EXPECT_THROW(tutti::atomically([&](tutti::tx& t) { world.move(t, 0, elsewhere, far); }), inconsistency);
    EXPECT_EQ(violation_in(snapshot_of(world), world), "");
}

TEST(swarm_scene, is_the_same_for_the_same_seed) {
    scene one{objects, 7}, same{objects, 7}, other{objects, 8};
    EXPECT_EQ(one.momentum(), same.momentum());
    EXPECT_NE(one.momentum(), other.momentum());
}

TEST(swarm_scene, keeps_its_invariants_however_many_objects_there_are) {
    for (const int size : {2, 100, 511, 512, 5000}) {
        scene world{size, 7};
        EXPECT_LT(2 * world.radius(), world.cells().cell_side()) << size;
        for (object_id id = 0; id < std::min(size, 100); ++id) step(world, id);
        EXPECT_EQ(violation_in(snapshot_of(world), world), "") << size;
    }
}

TEST(swarm_physics, touching_balls_that_approach_swap_their_speeds) {
    scene world{2, 7};
    const point here = world[0].position.load();
    const point there = moved(here, {static_cast<std::int16_t>(world.radius()), 0, 0});
    tutti::atomically([&](tutti::tx& t) {
        world.move(t, 1, world[1].position.get(t), there);
        world[0].speed.set(t, {50, 10, 0});
        world[1].speed.set(t, {-30, 0, 20});
    });
    step(world, 0);
    const velocity first = world[0].speed.load(), second = world[1].speed.load();
    EXPECT_EQ(first.x, -30);
    EXPECT_EQ(first.y, 10);
    EXPECT_EQ(second.x, 50);
    EXPECT_EQ(second.z, 20);
    EXPECT_EQ(way(here, world[0].position.load()), (offset{-30, 10, 0}));
}

TEST(swarm_physics, moves_from_cell_to_cell_and_around_the_torus) {
    scene world{2, 7};
    for (std::size_t i = tutti::support::rounds(4000); i > 0; --i) {
        step(world, 0);
        step(world, 1);
    }
    EXPECT_EQ(violation_in(snapshot_of(world), world), "");
}

}  // namespace
}  // namespace swarm
