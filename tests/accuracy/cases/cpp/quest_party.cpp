/* summary: a hero who takes an oath makes a second control block from this instead of shared_from_this
 * kind: second-owner
 * counts: none
 * objects: 1
 * track: shared_ptr
 * build: g++ -std=c++17 -O0 -g
 */
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

class Hero;
class Quest;
using HeroPtr = std::shared_ptr<Hero>;
using QuestPtr = std::shared_ptr<Quest>;

enum class Outcome { Open, Won, Lost };

struct Item {
    std::string name;
    int power;
};

class Quest : public std::enable_shared_from_this<Quest> {
public:
    Quest(std::string name, int needed) : name_(std::move(name)), needed_(needed) {}

    void Join(HeroPtr hero) { party_.push_back(std::move(hero)); }
    void Swear(HeroPtr hero) { sworn_.push_back(std::move(hero)); }
    void Leave(const Hero *hero)
    {
        auto is_him = [hero](const HeroPtr &other) { return other.get() == hero; };
        party_.erase(std::remove_if(party_.begin(), party_.end(), is_him), party_.end());
    }
    Outcome Run();
    void Disband()
    {
        party_.clear();
        sworn_.clear();
    }
    const std::string &Name() const { return name_; }
    size_t Size() const { return party_.size(); }
    size_t Sworn() const { return sworn_.size(); }
    Outcome State() const { return state_; }

private:
    std::string name_;
    int needed_;
    Outcome state_ = Outcome::Open;
    std::vector<HeroPtr> party_;
    std::vector<HeroPtr> sworn_;
};

class Hero : public std::enable_shared_from_this<Hero> {
public:
    Hero(std::string name, int strength) : name_(std::move(name)), strength_(strength) {}

    void Enlist(const QuestPtr &quest)
    {
        quest_ = quest;
        quest->Join(shared_from_this());
    }

    /* The sworn ones stay until the quest is over, whoever leaves the party. */
    void TakeOath(const QuestPtr &quest)
    {
        oaths_++;
        if (quest->Size() == 0)
            return;
#ifdef BUG
        quest->Swear(HeroPtr(this)); /* GUILTY */
#else
        quest->Swear(shared_from_this());
#endif
    }

    void Desert()
    {
        if (QuestPtr quest = quest_.lock())
            quest->Leave(this);
        quest_.reset();
    }

    void Loot(std::shared_ptr<Item> item) { items_.push_back(std::move(item)); }

    std::shared_ptr<Item> GiveBest()
    {
        auto best = std::max_element(items_.begin(), items_.end(),
                                     [](const auto &a, const auto &b) { return a->power < b->power; });
        if (best == items_.end())
            return nullptr;
        std::shared_ptr<Item> item = std::move(*best);
        items_.erase(best);
        return item;
    }

    int Strength() const
    {
        int strength = strength_;
        for (const auto &item : items_)
            strength += item->power;
        return strength;
    }
    const std::string &Name() const { return name_; }
    int Oaths() const { return oaths_; }
    bool Busy() const { return !quest_.expired(); }

private:
    std::string name_;
    int strength_;
    int oaths_ = 0;
    std::weak_ptr<Quest> quest_;
    std::vector<std::shared_ptr<Item>> items_;
};

Outcome Quest::Run()
{
    int strength = 0;
    for (const HeroPtr &hero : party_)
        strength += hero->Strength();
    for (const HeroPtr &hero : sworn_)
        strength += hero->Strength() / 4;
    state_ = strength >= needed_ ? Outcome::Won : Outcome::Lost;
    if (state_ == Outcome::Won) {
        auto prize = std::make_shared<Item>(Item{"prize of " + name_, 3});
        for (const HeroPtr &hero : party_)
            hero->Loot(prize);
    }
    return state_;
}

class Tavern {
public:
    HeroPtr Arrive(const std::string &name, int strength)
    {
        HeroPtr hero = std::make_shared<Hero>(name, strength);
        guests_[name] = hero;
        return hero;
    }
    HeroPtr Find(const std::string &name) const
    {
        auto entry = guests_.find(name);
        return entry == guests_.end() ? nullptr : entry->second;
    }
    void Depart(const std::string &name) { guests_.erase(name); }
    void Print() const
    {
        for (const auto &[name, hero] : guests_)
            std::printf("  %s: strength %d, %d oaths%s\n", name.c_str(), hero->Strength(), hero->Oaths(),
                        hero->Busy() ? ", on a quest" : "");
    }

private:
    std::map<std::string, HeroPtr> guests_;
};

static void Trade(const HeroPtr &from, const HeroPtr &to)
{
    if (auto item = from->GiveBest())
        to->Loot(std::move(item));
}

int main()
{
    static const char *const names[] = {"Aldo", "Berit", "Corvin", "Dagny", "Edda", "Falk", "Gisla", "Hakon"};
    Tavern tavern;
    std::vector<QuestPtr> quests;

    for (int i = 0; i < 8; i++)
        tavern.Arrive(names[i], 4 + i * 3 % 7)->Loot(std::make_shared<Item>(Item{"knife", i % 3}));
    quests.push_back(std::make_shared<Quest>("the bridge", 14));
    quests.push_back(std::make_shared<Quest>("the tower", 25));
    quests.push_back(std::make_shared<Quest>("the well", 9));

    for (int i = 0; i < 7; i++)
        tavern.Find(names[i])->Enlist(quests[i % 3]);
    Trade(tavern.Find("Corvin"), tavern.Find("Aldo"));
    Trade(tavern.Find("Hakon"), tavern.Find("Berit"));

    if (HeroPtr captain = tavern.Find("Dagny"))
        captain->TakeOath(quests[0]);
    if (HeroPtr late = tavern.Find("Hakon"))
        late->TakeOath(std::make_shared<Quest>("the sewers", 3));
    tavern.Find("Gisla")->Desert();
    tavern.Depart("Falk");

    for (const QuestPtr &quest : quests) {
        Outcome outcome = quest->Run();
        std::printf("%s: party of %zu, %zu sworn, %s\n", quest->Name().c_str(), quest->Size(), quest->Sworn(),
                    outcome == Outcome::Won ? "won" : "lost");
    }
    tavern.Print();
    std::fflush(stdout);
    quests.front()->Disband();
    quests.clear();
    tavern.Print();
    return 0;
}
