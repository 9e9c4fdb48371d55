/* summary: a keeper listens to the animals on loan through a closure that owns the keeper, who owns the animal
 * kind: cycle
 * counts: surplus
 * objects: 2
 * track: GObject
 * packages: gio-2.0
 * build: clang -O1 -g
 * exit: 0
 */
#include <gio/gio.h>
#include <stdio.h>

#define ZOO_TYPE_ANIMAL (animal_get_type())
G_DECLARE_FINAL_TYPE(Animal, animal, ZOO, ANIMAL, GObject)
#define ZOO_TYPE_KEEPER (keeper_get_type())
G_DECLARE_FINAL_TYPE(Keeper, keeper, ZOO, KEEPER, GObject)

struct _Animal {
    GObject parent_instance;
    char *name;
    guint kilos;
    guint hunger;
    gboolean on_loan;
};

struct _Keeper {
    GObject parent_instance;
    char *name;
    GPtrArray *animals; /* of Animal */
    guint meals;
    guint escapes;
};

enum { SIGNAL_FED, SIGNAL_ESCAPED, N_SIGNALS };
static guint animal_signals[N_SIGNALS];

enum { PROP_0, PROP_NAME, N_PROPS };

G_DEFINE_TYPE(Animal, animal, G_TYPE_OBJECT)

static void animal_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
    Animal *animal = ZOO_ANIMAL(object);

    if (id == PROP_NAME)
        animal->name = g_value_dup_string(value);
    else
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void animal_finalize(GObject *object)
{
    g_free(ZOO_ANIMAL(object)->name);
    G_OBJECT_CLASS(animal_parent_class)->finalize(object);
}

static void animal_class_init(AnimalClass *klass)
{
    GObjectClass *object_class = G_OBJECT_CLASS(klass);

    object_class->set_property = animal_set_property;
    object_class->finalize = animal_finalize;
    g_object_class_install_property(object_class, PROP_NAME,
                                    g_param_spec_string("name", NULL, NULL, NULL,
                                                        G_PARAM_WRITABLE | G_PARAM_CONSTRUCT_ONLY));
    animal_signals[SIGNAL_FED] = g_signal_new("fed", ZOO_TYPE_ANIMAL, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                              G_TYPE_NONE, 1, G_TYPE_UINT);
    animal_signals[SIGNAL_ESCAPED] = g_signal_new("escaped", ZOO_TYPE_ANIMAL, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                                  G_TYPE_NONE, 0);
}

static void animal_init(Animal *animal)
{
    animal->hunger = 3;
}

static Animal *animal_new(const char *name, guint kilos)
{
    Animal *animal = g_object_new(ZOO_TYPE_ANIMAL, "name", name, NULL);

    animal->kilos = kilos;
    return animal;
}

static void animal_feed(Animal *animal, guint portions)
{
    guint eaten = MIN(animal->hunger, portions);

    animal->hunger -= eaten;
    animal->kilos += eaten;
    g_signal_emit(animal, animal_signals[SIGNAL_FED], 0, eaten);
}

static void animal_wait(Animal *animal)
{
    animal->hunger += 2;
    if (animal->hunger > 6)
        g_signal_emit(animal, animal_signals[SIGNAL_ESCAPED], 0);
}

G_DEFINE_TYPE(Keeper, keeper, G_TYPE_OBJECT)

static void keeper_on_fed(Animal *animal, guint portions, Keeper *keeper)
{
    keeper->meals += portions;
    if (animal->on_loan)
        printf("%s logs %u portions for the owner of %s\n", keeper->name, portions, animal->name);
}

static void keeper_on_escaped(Animal *animal, Keeper *keeper)
{
    keeper->escapes++;
    animal->hunger = 1;
    printf("%s caught %s again\n", keeper->name, animal->name);
}

static void keeper_drop_all(Keeper *keeper)
{
    for (guint i = 0; i < keeper->animals->len; i++)
        g_signal_handlers_disconnect_by_data(g_ptr_array_index(keeper->animals, i), keeper);
    g_ptr_array_set_size(keeper->animals, 0);
}

static void keeper_dispose(GObject *object)
{
    keeper_drop_all(ZOO_KEEPER(object));
    G_OBJECT_CLASS(keeper_parent_class)->dispose(object);
}

static void keeper_finalize(GObject *object)
{
    Keeper *keeper = ZOO_KEEPER(object);

    g_ptr_array_unref(keeper->animals);
    g_free(keeper->name);
    G_OBJECT_CLASS(keeper_parent_class)->finalize(object);
}

static void keeper_class_init(KeeperClass *klass)
{
    G_OBJECT_CLASS(klass)->dispose = keeper_dispose;
    G_OBJECT_CLASS(klass)->finalize = keeper_finalize;
}

static void keeper_init(Keeper *keeper)
{
    keeper->animals = g_ptr_array_new_with_free_func(g_object_unref);
}

static Keeper *keeper_new(const char *name)
{
    Keeper *keeper = g_object_new(ZOO_TYPE_KEEPER, NULL);

    keeper->name = g_strdup(name);
    return keeper;
}

static void keeper_take_charge(Keeper *keeper, Animal *animal)
{
    g_signal_connect(animal, "fed", G_CALLBACK(keeper_on_fed), keeper);
    g_signal_connect(animal, "escaped", G_CALLBACK(keeper_on_escaped), keeper);
    g_ptr_array_add(keeper->animals, g_object_ref(animal));
}

/* An animal on loan outlives its keeper's time here, so its owner may still feed it. */
static void keeper_take_loan(Keeper *keeper, Animal *animal)
{
    animal->on_loan = TRUE;
#ifdef BUG
    g_signal_connect_data(animal, "fed", G_CALLBACK(keeper_on_fed), g_object_ref(keeper), /* GUILTY */
                          (GClosureNotify) (void (*)(void)) g_object_unref, 0); /* ACCEPTED */
#else
    g_signal_connect_object(animal, "fed", G_CALLBACK(keeper_on_fed), keeper, 0);
#endif
    g_ptr_array_add(keeper->animals, g_object_ref(animal)); /* ACCEPTED */
}

static void keeper_hand_over(Keeper *from, Keeper *to, guint index)
{
    Animal *animal = g_object_ref(g_ptr_array_index(from->animals, index));

    g_signal_handlers_disconnect_by_data(animal, from);
    g_ptr_array_remove_index(from->animals, index);
    keeper_take_charge(to, animal);
    g_object_unref(animal);
}

static void keeper_round(Keeper *keeper, guint portions)
{
    for (guint i = 0; i < keeper->animals->len; i++) {
        Animal *animal = g_ptr_array_index(keeper->animals, i);

        animal_wait(animal);
        if ((i + portions) % 3 != 0)
            animal_feed(animal, portions);
    }
}

int main(void)
{
    static const char *const names[] = { "Ada", "Bruno", "Cleo", "Dora", "Egon", "Frida", "Gero", "Hanna" };
    static const char *const staff[] = { "Miriam", "Oskar", "Paula" };
    GListStore *keepers = g_list_store_new(ZOO_TYPE_KEEPER);
    Keeper *guest = keeper_new("Quentin");

    for (guint i = 0; i < G_N_ELEMENTS(staff); i++) {
        Keeper *keeper = keeper_new(staff[i]);
        g_list_store_append(keepers, keeper);
        g_object_unref(keeper);
    }
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        Keeper *keeper = g_list_model_get_item(G_LIST_MODEL(keepers), i % 3);
        Animal *animal = animal_new(names[i], 20 * (i + 1));
        keeper_take_charge(keeper, animal);
        g_object_unref(animal);
        g_object_unref(keeper);
    }
    g_list_store_append(keepers, guest);
    Animal *panda = animal_new("Xiao", 110);
    keeper_take_loan(guest, panda);
    g_object_unref(panda);
    g_object_unref(guest);

    Keeper *first = g_list_model_get_item(G_LIST_MODEL(keepers), 0);
    Keeper *second = g_list_model_get_item(G_LIST_MODEL(keepers), 1);
    keeper_hand_over(first, second, 1);
    g_object_unref(first);
    g_object_unref(second);

    for (guint day = 0; day < 6; day++) {
        for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(keepers)); i++) {
            Keeper *keeper = g_list_model_get_item(G_LIST_MODEL(keepers), i);
            keeper_round(keeper, 1 + day % 3);
            g_object_unref(keeper);
        }
    }
    for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(keepers)); i++) {
        g_autoptr(GObject) item = g_list_model_get_item(G_LIST_MODEL(keepers), i);
        Keeper *keeper = ZOO_KEEPER(item);
        printf("%s: %u animals, %u meals, %u escapes\n", keeper->name, keeper->animals->len, keeper->meals,
               keeper->escapes);
    }
    g_object_unref(keepers);
    return 0;
}
