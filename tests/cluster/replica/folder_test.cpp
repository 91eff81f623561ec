// Checks a member's folder before a start. The tests flip every bit of every file, and zero, cut, swap or duplicate
// pages. A start must never silently continue with less than was acknowledged.
#include "cluster/replica/folder.hpp"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <gtest/gtest.h>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/data_directory.hpp"
#include "cluster/replica/entry.hpp"
#include "cluster/replica/segment.hpp"
#include "cluster/replica/state_machine.hpp"
#include "support/memory_folder.hpp"

namespace {

using namespace tutti::cluster;
using namespace tutti::cluster::replica;
namespace fs = std::filesystem;

std::string whole(const std::string& file) {
    std::ostringstream all;
    all << std::ifstream{file, std::ios::binary}.rdbuf();
    return all.str();
}

void put(const std::string& file, const std::string& bytes) {
    std::ofstream{file, std::ios::binary | std::ios::trunc} << bytes;
}

template <class... T>
std::string words(T... all) {
    std::string bytes;
    (bytes.append(reinterpret_cast<const char*>(&all), sizeof all), ...);
    return bytes;
}

struct one {
    std::uint64_t term = 1;
    entry_type type = entry_type::command;
    std::string bytes;
};

/// Returns a batch in C-Raft's format.
std::string batch(const std::vector<one>& entries) {
    std::string header = words(std::uint64_t{entries.size()}), data;
    for (const one& e : entries) {
        header += words(e.term, static_cast<std::uint64_t>(e.type) | (std::uint64_t{e.bytes.size()} << 32));
        data += e.bytes;
    }
    return words(crc_of(header), crc_of(data)) + header + data;
}

one commit(const std::string& value) {
    log_entry_builder e;
    const backend::write w{"key", true, value};
    e.add_commit({}, {&w, 1});
    return {.bytes = e.finish()};
}

std::string configuration(unsigned voters) {
    std::string bytes = words(std::uint8_t{1}, std::uint64_t{voters});
    for (std::uint64_t id = 1; id <= voters; ++id) bytes += words(id) + "127.0.0.1:7001" + std::string{'\0', '\1'};
    bytes.resize((bytes.size() + 7) / 8 * 8);
    return bytes;
}

const std::string format = words(std::uint64_t{1});

/// A member of three. It has a snapshot of the entries up to 3, a closed segment of 3 to 5, and an open one from 6 on.
class folder_test : public ::testing::Test {
protected:
    static constexpr std::uint64_t last = 9, term = 7, vote = 2;

    void SetUp() override {
        folder_ = tutti::support::memory_folder() + "/tutti-folder-XXXXXX";
        ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
        fs::create_directory(log());
        state_machine m;
        const std::vector<one>& all = entries_;
        for (std::size_t i = 1; i < 3; ++i) static_cast<void>(m.apply(all[i].bytes));
        const std::string of = configuration(3);
        const std::string about = words(std::uint64_t{1}, std::uint64_t{of.size()});
        put(log() + "/snapshot-1-3-1000", m.save());
        put(log() + "/snapshot-1-3-1000.meta",
            words(std::uint64_t{1}, std::uint64_t{crc_of(of, crc_of(about))}) + about + of);
        put(log() + "/0000000000000003-0000000000000005", format + batch({all[2], all[3]}) + batch({all[4]}));
        put(log() + "/open-4", format + batch({all[5]}) + batch({all[6]}) + batch({all[7], all[8]}) + zeros);
        put(log() + "/open-5", zeros);
        put(log() + "/metadata1", words(std::uint64_t{1}, std::uint64_t{5}, term, vote));
        put(log() + "/metadata2", words(std::uint64_t{1}, std::uint64_t{4}, term, std::uint64_t{0}));
        durable_record::begin(folder_ + "/durable", {});
        {
            durable_record promised{folder_ + "/durable"};
            ASSERT_TRUE(promised.begin_change(term, 0));
            promised.end_change();
            ASSERT_TRUE(promised.begin_change(term, vote));
            promised.end_change();
            for (std::uint64_t i = 1; i <= last; ++i) {
                const one& e = all[i - 1];
                const std::uint64_t digest = entry_digest(i, e.term, static_cast<unsigned>(e.type), e.bytes);
                promised.append(i, {&digest, 1}, i == 1 ? 3 : 0);
            }
        }
        data_directory{folder_}.write_identity({.id = 2, .group = 9, .address = "127.0.0.1:7001"});
        whole_ = look();
        ASSERT_TRUE(is_as_it_was(whole_)) << (whole_.damage.empty() ? "" : whole_.damage.front());
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string log() const { return folder_ + "/log"; }
    [[nodiscard]] folder_contents look() const { return read_folder(folder_, true); }
    [[nodiscard]] static bool is_as_it_was(const folder_contents& found) {
        return found.damage.empty() && found.last == last && found.snapshot_index == 3 && found.term == term &&
               found.vote == vote;
    }
    /// Returns true if the folder is changed but shows no damage, so that a start would continue silently.
    [[nodiscard]] bool misleads() {
        identity who;
        try {
            if (!data_directory{folder_}.read_identity(who) || who.id != 2 || who.group != 9 || who.is_founding)
                return true;
            const folder_contents found = look();
            damaged_ += found.damage.empty() ? 0 : 1;
            return found.damage.empty() && (!is_as_it_was(found) || found.digests != whole_.digests);
        } catch (const backend::engine_error&) {
            return false;
        }
    }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> all{folder_ + "/member", folder_ + "/durable"};
        for (const auto& f : fs::directory_iterator{log()}) all.push_back(f.path().string());
        return all;
    }
    /// Applies `change` to each file, and then restores the file.
    void each(const std::function<void(const std::string&, const std::string&)>& change) {
        for (const std::string& f : files()) {
            const std::string before = whole(f);
            change(f, before);
            put(f, before);
        }
    }

    /// Returns a segment of another member, which has the same log, cut into other segments.
    [[nodiscard]] std::string segment_of(std::uint64_t first, std::uint64_t to) const {
        std::string bytes = format;
        for (std::uint64_t i = first; i <= to; ++i) bytes += batch({entries_[i - 1]});
        return bytes;
    }
    /// Simulates a machine crash after which the durable record has fewer entries than the log on the disk.
    void forget_behind(std::uint64_t index) const {
        ASSERT_TRUE(durable_record{folder_ + "/durable"}.truncate_to(index));
    }

    static inline const std::string zeros = std::string(512, '\0');
    const one barrier_{1, entry_type::barrier, std::string(8, '\0')};
    const std::vector<one> entries_{{1, entry_type::configuration, configuration(3)},
                                    commit("a"),
                                    commit("b"),
                                    commit("c"),
                                    commit("d"),
                                    commit("e"),
                                    commit("f"),
                                    commit("g"),
                                    barrier_};
    std::string folder_;
    folder_contents whole_;
    std::size_t damaged_ = 0;  // number of checks that found damage
};

TEST_F(folder_test, detects_every_flipped_bit) {
    each([&](const std::string& f, const std::string& before) {
        const bool ring = f.ends_with("/durable");
        for (std::size_t at = 0; at < before.size(); ++at) {
            if (ring && at >= 1024 + 16 * (last + 2)) break;
            if (at % 16 != 0 && before.find_first_not_of('\0', at) == std::string::npos) continue;  // only zeros follow
            for (unsigned bit = 0; bit < 8; ++bit) {
                std::string other = before;
                other[at] = static_cast<char>(other[at] ^ (1 << bit));
                put(f, other);
                ASSERT_FALSE(misleads()) << f << " byte " << at << " bit " << bit;
            }
        }
    });
    EXPECT_GT(damaged_, 1000u);
}

TEST_F(folder_test, detects_zeroed_and_cut_pieces) {
    each([&](const std::string& f, const std::string& before) {
        for (std::size_t at = 0; at < before.size() && at < 2048; at += 8) {
            for (const std::size_t n : {std::size_t{8}, std::size_t{64}, before.size()}) {
                std::string other = before;
                for (std::size_t i = at; i < before.size() && i < at + n; ++i) other[i] = '\0';
                put(f, other);
                ASSERT_FALSE(misleads()) << f << " zeros at " << at << ", " << n;
            }
            put(f, before.substr(0, at));
            ASSERT_FALSE(misleads()) << f << " cut at " << at;
        }
        fs::remove(f);
        ASSERT_FALSE(misleads()) << f << " is gone";
    });
}

TEST_F(folder_test, reports_overlong_metadata_as_damage) {
    // C-Raft refuses them as well, but reports neither the damage nor the remedy.
    for (const char* const name : {"/metadata1", "/metadata2"}) {
        const std::string before = whole(log() + name);
        put(log() + name, before + std::string(512, '\0'));
        const folder_contents found = look();
        ASSERT_EQ(found.damage.size(), 1u) << name;
        EXPECT_NE(found.damage.front().find(std::string{name} + " is damaged at byte 32"), std::string::npos);
        put(log() + name, before);
    }
}

TEST_F(folder_test, detects_exchanged_and_repeated_pieces) {
    const std::vector<std::string> all = files();
    for (const std::string& a : all) {
        for (const std::string& b : all) {
            const std::string of_a = whole(a), of_b = whole(b);
            if (of_a == of_b) continue;
            put(a, of_b);
            EXPECT_FALSE(misleads()) << b << " in the place of " << a;
            put(b, of_a);
            EXPECT_FALSE(misleads()) << a << " and " << b << " exchanged";
            put(a, of_a);
            put(b, of_b);
        }
    }
    const std::string open = log() + "/open-4", before = whole(open);
    const std::size_t size = batch({commit("e")}).size();
    const std::string first = before.substr(8, size), second = before.substr(8 + size, size);
    put(open, before.substr(0, 8) + second + first + before.substr(8 + 2 * size));
    EXPECT_FALSE(misleads()) << "two batches exchanged";
    put(open, before.substr(0, 8) + first + first + before.substr(8 + 2 * size));
    EXPECT_FALSE(misleads()) << "a batch over the next one";
    put(open, before.substr(0, 8 + size) + before.substr(8));
    EXPECT_FALSE(misleads()) << "a batch twice";
    put(open, before.substr(0, 8) + before.substr(8 + size));
    EXPECT_FALSE(misleads()) << "a batch less";
}

TEST_F(folder_test, reports_place_and_consequence_of_damage) {
    const std::string open = log() + "/open-4";
    std::string bytes = whole(open);
    bytes[40] ^= 1;
    put(open, bytes);
    const folder_contents found = look();
    ASSERT_EQ(found.damage.size(), 1u);
    EXPECT_EQ(found.damage.front(), open +
                                        " is damaged at byte 8: entry 6 of the log cannot be read; 3 whole entries "
                                        "follow; the disk had the entries up to 9");
    const std::string all = damage_of_member(folder_, found);
    EXPECT_NE(all.find("tutti member remove"), all.npos);
    EXPECT_NE(all.find("tutti log repair " + folder_), all.npos);
}

TEST_F(folder_test, cuts_off_torn_ends) {
    const std::string open = log() + "/open-4", before = whole(open);
    const std::string written = before.substr(0, before.size() - zeros.size());
    const std::string next = batch({commit("h")});
    put(open, written + next.substr(0, next.size() - 16) + zeros);
    const folder_contents found = look();
    EXPECT_TRUE(found.damage.empty());
    ASSERT_EQ(found.torn.size(), 1u);
    EXPECT_EQ(found.torn.front().keep, written.size());
    EXPECT_EQ(found.last, last);
    cut_torn_ends(found);
    EXPECT_EQ(whole(open), written);
    EXPECT_TRUE(is_as_it_was(look()));
    EXPECT_TRUE(look().torn.empty());
}

TEST_F(folder_test, accepts_entries_beyond_the_record) {
    const std::string open = log() + "/open-4", before = whole(open);
    put(open, before.substr(0, before.size() - zeros.size()) + batch({commit("h")}));
    EXPECT_TRUE(look().damage.empty());
    EXPECT_EQ(look().last, last + 1);
}

TEST_F(folder_test, accepts_an_unfinished_vote_in_both_states) {
    {
        durable_record promised{folder_ + "/durable"};
        ASSERT_TRUE(promised.begin_change(term + 1, 3));
    }
    EXPECT_TRUE(look().damage.empty());
    put(log() + "/metadata2", words(std::uint64_t{1}, std::uint64_t{6}, term + 1, std::uint64_t{3}));
    EXPECT_TRUE(look().damage.empty());
    put(log() + "/metadata2", words(std::uint64_t{1}, std::uint64_t{6}, term + 1, std::uint64_t{2}));
    EXPECT_FALSE(look().damage.empty());
}

TEST_F(folder_test, does_not_miss_truncated_entries) {
    durable_record promised{folder_ + "/durable"};
    ASSERT_TRUE(promised.truncate_to(6));
    const std::string open = log() + "/open-4", before = whole(open);
    put(open, format + batch({commit("e")}) + batch({commit("other")}) + zeros);
    EXPECT_TRUE(look().damage.empty());
    EXPECT_EQ(look().last, 7u);
}

TEST_F(folder_test, repairs_by_keeping_intact_entries) {
    const std::string open = log() + "/open-4";
    std::string bytes = whole(open);
    bytes[8 + batch({commit("e")}).size() + 30] ^= 4;
    put(open, bytes);
    const folder_repair done = repair_folder(folder_, true);
    EXPECT_EQ(done.kept_as, log() + "-damaged-1");
    EXPECT_EQ(whole(done.kept_as + "/open-4"), bytes);
    EXPECT_EQ(done.lost, last);
    EXPECT_TRUE(done.awaits_lost_entries);
    const folder_contents now = look();
    EXPECT_TRUE(now.damage.empty());
    EXPECT_EQ(now.last, 6u);
    ASSERT_TRUE(now.known);
    EXPECT_EQ(now.known->lost_upto, last);
    EXPECT_EQ(now.term, term);
    EXPECT_EQ(now.vote, vote);
    EXPECT_TRUE(repair_folder(folder_, true).kept_as.empty());
}

TEST_F(folder_test, ignores_known_entries_of_a_foreign_segment) {
    for (const std::string name : {"/0000000000000003-0000000000000005", "/open-4"}) {
        const std::string before = whole(log() + name);
        // The loop leaves out the last entry alone, because a single barrier cannot be distinguished from a new one.
        for (std::uint64_t first = 2; first < last; ++first) {
            for (std::uint64_t to = first; to <= last; ++to) {
                put(log() + name, segment_of(first, to));
                const folder_contents found = look();
                if (is_as_it_was(found)) continue;
                EXPECT_FALSE(found.damage.empty()) << name << " " << first << " to " << to;
                EXPECT_EQ(found.max_acknowledged, last) << name << " " << first << " to " << to;
            }
        }
        put(log() + name, before);
    }
    put(log() + "/0000000000000003-0000000000000005", segment_of(2, last));
    EXPECT_TRUE(repair_folder(folder_, true).awaits_lost_entries);
    EXPECT_EQ(look().known->lost_upto, last);
}

TEST_F(folder_test, ignores_repeated_pieces_of_the_log) {
    const std::string open = log() + "/open-4";
    for (std::uint64_t first = 6; first < last; ++first) {
        for (std::uint64_t to = first; to < last; ++to) {
            put(open, segment_of(6, last) + segment_of(first, to).substr(format.size()));
            const folder_contents found = look();
            EXPECT_LE(found.max_acknowledged, std::max(last + 1, found.last)) << first << " to " << to;
            put(open, segment_of(6, 6) + segment_of(first, to).substr(format.size()) +
                          segment_of(7, last).substr(format.size()));
            EXPECT_LE(look().max_acknowledged, last + 1) << first << " to " << to;
        }
    }
}

TEST_F(folder_test, counts_entries_of_a_foreign_segment_as_lost) {
    put(log() + "/0000000000000003-0000000000000005",
        segment_of(7, last) + batch({commit("h")}) + batch({barrier_, commit("i")}));
    EXPECT_EQ(look().max_acknowledged, last + 3);
}

TEST_F(folder_test, counts_entries_unknown_to_an_outdated_record) {
    const std::string closed = log() + "/0000000000000003-0000000000000005", open = log() + "/open-4";
    for (std::uint64_t known = 3; known < last; ++known) {
        forget_behind(known);
        ASSERT_TRUE(look().damage.empty()) << known;
        put(closed, segment_of(2, 2) + segment_of(5, 5).substr(format.size()));
        EXPECT_EQ(look().max_acknowledged, last) << known << ", a segment of another member before it";
        put(closed, segment_of(3, 5));
        std::string bytes = segment_of(6, last);
        bytes[40] ^= 1;
        put(open, bytes);
        EXPECT_EQ(look().max_acknowledged, last) << known << ", a bit before it";
        put(open,
            segment_of(7, 7) + segment_of(6, 6).substr(format.size()) + segment_of(8, last).substr(format.size()));
        EXPECT_GE(std::max(look().max_acknowledged, look().last), last) << known << ", entries exchanged before it";
        TearDown();
        SetUp();
    }
}

TEST_F(folder_test, counts_entries_equal_to_earlier_ones) {
    const std::string closed = log() + "/0000000000000003-0000000000000005", open = log() + "/open-4";
    // After the known entries, the open segment has a barrier, and a commit that its program repeated.
    put(open, segment_of(6, last) + batch({barrier_}) + batch({entries_[7]}));
    ASSERT_TRUE(look().damage.empty());
    put(closed, segment_of(2, 2));
    EXPECT_EQ(look().max_acknowledged, last + 2);
    put(closed, segment_of(3, 5));
    std::string bytes = whole(open);
    bytes[40] ^= 1;
    put(open, bytes);
    EXPECT_EQ(look().max_acknowledged, last + 2);
}

TEST_F(folder_test, repairs_or_refuses_every_flipped_bit) {
    const std::string copy = folder_ + "-copy";
    fs::copy(folder_, copy, fs::copy_options::recursive);
    std::size_t repaired = 0;
    for (const std::string& f : files()) {
        if (f.ends_with("/member")) continue;
        for (std::size_t at = 0; at < whole(f).size() && at < 600; at += 5) {
            std::string other = whole(f);
            other[at] ^= 0x20;
            put(f, other);
            try {
                if (const folder_repair done = repair_folder(folder_, true); !done.kept_as.empty()) {
                    ++repaired;
                    const folder_contents now = look();
                    ASSERT_TRUE(now.damage.empty()) << f << " byte " << at << ": " << now.damage.front();
                    ASSERT_TRUE(now.last == last || now.known->lost_upto == last) << f << " byte " << at;
                }
            } catch (const backend::engine_error&) {
                // The snapshot is unreadable, and the folder is useless without it.
                ASSERT_NE(f.find("snapshot"), f.npos) << f << " byte " << at;
            }
            fs::remove_all(folder_);
            fs::copy(copy, folder_, fs::copy_options::recursive);
        }
    }
    fs::remove_all(copy);
    EXPECT_GT(repaired, 20u);
}

TEST_F(folder_test, accepts_a_folder_without_a_durable_record) {
    fs::remove(folder_ + "/durable");
    EXPECT_FALSE(look().damage.empty());
    EXPECT_TRUE(read_folder(folder_, false).damage.empty());
    EXPECT_EQ(read_folder(folder_, false).last, last);
}

TEST_F(folder_test, refuses_a_log_without_an_identity) {
    fs::remove(folder_ + "/member");
    identity who;
    EXPECT_THROW(static_cast<void>(data_directory{folder_}.read_identity(who)), backend::engine_error);
    fs::remove_all(log());
    EXPECT_FALSE(data_directory{folder_}.read_identity(who));
}

}  // namespace
