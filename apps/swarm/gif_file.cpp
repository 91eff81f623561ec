#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gif_lib.h>

#include "swarm/image.hpp"

namespace swarm {
namespace {

// The eye distinguishes green best.
constexpr int reds = 6, greens = 7, blues = 6;
constexpr int palette_size = 256;

/// Bayer's 4x4 matrix: the thresholds, in sixteenths of a level, above which neighbouring pixels are rounded up.
constexpr std::array<int, 16> thresholds{0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5};

int level(int value, int levels, int threshold) {
    const int sixteenths = value * (levels - 1) * 16 / 255;
    return std::min((sixteenths + threshold) / 16, levels - 1);
}

GifByteType palette_index(colour c, unsigned x, unsigned y) {
    const int threshold = thresholds[(y & 3) * 4 + (x & 3)];
    const int red = level(c.red, reds, threshold);
    const int green = level(c.green, greens, threshold);
    const int blue = level(c.blue, blues, threshold);
    return static_cast<GifByteType>((red * greens + green) * blues + blue);
}

struct map_release {
    void operator()(ColorMapObject* map) const { GifFreeMapObject(map); }
};

std::unique_ptr<ColorMapObject, map_release> palette() {
    std::unique_ptr<ColorMapObject, map_release> map{GifMakeMapObject(palette_size, nullptr)};
    if (map == nullptr) throw std::bad_alloc{};
    for (int i = 0; i < reds * greens * blues; ++i) {
        const auto shade = [](int of, int levels) { return static_cast<GifByteType>(of * 255 / (levels - 1)); };
        map->Colors[i] = {shade(i / blues / greens, reds), shade(i / blues % greens, greens), shade(i % blues, blues)};
    }
    return map;
}

/// Netscape's extension that repeats an animation forever.
constexpr std::string_view repeat_name = "NETSCAPE2.0";
constexpr std::array<GifByteType, 3> repeat_for_ever{1, 0, 0};

}  // namespace

struct gif_writer::state {
    std::string path;
    int width;
    int height;
    int delay;  ///< hundredths of a second
    GifFileType* file = nullptr;

    state(const std::string& to, int w, int h, double fps)
        : path{to}, width{w}, height{h}, delay{std::max(1, static_cast<int>(std::lround(100 / fps)))} {
        int error = 0;
        file = EGifOpenFileName(path.c_str(), false, &error);
        if (file == nullptr) refuse(error);
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state() {
        int error = 0;
        if (file != nullptr) EGifCloseFile(file, &error);
    }
    void check(int answer) const {
        if (answer == GIF_ERROR) refuse(file->Error);
    }
    [[noreturn]] void refuse(int error) const {
        const char* const why = GifErrorString(error);
        throw file_error{fmt::format("{} cannot be written: {}", path, why == nullptr ? "unknown error" : why)};
    }
};

gif_writer::gif_writer(const std::string& path, int width, int height, double fps)
    : state_{std::make_unique<state>(path, width, height, fps)} {
    GifFileType* const file = state_->file;
    EGifSetGifVersion(file, true);
    state_->check(EGifPutScreenDesc(file, width, height, 8, 0, palette().get()));
    state_->check(EGifPutExtensionLeader(file, APPLICATION_EXT_FUNC_CODE));
    state_->check(EGifPutExtensionBlock(file, repeat_name.size(), repeat_name.data()));
    state_->check(EGifPutExtensionBlock(file, repeat_for_ever.size(), repeat_for_ever.data()));
    state_->check(EGifPutExtensionTrailer(file));
}

gif_writer::~gif_writer() = default;

void gif_writer::add(const image& frame) {
    const state& s = *state_;
    std::vector<GifByteType> row(static_cast<std::size_t>(s.width));
    const GraphicsControlBlock control{
        .DisposalMode = DISPOSE_DO_NOT, .UserInputFlag = false, .DelayTime = s.delay, .TransparentColor = -1};
    std::array<GifByteType, 4> packed{};
    EGifGCBToExtension(&control, packed.data());
    s.check(EGifPutExtension(s.file, GRAPHICS_EXT_FUNC_CODE, packed.size(), packed.data()));
    s.check(EGifPutImageDesc(s.file, 0, 0, s.width, s.height, false, nullptr));
    const colour* pixel = frame.pixels.data();
    for (unsigned y = 0; y < static_cast<unsigned>(s.height); ++y) {
        for (unsigned x = 0; x < row.size(); ++x) row[x] = palette_index(*pixel++, x, y);
        s.check(EGifPutLine(s.file, row.data(), s.width));
    }
}

void gif_writer::finish() {
    int error = 0;
    GifFileType* const file = std::exchange(state_->file, nullptr);
    if (EGifCloseFile(file, &error) == GIF_ERROR) state_->refuse(error);
}

}  // namespace swarm
