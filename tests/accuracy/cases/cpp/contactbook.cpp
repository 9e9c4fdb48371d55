/* summary: the wrapper's copy assignment takes the new object's reference but does not give up the one to the object that it had
 * kind: overwritten
 * counts: surplus
 * objects: 4
 * track: GObject
 * packages: gobject-2.0
 * build: g++ -std=c++17 -O2 -g
 */
// contactbook - GObject contacts in groups, through a small wrapper of our own.

#include <glib-object.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

extern "C" {

struct Contact
{
    GObject parent;
    char *name;
    int calls;
};

struct ContactClass
{
    GObjectClass parent;
};

G_DEFINE_TYPE(Contact, contact, G_TYPE_OBJECT)

static void contact_finalize(GObject *object)
{
    g_free(reinterpret_cast<Contact *>(object)->name);
    G_OBJECT_CLASS(contact_parent_class)->finalize(object);
}

static void contact_init(Contact *contact)
{
    contact->calls = 0;
}

static void contact_class_init(ContactClass *klass)
{
    G_OBJECT_CLASS(klass)->finalize = contact_finalize;
    g_signal_new("called", contact_get_type(), G_SIGNAL_RUN_LAST, 0, nullptr, nullptr, nullptr, G_TYPE_NONE, 1, G_TYPE_INT);
}

}

template <class T>
class GRef
{
public:
    GRef() = default;
    GRef(const GRef &o) : m_p(o.m_p ? static_cast<T *>(g_object_ref(o.m_p)) : nullptr) {}
    GRef(GRef &&o) noexcept : m_p(std::exchange(o.m_p, nullptr)) {}
    ~GRef() { g_clear_object(&m_p); }

    static GRef take(T *p)
    {
        GRef ref;
        ref.m_p = p;
        return ref;
    }

    GRef &operator=(const GRef &o)
    {
        if (this == &o)
            return *this;
        T *p = o.m_p ? static_cast<T *>(g_object_ref(o.m_p)) : nullptr;
#ifndef BUG
        g_clear_object(&m_p);
#endif
        m_p = p;  // GUILTY
        return *this;
    }

    GRef &operator=(GRef &&o) noexcept
    {
        std::swap(m_p, o.m_p);
        return *this;
    }

    T *get() const { return m_p; }
    T *operator->() const { return m_p; }
    explicit operator bool() const { return m_p; }

private:
    T *m_p = nullptr;
};

using ContactRef = GRef<Contact>;

static ContactRef newContact(const std::string &name)
{
    ContactRef contact = ContactRef::take(static_cast<Contact *>(g_object_new(contact_get_type(), nullptr)));
    contact->name = g_strdup(name.c_str());
    return contact;
}

class Group
{
public:
    explicit Group(std::string name) : m_name(std::move(name)) {}

    void add(ContactRef contact) { m_contacts.push_back(std::move(contact)); }

    void call(size_t index, int minutes)
    {
        const ContactRef &contact = m_contacts[index % m_contacts.size()];
        contact->calls += minutes;
        g_signal_emit_by_name(contact.get(), "called", minutes);
        if (!m_busiest || (contact.get() != m_busiest.get() && contact->calls > m_busiest->calls))
            m_busiest = contact;  // ACCEPTED
    }

    ContactRef byName(const std::string &name) const
    {
        for (const ContactRef &contact : m_contacts)
            if (name == contact->name)
                return contact;
        return {};
    }

    void sort()
    {
        std::sort(m_contacts.begin(), m_contacts.end(),
                  [](const ContactRef &a, const ContactRef &b) { return std::string(a->name) < b->name; });
    }

    void print() const
    {
        std::printf("%s: %zu contacts, busiest %s\n", m_name.c_str(), m_contacts.size(), m_busiest ? m_busiest->name : "-");
    }

    const std::vector<ContactRef> &contacts() const { return m_contacts; }

private:
    std::string m_name;
    std::vector<ContactRef> m_contacts;
    ContactRef m_busiest;
};

static void onCalled(Contact *, int minutes, gpointer data)
{
    *static_cast<long *>(data) += minutes;
}

static GPtrArray *favourites(const std::vector<Group> &groups)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_object_unref);

    for (const Group &group : groups)
        for (const ContactRef &contact : group.contacts())
            if (contact->calls > 5)
                g_ptr_array_add(list, g_object_ref(contact.get()));
    return list;
}

int main()
{
    static const char *const names[] = {"family", "work", "club", "shops", "school"};
    std::vector<Group> groups;
    std::map<std::string, ContactRef> all;
    long minutes = 0;

    for (const char *name : names)
    {
        Group group(name);
        for (int i = 0; i < 12; ++i)
        {
            ContactRef contact = newContact(std::string(name, 2) + std::to_string(i * 7 % 12));
            g_signal_connect(contact.get(), "called", G_CALLBACK(onCalled), &minutes);
            all.emplace(contact->name, contact);
            group.add(std::move(contact));
        }
        groups.push_back(std::move(group));
    }
    for (int round = 0; round < 5; ++round)
        for (size_t g = 0; g < groups.size(); ++g)
            groups[g].call(round < 3 || g % 2 ? g : g + round, 2 + round % 3 * (g != 3));
    groups[0].call(1, 20);
    groups[2].call(9, 30);
    groups[2].call(10, 50);
    groups[4].call(0, 40);
    for (Group &group : groups)
        group.sort(), group.print();
    GPtrArray *list = favourites(groups);
    std::printf("%u favourites, %ld minutes, %s known\n", list->len, minutes, groups[1].byName("wo3") ? "wo3 is" : "wo3 is not");
    g_ptr_array_unref(list);
    std::printf("%zu contacts\n", all.size());
    return 0;
}
