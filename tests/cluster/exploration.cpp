#include "cluster/exploration.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tutti::cluster::testing {

void event_set::add(unsigned place, std::string name, std::function<void()> what) {
    pending_.push_back(static_cast<unsigned>(events_.size()));
    events_.push_back({place, now_, std::move(name), std::move(what)});
}

void event_set::run_event(unsigned event) {
    std::erase(pending_, event);
    now_ = event;
    const auto what = std::move(events_[event].what);
    what();
}

namespace {

bool contains(const std::vector<unsigned>& all, unsigned event) { return std::ranges::find(all, event) != all.end(); }

/// One event of an order, and the alternatives to try at this point.
struct turn {
    unsigned event = 0;
    std::vector<unsigned> source;  ///< the events to try here, including those already tried and `event`
    std::vector<unsigned> sleep;   ///< an order that continues with one of these equals an order that has been run
};

/// The happened-before relation of one order (vector clocks: Fidge, 1988).
class happened {
public:
    explicit happened(const event_set& of) : of_{of} {}

    void add(unsigned event) {
        const unsigned place = of_.place_of(event);
        if (place >= latest_.size()) latest_.resize(place + 1, none);
        clock mine;
        if (latest_[place] != none) mine = clocks_[latest_[place]];
        if (const std::size_t cause = index_of(of_.cause_of(event)); cause != none) merge(mine, clocks_[cause]);
        if (mine.size() <= place) mine.resize(place + 1, 0);
        ++mine[place];
        latest_[place] = order_.size();
        order_.push_back(event);
        clocks_.push_back(std::move(mine));
    }
    [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
    [[nodiscard]] unsigned event(std::size_t i) const noexcept { return order_[i]; }
    /// Returns true if `one` happened before `other`. REQUIRES: both have happened, `one` first, or they are the same
    /// event.
    [[nodiscard]] bool before(std::size_t one, std::size_t other) const {
        const unsigned place = of_.place_of(order_[one]);
        return clocks_[other].size() > place && clocks_[other][place] >= clocks_[one][place];
    }
    /// Returns the index of the last event so far at the place of `event`, if `event` could have happened before that
    /// last event. Otherwise returns `none`.
    [[nodiscard]] std::size_t rival_of(unsigned event) const {
        const unsigned place = of_.place_of(event);
        const std::size_t last = place < latest_.size() ? latest_[place] : none;
        if (last == none) return none;
        const std::size_t cause = index_of(of_.cause_of(event));
        return cause != none && cause >= last && before(last, cause) ? none : last;
    }

    static constexpr std::size_t none = ~std::size_t{0};

private:
    using clock = std::vector<unsigned>;  // for each place, the number of its events

    static void merge(clock& into, const clock& other) {
        if (into.size() < other.size()) into.resize(other.size(), 0);
        for (std::size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
    }
    [[nodiscard]] std::size_t index_of(unsigned event) const {
        const auto at = std::ranges::find(order_, event);
        return at != order_.end() ? static_cast<std::size_t>(at - order_.begin()) : none;
    }

    const event_set& of_;
    std::vector<unsigned> order_;
    std::vector<clock> clocks_;        // of each event
    std::vector<std::size_t> latest_;  // for each place, its latest event
};

class search {
public:
    search(const bounds& limits, const std::function<std::unique_ptr<run>()>& begin) : limits_{limits}, begin_{begin} {}

    exploration all() {
        do {
            if (found_.orders == limits_.orders) return found_;
            one();
            if (!found_.wrong.empty()) return found_;
        } while (next());
        found_.complete = true;
        return found_;
    }

private:
    void one() {
        const std::unique_ptr<run> trial = begin_();
        event_set& events = trial->events();
        happened past{events};
        bool is_new = true;
        while (!events.pending().empty() && past.size() < limits_.events) {
            // The event chosen last is new. The events before it have been examined.
            if (past.size() == path_.size()) is_new = is_new && go_on(events, past);
            // If every continuation equals an order that has been run, the loop still runs the pending events, because
            // the program has to clean up.
            const unsigned event = is_new ? path_[past.size()].event : events.pending().front();
            if (is_new && past.size() + 1 == path_.size()) find_races(events, past, event);
            past.add(event);
            events.run_event(event);
        }
        ++(is_new ? found_.orders : found_.abandoned);
        found_.longest = std::max(found_.longest, past.size());
        found_.wrong = events.pending().empty() ? trial->verdict() : no_end;
        if (found_.wrong.empty()) return;
        for (std::size_t i = 0; i < past.size(); ++i) found_.order.push_back(events.name_of(past.event(i)));
    }

    /// Chooses one more event. Returns false if every possible continuation equals an order that has been run.
    bool go_on(const event_set& events, const happened& past) {
        turn t;
        if (!path_.empty()) {
            const turn& last = path_.back();
            const unsigned place = events.place_of(past.event(past.size() - 1));
            std::ranges::copy_if(last.sleep, std::back_inserter(t.sleep),
                                 [&](unsigned e) { return events.place_of(e) != place; });
        }
        const auto first = std::ranges::find_if(events.pending(), [&t](unsigned e) { return !contains(t.sleep, e); });
        if (first == events.pending().end()) return false;
        t.event = *first;
        t.source = {*first};
        path_.push_back(std::move(t));
        return true;
    }

    /// If an earlier event of the same place could happen later, schedules an order in which `event` happens first.
    void find_races(const event_set& events, const happened& past, unsigned event) {
        const std::size_t rival = past.rival_of(event);
        if (rival == happened::none) return;
        // `rest` contains the events after the earlier event that do not depend on that event, and then `event`.
        // `first` collects the events with which an order of `rest` may begin.
        happened rest{events};
        std::vector<unsigned> first;
        const auto add = [&](unsigned e) {
            rest.add(e);
            bool is_first = true;
            for (std::size_t i = 0; i + 1 < rest.size(); ++i) is_first = is_first && !rest.before(i, rest.size() - 1);
            if (is_first) first.push_back(e);
        };
        for (std::size_t i = rival + 1; i < past.size(); ++i) {
            if (!past.before(rival, i)) add(past.event(i));
        }
        add(event);
        turn& there = path_[rival];
        if (std::ranges::any_of(first, [&there](unsigned e) { return contains(there.source, e); })) return;
        there.source.push_back(first.front());
    }

    bool next() {
        while (!path_.empty()) {
            turn& last = path_.back();
            last.sleep.push_back(last.event);
            const auto other =
                std::ranges::find_if(last.source, [&last](unsigned e) { return !contains(last.sleep, e); });
            if (other != last.source.end()) {
                last.event = *other;
                return true;
            }
            path_.pop_back();
        }
        return false;
    }

    const bounds limits_;
    const std::function<std::unique_ptr<run>()>& begin_;
    std::vector<turn> path_;
    exploration found_;
};

}  // namespace

exploration explore(const bounds& limits, const std::function<std::unique_ptr<run>()>& begin) {
    return search{limits, begin}.all();
}

}  // namespace tutti::cluster::testing
