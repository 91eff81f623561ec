#include "damage/replica_lane.hpp"

#include <cstdio>
#include <filesystem>

namespace tutti::damage {

namespace fs = std::filesystem;

violated disagreement(std::size_t who, const told& with, std::uint64_t there) {
    return violated{"client " + std::to_string(who) + " was told of " + std::to_string(with.sure) + " effects, and " +
                    std::to_string(there) + " are there"};
}

void replica_lane::tell(const std::string& line) const {
    std::FILE* const to = std::fopen((folder_ + "/history").c_str(), "a");
    if (to == nullptr) return;
    std::fprintf(to, "%s\n", line.c_str());
    std::fclose(to);
}

int replica_lane::ask(const std::vector<std::string>& words, std::string& said) const {
    std::vector<std::string> all{tutti_};
    all.insert(all.end(), words.begin(), words.end());
    const std::string to = folder_ + "/asked";
    child_process one{all, to};
    const int status = one.wait();
    said = bytes_of(to);
    tell(said);
    return status;
}

void replica_lane::begin_round(const std::vector<replica*>& all, const std::vector<replica*>& dead) {
    for (replica* const r : all) r->damaged = r->reported = false;
    std::string who;
    for (const replica* const r : dead) who += " " + r->folder;
    tell("---- round " + std::to_string(++round_) + ": kills" + who);
    counts_.add("1 rounds", "processes killed", "number", dead.size());
}

void replica_lane::harm(const damage_plan& plan, const std::vector<replica*>& all, const std::vector<replica*>& dead) {
    replica& r = *dead[plan.victim % dead.size()];
    target of{files_of(r), {}, earlier_of(r), pages_};
    for (const replica* const other : all) {
        if (other != &r) of.donors.push_back(other->folder);
    }
    damage_ = apply(plan.harm, of);
    r.damaged = damage_.what != kind::none;
    if (r.damaged) {
        counts_.add("2 damage", name_of(damage_.what), "done");
        tell(damage_.text);
        return;
    }
    counts_.add("1 rounds", "rounds without damage", "number");
    if (!plan.keeps_earlier) return;
    fs::remove_all(of.earlier);
    const std::string root = fs::path{of.files.front()}.parent_path().string();
    for (const std::string& f : of.files) {
        const fs::path to = of.earlier + f.substr(root.size());
        fs::create_directories(to.parent_path());
        fs::copy_file(f, to);
    }
}

bool replica_lane::note_report(replica& r) {
    if (std::exchange(r.reported, true)) return false;
    counts_.add("2 damage", name_of(damage_.what), "reported");
    return true;
}

bool replica_lane::repair(const replica& r, const std::string& log, std::string& said) {
    if (ask({"log", "repair", log}, said) != 0) {
        counts_.add("3 reports", "a repair that was refused", "damaged");
        return false;
    }
    counts_.add("3 reports", "a repair", "damaged");
    for (const auto& f : fs::directory_iterator{r.folder}) {
        if (has(f.path().filename().string(), "-damaged-")) fs::remove_all(f.path());
    }
    return true;
}

void replica_lane::note_unreported(const std::string& as) {
    if (damage_.what != kind::none) counts_.add("2 damage", name_of(damage_.what), as);
}

}  // namespace tutti::damage
