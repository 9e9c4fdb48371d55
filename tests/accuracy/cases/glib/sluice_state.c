/*
 * summary: a command out of range has its argument put by the handler as well as by the command that owns it
 * kind: extra-put
 * counts: deficit
 * objects: 2
 * track: GVariant
 * packages: glib-2.0
 * build: clang -O1 -g
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

/* Control of the sluices along a canal. Commands come in as variants from the panel, wait in a queue, change the gates' state
   and end in the journal, refused ones with their reason. */

typedef struct {
    char *gate;
    char *verb;
    GVariant *argument;
} Command;

typedef struct {
    char *gate;
    const char *outcome;
    GVariant *argument;
} Entry;

typedef struct {
    GHashTable *states; /* gate -> a{sv} */
    GHashTable *limits; /* gate -> (dd) */
    GQueue commands;
    GPtrArray *journal;
    guint refused;
} Canal;

typedef const char *(*Handler)(Canal *canal, const char *gate, GVariant *argument);

static void command_free(Command *command)
{
    g_free(command->gate);
    g_free(command->verb);
    g_variant_unref(command->argument);
    g_free(command);
}

static void entry_free(gpointer data)
{
    Entry *entry = data;
    g_variant_unref(entry->argument);
    g_free(entry->gate);
    g_free(entry);
}

static void canal_open(Canal *canal)
{
    memset(canal, 0, sizeof *canal);
    canal->states = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_variant_unref);
    canal->limits = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_variant_unref);
    g_queue_init(&canal->commands);
    canal->journal = g_ptr_array_new_with_free_func(entry_free);
}

static void canal_close(Canal *canal)
{
    Command *command;
    while ((command = g_queue_pop_head(&canal->commands)))
        command_free(command);
    g_ptr_array_unref(canal->journal);
    g_hash_table_unref(canal->limits);
    g_hash_table_unref(canal->states);
}

static GVariant *state_new(double opening, const char *mode)
{
    GVariantBuilder builder;
    g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
    g_variant_builder_add(&builder, "{sv}", "opening", g_variant_new_double(opening));
    g_variant_builder_add(&builder, "{sv}", "mode", g_variant_new_string(mode));
    return g_variant_ref_sink(g_variant_builder_end(&builder));
}

static void canal_build(Canal *canal, const char *gate, double lowest, double highest)
{
    g_hash_table_insert(canal->states, g_strdup(gate), state_new(lowest, "auto"));
    g_hash_table_insert(canal->limits, g_strdup(gate), g_variant_ref_sink(g_variant_new("(dd)", lowest, highest)));
}

static double state_opening(GVariant *state)
{
    GVariant *value = g_variant_lookup_value(state, "opening", G_VARIANT_TYPE_DOUBLE);
    double opening = value ? g_variant_get_double(value) : 0;
    g_clear_pointer(&value, g_variant_unref);
    return opening;
}

static const char *handle_open(Canal *canal, const char *gate, GVariant *argument)
{
    GVariant *limits = g_hash_table_lookup(canal->limits, gate);
    double lowest, highest;
    if (!limits || !g_variant_is_of_type(argument, G_VARIANT_TYPE_DOUBLE))
        return "malformed";
    g_variant_get(limits, "(dd)", &lowest, &highest);
    double wanted = g_variant_get_double(argument);
    if (wanted < lowest || wanted > highest) {
#ifdef BUG
        g_variant_unref(argument); /* GUILTY */
#endif
        return "out of range";
    }
    g_hash_table_replace(canal->states, g_strdup(gate), state_new(wanted, "manual"));
    return NULL;
}

static const char *handle_mode(Canal *canal, const char *gate, GVariant *argument)
{
    GVariant *state = g_hash_table_lookup(canal->states, gate);
    if (!state || !g_variant_is_of_type(argument, G_VARIANT_TYPE_STRING))
        return "malformed";
    const char *mode = g_variant_get_string(argument, NULL);
    if (strcmp(mode, "auto") && strcmp(mode, "manual") && strcmp(mode, "locked"))
        return "no such mode";
    g_hash_table_replace(canal->states, g_strdup(gate), state_new(state_opening(state), mode));
    return NULL;
}

static const char *handle_limit(Canal *canal, const char *gate, GVariant *argument)
{
    if (!g_variant_is_of_type(argument, G_VARIANT_TYPE("(dd)")))
        return "malformed";
    GVariant *low = g_variant_get_child_value(argument, 0);
    GVariant *high = g_variant_get_child_value(argument, 1);
    const char *reason = NULL;
    if (g_variant_get_double(low) > g_variant_get_double(high))
        reason = "empty range";
    else
        g_hash_table_replace(canal->limits, g_strdup(gate), g_variant_ref(argument));
    g_variant_unref(high);
    g_variant_unref(low);
    return reason;
}

static const struct {
    const char *verb;
    Handler handler;
} handlers[] = {{"open", handle_open}, {"mode", handle_mode}, {"limit", handle_limit}};

static void panel_send(Canal *canal, const char *gate, const char *verb, GVariant *argument)
{
    Command *command = g_new0(Command, 1);
    command->gate = g_strdup(gate);
    command->verb = g_strdup(verb);
    command->argument = g_variant_ref_sink(argument);
    g_queue_push_tail(&canal->commands, command);
}

static Entry *journal_write(Canal *canal, Command *command)
{
    Entry *entry = g_new0(Entry, 1);
    entry->gate = g_strdup(command->gate);
    entry->outcome = "pending";
    entry->argument = g_variant_ref(command->argument);
    g_ptr_array_add(canal->journal, entry);
    return entry;
}

static gboolean canal_step(Canal *canal)
{
    Command *command = g_queue_pop_head(&canal->commands);
    const char *reason = "no such verb";
    if (!command)
        return FALSE;
    Entry *entry = journal_write(canal, command);
    for (gsize i = 0; i < G_N_ELEMENTS(handlers); i++)
        if (!strcmp(handlers[i].verb, command->verb)) {
            reason = handlers[i].handler(canal, command->gate, command->argument);
            break;
        }
    if (reason)
        canal->refused++;
    entry->outcome = reason ? reason : "done";
    command_free(command);
    return TRUE;
}

static void canal_report(Canal *canal, const char *gate)
{
    GVariant *state = g_hash_table_lookup(canal->states, gate);
    const char *mode = "?";
    g_variant_lookup(state, "mode", "&s", &mode);
    printf("%s: %.2f m, %s\n", gate, state_opening(state), mode);
}

int main(void)
{
    static const char *const gates[] = {"weir", "lock-a", "lock-b"};
    Canal canal;
    guint steps = 0;

    canal_open(&canal);
    canal_build(&canal, "weir", 0.2, 1.5);
    canal_build(&canal, "lock-a", 0, 3);
    canal_build(&canal, "lock-b", 0, 2.5);

    for (int i = 0; i < 4; i++)
        panel_send(&canal, gates[i % 3], "open", g_variant_new_double(0.4 + 0.25 * i));
    panel_send(&canal, "weir", "mode", g_variant_new_string("auto"));
    panel_send(&canal, "lock-b", "mode", g_variant_new_string("holiday"));
    panel_send(&canal, "lock-a", "limit", g_variant_new("(dd)", 0.1, 2.0));
    panel_send(&canal, "lock-a", "open", g_variant_new_double(2.75));
    panel_send(&canal, "lock-b", "open", g_variant_new_string("wide"));
    panel_send(&canal, "weir", "flush", g_variant_new_boolean(TRUE));
    panel_send(&canal, "weir", "open", g_variant_new_double(0.1));
    panel_send(&canal, "lock-a", "open", g_variant_new_double(1.75));
    panel_send(&canal, "lock-b", "mode", g_variant_new_string("locked"));
    while (canal.commands.length > 1 && canal_step(&canal))
        steps++;

    for (gsize i = 0; i < G_N_ELEMENTS(gates); i++)
        canal_report(&canal, gates[i]);
    for (guint i = 0; i < canal.journal->len; i++) {
        Entry *entry = g_ptr_array_index(canal.journal, i);
        if (strcmp(entry->outcome, "done"))
            printf("%s: %s\n", entry->gate, entry->outcome);
    }
    printf("%u steps, %u refused, %u in the journal\n", steps, canal.refused, canal.journal->len);
    canal_close(&canal);
    return 0;
}
