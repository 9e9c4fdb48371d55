/* summary: PrepQueue::serve leaves early at a dish with a forbidden ingredient, without the deref() for the reference that the queue's ticket had
 * kind: missing-put
 * counts: surplus
 * objects: 3
 * track: auto
 * packages: Qt5Core
 * build: g++ -std=c++17 -fPIC -O1 -g
 * exit: 0
 */
// kitchen - recipes as explicitly shared values, and a queue of dishes to be
// prepared.  The queue is plain data (it goes to a device at the stove), so it
// counts the recipes by hand.

#include <QExplicitlySharedDataPointer>
#include <QHash>
#include <QList>
#include <QMap>
#include <QSharedData>
#include <QString>
#include <QStringList>
#include <QVector>

#include <cstdio>

struct Ingredient
{
    QString name;
    int grams;
};

class RecipeData : public QSharedData
{
public:
    QString title;
    QVector<Ingredient> ingredients;
    int servings = 1;
    int minutes = 0;
};

class Recipe
{
public:
    Recipe() : d(new RecipeData) {}
    explicit Recipe(const QString &title) : d(new RecipeData) { d->title = title; }
    explicit Recipe(RecipeData *data) : d(data) {}

    QString title() const { return d->title; }
    int servings() const { return d->servings; }
    int minutes() const { return d->minutes; }

    Recipe &with(const QString &name, int grams)
    {
        d->ingredients.append(Ingredient{name, grams});
        d->minutes += 2 + grams / 100;
        return *this;
    }

    bool contains(const QString &name) const
    {
        for (const Ingredient &each : qAsConst(d->ingredients))
            if (each.name == name)
                return true;
        return false;
    }

    // The same recipe for another number of guests; the data is shared where
    // nothing changes.
    Recipe scaled(int servings) const
    {
        Recipe copy(*this);

        if (servings == d->servings)
            return copy;
        copy.d.detach();
        for (Ingredient &each : copy.d->ingredients)
            each.grams = each.grams * servings / d->servings;
        copy.d->servings = servings;
        return copy;
    }

    int weight() const
    {
        int sum = 0;

        for (const Ingredient &each : qAsConst(d->ingredients))
            sum += each.grams;
        return sum;
    }

    RecipeData *data() const { return d.data(); }

private:
    QExplicitlySharedDataPointer<RecipeData> d;
};

struct Ticket
{
    RecipeData *recipe;  // owns one reference
    int table;
};

enum class Served { Nothing, Dish, Refused };

class PrepQueue
{
public:
    PrepQueue() = default;
    Q_DISABLE_COPY(PrepQueue)

    ~PrepQueue()
    {
        while (!m_tickets.isEmpty())
            drop(m_tickets.takeFirst().recipe);
    }

    void order(const Recipe &recipe, int table)
    {
        RecipeData *data = recipe.data();

        data->ref.ref();
        m_tickets.append(Ticket{data, table});
    }

    // The guests of a table have left.
    int cancel(int table)
    {
        int n = 0;

        for (int i = m_tickets.size(); i-- > 0;)
        {
            if (m_tickets[i].table != table)
                continue;
            drop(m_tickets.takeAt(i).recipe);
            ++n;
        }
        return n;
    }

    void forbid(int table, const QString &ingredient) { m_forbidden[table].append(ingredient); }

    Served serve(QMap<QString, int> &served)
    {
        if (m_tickets.isEmpty())
            return Served::Nothing;

        const Ticket ticket = m_tickets.takeFirst();  // ACCEPTED

        for (const Ingredient &each : qAsConst(ticket.recipe->ingredients))
            if (m_forbidden.value(ticket.table).contains(each.name))
            {
#ifndef BUG
                drop(ticket.recipe);
#endif
                return Served::Refused;  // GUILTY
            }
        served[ticket.recipe->title] += ticket.recipe->servings;
        m_busy += ticket.recipe->minutes;
        drop(ticket.recipe);
        return Served::Dish;
    }

    int waiting() const { return m_tickets.size(); }
    int busy() const { return m_busy; }

private:
    static void drop(RecipeData *data)
    {
        if (!data->ref.deref())
            delete data;
    }

    QList<Ticket> m_tickets;
    QHash<int, QStringList> m_forbidden;
    int m_busy = 0;
};

class Menu
{
public:
    Menu()
    {
        add(Recipe(QStringLiteral("borscht")).with("beet", 300).with("cabbage", 200).with("cream", 50));
        add(Recipe(QStringLiteral("pad thai")).with("noodles", 250).with("peanut", 40).with("egg", 60));
        add(Recipe(QStringLiteral("gratin")).with("potato", 400).with("cream", 150));
        add(Recipe(QStringLiteral("dal")).with("lentil", 180).with("onion", 80));
        add(Recipe(QStringLiteral("paella")).with("rice", 220).with("shrimp", 150).with("pea", 60));
        add(Recipe(QStringLiteral("satay")).with("chicken", 200).with("peanut", 90));
        add(Recipe(QStringLiteral("soup of the day")));
    }

    Recipe dish(int n) const { return m_recipes[n % m_recipes.size()]; }

    // The cook thinks of something for every day.
    void today(int day)
    {
        Recipe soup(QStringLiteral("soup %1").arg(day));

        soup.with(day % 2 ? "leek" : "carrot", 150 + day * 10).with("water", 300);
        m_recipes.last() = soup;
    }

private:
    void add(const Recipe &recipe) { m_recipes.append(recipe); }

    QVector<Recipe> m_recipes;
};

static int evening(const Menu &menu, int day, QMap<QString, int> &served, QVector<Recipe> &favourites)
{
    PrepQueue queue;
    int refused = 0, weight = 0;

    queue.forbid(3, QStringLiteral("peanut"));
    for (int table = 0; table < 6; ++table)
        for (int guest = 0; guest <= table % 3; ++guest)
        {
            const Recipe dish = menu.dish(day * 5 + table * 2 + guest * 3);
            const Recipe portion = dish.scaled(1 + (day + table + guest) % 4);

            queue.order(portion, table);
            if (portion.weight() > 1500)
                favourites.append(dish);
            weight += portion.weight();
        }
    // One more for table 3, which looks at the clock.
    queue.order(menu.dish(day).scaled(2), 3);

    for (int i = 0; i < 9; ++i)
        if (queue.serve(served) == Served::Refused)
            ++refused;
    if (day % 4 == 2)
        weight -= 100 * queue.cancel(5);
    while (queue.waiting() > 1)
        if (queue.serve(served) == Served::Refused)
            ++refused;
    std::printf("day %d: %d g, busy %d, refused %d\n", day, weight, queue.busy(), refused);
    return refused;
}

int main()
{
    Menu menu;
    QMap<QString, int> served;
    QVector<Recipe> favourites;
    int refused = 0;

    for (int day = 0; day < 12; ++day)
    {
        menu.today(day);
        refused += evening(menu, day, served, favourites);
    }
    for (auto at = served.cbegin(); at != served.cend(); ++at)
        std::printf("%s x%d\n", qPrintable(at.key()), at.value());
    std::printf("%d favourites, %d refused\n", favourites.size(), refused);
    return 0;
}
