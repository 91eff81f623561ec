// Catches invalid JSON: numbers in the format of the program's locale, and bytes that are not UTF-8.
#include "observe/json.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

namespace {

using tutti::observe::json_writer;

std::string written(double number) { return json_writer{}.value(number).text(); }

TEST(json, writes_numbers_with_three_decimals) {
    EXPECT_EQ(written(0), "0.000");
    EXPECT_EQ(written(-1.0005), "-1.000");
    EXPECT_EQ(written(1234567.8916), "1234567.892");
    EXPECT_EQ(written(std::numeric_limits<double>::lowest()).size(), 1 + 309 + 4U);
}

/// A locale with a decimal comma, which the test builds from the system's definition.
TEST(json, writes_the_same_numbers_in_every_locale) {
    const std::string folder = testing::TempDir() + "tutti-locale-" + std::to_string(::getpid());
    std::filesystem::create_directory(folder);
    const std::string make = "localedef -i sv_SE -f UTF-8 " + folder + "/sv_SE.UTF-8 2>&1";
    const bool is_made = std::system(make.c_str()) == 0;
    ::setenv("LOCPATH", folder.c_str(), 1);
    const bool is_set = is_made && std::setlocale(LC_NUMERIC, "sv_SE.UTF-8") != nullptr;
    const std::string point = std::localeconv()->decimal_point, number = written(2.5);
    std::setlocale(LC_NUMERIC, "C");
    ::unsetenv("LOCPATH");
    std::filesystem::remove_all(folder);
    if (!is_set) GTEST_SKIP() << "no locale sv_SE (Debian's package locales)";
    EXPECT_EQ(point, ",");
    EXPECT_EQ(number, "2.500");
}

TEST(json, writes_invalid_utf_8_as_latin_1) {
    EXPECT_EQ(json_writer{}.value("a\"\n\xe5\xc3\xa5").text(), "\"a\\\"\\u000a\\u00e5\xc3\xa5\"");
}

}  // namespace
