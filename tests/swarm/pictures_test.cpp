// Objects are drawn in the right place, and the files contain them, as the libraries for such files read them.
#include "swarm/pictures.hpp"

#include <gif_lib.h>
#include <gtest/gtest.h>
#include <png.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numbers>

#include "swarm/drawing.hpp"

namespace swarm {
namespace {

constexpr point middle{space_side / 2, space_side / 2, space_side / 2};

std::ptrdiff_t differing(const image& a, const image& b) {
    std::ptrdiff_t n = 0;
    for (std::size_t i = 0; i < a.pixels.size(); ++i) n += a.pixels[i] == b.pixels[i] ? 0 : 1;
    return n;
}

image drawn(const snapshot& seen, int radius = space_side / 20) {
    canvas c;
    c.draw(seen, radius);
    return c.picture();
}

sighting ball(object_id id, point where) { return {id, 0, where, {}}; }

TEST(swarm_drawing, a_ball_covers_a_disc) {
    const double radius_in_pixels = 1.52 * picture_height / 2.3 / 20;
    const double disc = std::numbers::pi * radius_in_pixels * radius_in_pixels;
    EXPECT_NEAR(static_cast<double>(differing(drawn({ball(0, middle)}), drawn({}))), disc, disc / 10);
}

TEST(swarm_drawing, the_nearer_ball_hides_the_farther_one_in_any_order) {
    point before = middle;
    before.z = space_side / 4;
    const image one = drawn({ball(0, before), ball(1, middle)});
    const image other = drawn({ball(1, middle), ball(0, before)});
    EXPECT_EQ(differing(one, other), 0);
    EXPECT_NE(differing(one, drawn({ball(0, before)})), 0);
}

TEST(swarm_drawing, a_ball_smaller_than_a_pixel_is_a_dot) {
    EXPECT_GT(differing(drawn({ball(0, middle)}, 1), drawn({})), 0);
}

struct recorded_run {
    program_options options;
    run_result result;
    recorded_run() {
        const std::string place = testing::TempDir() + "tutti-swarm-" + std::to_string(getpid());
        options.png = place + "-frames";
        options.gif = place + ".gif";
        result.radius = space_side / 20;
        result.recording = {{ball(0, middle)}, {ball(1, {}), ball(2, middle)}};
        prepare_pictures(options);
    }
    ~recorded_run() {
        std::error_code ignored;
        std::filesystem::remove_all(options.png, ignored);
        std::filesystem::remove(options.gif, ignored);
    }
};

TEST(swarm_pictures, png_files_hold_what_was_drawn) {
    const recorded_run run;
    EXPECT_EQ(write_pictures(run.options, run.result), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        const std::string path = run.options.png + "/frame-0000" + std::to_string(i) + ".png";
        png_image header{};
        header.version = PNG_IMAGE_VERSION;
        ASSERT_NE(png_image_begin_read_from_file(&header, path.c_str()), 0) << header.message;
        header.format = PNG_FORMAT_RGB;
        ASSERT_EQ(header.width, static_cast<unsigned>(picture_width));
        ASSERT_EQ(header.height, static_cast<unsigned>(picture_height));
        image read{picture_width, picture_height};
        ASSERT_NE(png_image_finish_read(&header, nullptr, read.pixels.data(), 0, nullptr), 0) << header.message;
        EXPECT_EQ(differing(read, drawn(run.result.recording[i])), 0);
    }
}

TEST(swarm_pictures, a_gif_file_holds_every_frame_in_nearly_its_colours) {
    const recorded_run run;
    EXPECT_EQ(write_pictures(run.options, run.result), 2u);
    int error = 0;
    GifFileType* const file = DGifOpenFileName(run.options.gif.c_str(), &error);
    ASSERT_NE(file, nullptr) << GifErrorString(error);
    ASSERT_EQ(DGifSlurp(file), GIF_OK) << GifErrorString(file->Error);
    EXPECT_EQ(file->ImageCount, 2);
    for (int i = 0; i < std::min(file->ImageCount, 2); ++i) {
        const SavedImage& frame = file->SavedImages[i];
        GraphicsControlBlock control{};
        EXPECT_EQ(DGifSavedExtensionToGCB(file, i, &control), GIF_OK);
        EXPECT_EQ(control.DelayTime, 3);
        ASSERT_EQ(frame.ImageDesc.Width * frame.ImageDesc.Height, picture_width * picture_height);
        const image expected = drawn(run.result.recording[static_cast<std::size_t>(i)]);
        int farthest = 0;
        for (std::size_t p = 0; p < expected.pixels.size(); ++p) {
            const GifColorType& c = file->SColorMap->Colors[frame.RasterBits[p]];
            const colour& e = expected.pixels[p];
            farthest =
                std::max({farthest, std::abs(c.Red - e.red), std::abs(c.Green - e.green), std::abs(c.Blue - e.blue)});
        }
        EXPECT_LE(farthest, 255 / 5 + 1);  // one level of the palette
    }
    DGifCloseFile(file, &error);
}

// The PNG library removes a file that it could not write, so the test does not use a device.
TEST(swarm_pictures, what_cannot_be_written_is_an_error) {
    EXPECT_THROW(write_png(drawn({}), "/nonexistent/frame.png"), file_error);
    EXPECT_THROW(
        {
            gif_writer gif("/dev/full", picture_width, picture_height, 30);
            gif.add(drawn({ball(0, middle)}));
            gif.finish();
        },
        file_error);
}

}  // namespace
}  // namespace swarm
