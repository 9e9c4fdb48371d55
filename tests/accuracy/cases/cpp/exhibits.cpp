/* summary: Exhibit::needs_care hands the workshop a shared_ptr made from `this`, which is a second control block beside the hall's
 * kind: second-owner
 * counts: deficit
 * objects: 2
 * track: auto
 * build: g++ -std=c++17 -O2 -g
 * exit: 0
 */
// exhibits - a museum's guide: halls with exhibits, tours that walk past them,
// and a workshop that keeps a list of what has to be looked after.  The list
// lives as long as the program.

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class Exhibit;
using ExhibitPtr = std::shared_ptr<Exhibit>;

class Workshop
{
public:
    // Is never destroyed, since exhibits may ask for it up to the very end.
    static Workshop &instance()
    {
        static Workshop *const workshop = new Workshop;
        return *workshop;
    }

    void take(ExhibitPtr exhibit, int urgency) { list_.push_back({std::move(exhibit), urgency}); }

    long due(int urgency) const;

    void done(int urgency)
    {
        list_.erase(std::remove_if(list_.begin(), list_.end(), [=](const Entry &e) { return e.urgency < urgency; }),
                    list_.end());
    }

    size_t size() const { return list_.size(); }

private:
    struct Entry
    {
        ExhibitPtr exhibit;
        int urgency;
    };
    std::vector<Entry> list_;
};

class Exhibit : public std::enable_shared_from_this<Exhibit>
{
public:
    Exhibit(int number, std::string title, int year) : number_(number), year_(year), title_(std::move(title)) {}
    virtual ~Exhibit() = default;

    int number() const { return number_; }
    int year() const { return year_; }
    const std::string &title() const { return title_; }

    // A visitor stands in front of it.
    void seen()
    {
        if (++visits_ % 28 == 0)
            worn();
    }

    // A guard says what he found.
    void report(const std::string &what)
    {
        if (what == "dust")
            Workshop::instance().take(shared_from_this(), 1);
        else if (what == "crack")
            needs_care(9);
    }

    ExhibitPtr self() { return shared_from_this(); }

protected:
    virtual void worn() { Workshop::instance().take(shared_from_this(), 2); }

    void needs_care(int urgency)
    {
#ifdef BUG
        ExhibitPtr me(this);  // GUILTY
#else
        ExhibitPtr me(shared_from_this());
#endif
        Workshop::instance().take(std::move(me), urgency);  // ACCEPTED
    }

private:
    int number_;
    int year_;
    int visits_ = 0;
    std::string title_;
};

long Workshop::due(int urgency) const
{
    long sum = 0;

    for (const Entry &entry : list_)
        if (entry.urgency >= urgency)
            sum += entry.exhibit->number() * entry.urgency;
    return sum;
}

// Made of light and sound: nothing of it wears off.
class Projection : public Exhibit
{
public:
    using Exhibit::Exhibit;

protected:
    void worn() override {}
};

class Hall
{
public:
    Hall(std::string name, int first, int count) : name_(std::move(name))
    {
        for (int i = 0; i < count; ++i)
        {
            const int number = first + i;
            const std::string title = name_ + " no. " + std::to_string(number);

            if (i % 6 == 5)
                exhibits_.push_back(std::make_shared<Projection>(number, title, 2000 + i));
            else if (i % 2)
                exhibits_.push_back(std::make_shared<Exhibit>(number, title, 1700 + i * 7));
            else
                exhibits_.emplace_back(new Exhibit(number, title, 1500 + i * 11));
        }
    }

    const std::string &name() const { return name_; }
    const std::vector<ExhibitPtr> &exhibits() const { return exhibits_; }
    ExhibitPtr nth(size_t n) const { return exhibits_[n % exhibits_.size()]; }

    ExhibitPtr find(int number) const
    {
        for (const ExhibitPtr &exhibit : exhibits_)
            if (exhibit->number() == number)
                return exhibit;
        return nullptr;
    }

private:
    std::string name_;
    std::vector<ExhibitPtr> exhibits_;
};

class Tour
{
public:
    Tour(const std::vector<std::unique_ptr<Hall>> &halls, unsigned seed)
    {
        for (const auto &hall : halls)
            for (int i = 0; i < 3; ++i)
            {
                seed = seed * 22695477u + 1u;
                stops_.push_back(hall->nth(seed >> 18));
            }
        std::sort(stops_.begin(), stops_.end(),
                  [](const ExhibitPtr &a, const ExhibitPtr &b) { return a->year() < b->year(); });
    }

    int walk(std::map<int, std::weak_ptr<Exhibit>> &popular)
    {
        int years = 0;

        for (size_t i = 0; i < stops_.size(); ++i)
        {
            ExhibitPtr exhibit = stops_[i]->self();

            exhibit->seen();
            popular[exhibit->number()] = exhibit;
            if (i)
                years += exhibit->year() - stops_[i - 1]->year();
        }
        return years;
    }

private:
    std::vector<ExhibitPtr> stops_;
};

static void guards_round(const std::vector<std::unique_ptr<Hall>> &halls, int day)
{
    static const struct
    {
        int day, number;
        const char *what;
    } findings[] = {
        {1, 103, "dust"},  {3, 210, "dust"}, {3, 104, "dust"},  {4, 208, "crack"},
        {6, 304, "crack"}, {7, 312, "dust"}, {9, 207, "smell"},
    };

    for (const auto &finding : findings)
        for (const auto &hall : halls)
            if (ExhibitPtr exhibit = finding.day == day ? hall->find(finding.number) : nullptr)
                exhibit->report(finding.what);
}

int main()
{
    std::vector<std::unique_ptr<Hall>> halls;
    std::map<int, std::weak_ptr<Exhibit>> popular;
    int years = 0, present = 0;

    halls.push_back(std::make_unique<Hall>("Engines", 100, 14));
    halls.push_back(std::make_unique<Hall>("Ceramics", 200, 18));
    halls.push_back(std::make_unique<Hall>("Maps", 300, 20));

    for (int day = 0; day < 12; ++day)
    {
        for (unsigned n = 0; n < 9; ++n)
            years += Tour(halls, static_cast<unsigned>(day) * 31 + n).walk(popular);
        guards_round(halls, day);
        if (day == 8)
            Workshop::instance().done(2);
    }
    for (const auto &entry : popular)
        if (ExhibitPtr exhibit = entry.second.lock())
            present += exhibit->title().size() > 10;
    std::printf("%d years walked, %d popular, %zu for the workshop\n", years, present, Workshop::instance().size());

    // The museum closes; the workshop still has its work to do.
    halls.clear();
    std::printf("urgent: %ld\n", Workshop::instance().due(5));
    return 0;
}
